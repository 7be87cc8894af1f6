//! Work W on duroxide with its SQLite provider: an orchestration whose model and tool calls are activities. Prints the
//! same line as the other peers' programs. The modes are `work`, for the workload, and `doomed` and `successor`, for
//! the time until a killed session continues.

#[path = "../../programs/w.rs"]
mod w;

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus};
use serde_json::json;

use w::{Failure, Watch, Work, payload};

/// The maximum number of connections of the provider's pool.
const CONNECTIONS: usize = 5;
/// The number of dispatchers of each kind. With two or four, runs of 32 sessions failed: the database stayed
/// locked for their commits.
const WORKERS: usize = 1;
const PATIENCE: Duration = Duration::from_secs(600);

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let work = Arc::new(Work::from_arguments()?);
    let store = Arc::new(SqliteProvider::new(&format!("{}?mode=rwc", work.store), None).await?);
    let (journal_mode, synchronous) = sync_fully(&store).await?;
    let pool = store.get_pool().clone();
    let poll_ms = poll_ms(&work);
    let options = RuntimeOptions {
        dispatcher_min_poll_interval: Duration::from_millis(poll_ms),
        orchestration_concurrency: WORKERS,
        worker_concurrency: WORKERS,
        ..RuntimeOptions::default()
    };
    let runtime =
        Runtime::start_with_options(store.clone(), activities(&work), orchestrations(&work), options).await;
    let client = Client::new(store);
    let watch = Watch::start()?;
    if work.mode != "successor" {
        for number in 0..work.sessions {
            client.start_orchestration(&format!("session-{number}"), "agent", "").await?;
        }
    }
    for number in 0..work.sessions {
        let ended = client.wait_for_orchestration(&format!("session-{number}"), PATIENCE).await?;
        let OrchestrationStatus::Completed { output, .. } = ended else {
            return Err(format!("session {number} did not complete: {ended:?}").into());
        };
        assert_eq!(output, (2 * work.steps).to_string());
    }
    let numbers = watch.measured(&work)?;
    runtime.shutdown(None).await;
    // SQLite makes a checkpoint when the last connection closes, as in any program that ends normally.
    pool.close().await;
    let settings = json!({
        "journal_mode": journal_mode, "synchronous": synchronous, "min_poll_ms": poll_ms, "workers": WORKERS,
    });
    let system =
        json!({ "system": "duroxide", "store": "sqlite", "version": "0.1.32", "settings": settings });
    w::say(system, &numbers);
    Ok(())
}

/// Returns the poll interval of an idle dispatcher, in milliseconds. The provider does not wait for work, so for
/// one session the default of 100 ms would be most of a step. For eight sessions a shorter interval was slower:
/// polling locks the database, and a dispatcher that finds it locked pauses for 200 ms.
fn poll_ms(work: &Work) -> u64 {
    if work.sessions == 1 { 1 } else { 100 }
}

/// Sets `synchronous = FULL` on every connection of the provider's pool, as in all other systems on SQLite. Returns the
/// journal mode and the `synchronous` setting, read back from one connection. By default, the provider requests
/// `synchronous = WAL`. SQLite has no such value and uses NORMAL, which does not sync each commit.
async fn sync_fully(store: &SqliteProvider) -> Result<(String, i64), Failure> {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = store.get_pool().acquire().await?;
        sqlx::query("PRAGMA synchronous = FULL").execute(&mut *connection).await?;
        connections.push(connection);
    }
    let read = connections.first_mut().ok_or("no connection")?;
    let journal_mode = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut **read).await?;
    let synchronous = sqlx::query_scalar("PRAGMA synchronous").fetch_one(&mut **read).await?;
    Ok((journal_mode, synchronous))
}

fn activities(work: &Arc<Work>) -> ActivityRegistry {
    let work = work.clone();
    let model = move |context: ActivityContext, step: String| {
        let work = work.clone();
        async move { Ok(work.model(context.instance_id(), number(&step)?).await) }
    };
    let tool = |context: ActivityContext, step: String| async move {
        Ok(payload(context.instance_id(), number(&step)?, "tool"))
    };
    ActivityRegistry::builder().register("model", model).register("tool", tool).build()
}

fn number(step: &str) -> Result<usize, String> {
    step.parse().map_err(|_| format!("{step} is not the number of a step"))
}

fn orchestrations(work: &Work) -> OrchestrationRegistry {
    let steps = work.steps;
    let agent = move |context: OrchestrationContext, _: String| async move {
        let mut messages = Vec::new();
        for step in 0..steps {
            messages.push(context.schedule_activity("model", step.to_string()).await?);
            messages.push(context.schedule_activity("tool", step.to_string()).await?);
        }
        Ok::<_, String>(messages.len().to_string())
    };
    OrchestrationRegistry::builder().register("agent", agent).build()
}
