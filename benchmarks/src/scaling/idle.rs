//! Counts how often an idle worker asks the store.

use std::sync::Arc;
use std::time::Duration;

use holdover::prelude::*;
use holdover::runtime::Queues;

use super::crowd::QUEUE;
use crate::Failed;
use crate::stores::Backend;

/// What it does first is over, and servers have counted what was done before: Postgres does so when a connection has been
/// idle for ten seconds.
const SETTLED: Duration = Duration::from_secs(15);

/// Exchanges a second of one worker as it is by default, counted by the server for so long. None: there is no server that
/// counts them.
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
    // The second question is none of the worker's.
    let asked = before.zip(after).map(|(before, after)| after.saturating_sub(before).saturating_sub(1));
    Ok(asked.map(|asked| asked as f64 / counted.as_secs_f64()))
}
