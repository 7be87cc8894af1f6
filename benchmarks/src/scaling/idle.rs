//! Counts the exchanges of an idle worker with its store.

use std::sync::Arc;
use std::time::Duration;

use holdover::prelude::*;
use holdover::runtime::Queues;

use super::crowd::QUEUE;
use crate::Failed;
use crate::stores::Backend;

/// The longest wait before counting. After it, the worker's first calls are over, and the server's counters are
/// current: Postgres updates them at the latest when a connection has been idle for ten seconds. A shorter count waits
/// only as long as it counts.
const SETTLED: Duration = Duration::from_secs(15);

/// Returns the exchanges per second of one worker on [`QUEUE`], otherwise with default options, as the server counts
/// them during `counted`. Returns `None` if there is no server, or if there are several.
pub(super) async fn exchanges(backend: &Backend, counted: Duration) -> Result<Option<f64>, Failed> {
    let runtime =
        Runtime::new(Arc::clone(backend.store()), Arc::new(Agents::new()), RuntimeOptions::default());
    let options = WorkerOptions::default().queues(Queues::Named(vec![QUEUE.parse()?]));
    let stop = CancellationToken::new();
    let worker = Worker::new(runtime, options).spawn(stop.clone());
    tokio::time::sleep(SETTLED.min(counted)).await;
    let before = backend.exchanges().await?;
    tokio::time::sleep(counted).await;
    let after = backend.exchanges().await?;
    stop.cancel();
    worker.await?;
    // The second reading of the counter is not the worker's.
    let asked = before.zip(after).map(|(before, after)| after.saturating_sub(before).saturating_sub(1));
    Ok(asked.map(|asked| asked as f64 / counted.as_secs_f64()))
}
