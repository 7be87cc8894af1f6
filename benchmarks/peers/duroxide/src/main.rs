//! Work W on duroxide with its SQLite provider: an orchestration whose model and tool calls are activities. Prints the
//! same line as the other peers' programs. The modes are `work`, for the workload, and `doomed` and `successor`, for
//! the time until a killed session continues.

use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus};

type Failure = Box<dyn Error>;

const PAYLOAD_BYTES: usize = 200;
const KILLED_AT: usize = 25;
/// The maximum number of connections of the provider's pool.
const CONNECTIONS: usize = 5;
/// The number of dispatchers of each kind. With two or four, runs of 32 sessions failed: the database stayed
/// locked for their commits.
const WORKERS: usize = 1;
const PATIENCE: Duration = Duration::from_secs(600);

struct Work {
    mode: String,
    path: String,
    sessions: usize,
    steps: usize,
    model_ms: u64,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let work = arguments()?;
    let store = Arc::new(SqliteProvider::new(&format!("sqlite:{}?mode=rwc", work.path), None).await?);
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
    let (begun, cpu) = (Instant::now(), cpu_seconds()?);
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
    let (seconds, cpu) = (begun.elapsed().as_secs_f64(), cpu_seconds()? - cpu);
    runtime.shutdown(None).await;
    // SQLite makes a checkpoint when the last connection closes, as in any program that ends normally.
    pool.close().await;
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let (each, all) = (work.steps as f64, (work.steps * work.sessions) as f64);
    println!(
        "{}",
        serde_json::json!({
            "system": "duroxide", "store": "sqlite", "version": "0.1.32",
            "settings": { "journal_mode": journal_mode, "synchronous": synchronous, "min_poll_ms": poll_ms, "workers": WORKERS },
            "sessions": work.sessions, "steps": work.steps, "model_ms": work.model_ms,
            "seconds": seconds, "steps_per_s": all / seconds, "ms_per_step": seconds * 1000.0 / each,
            "cpu_ms_per_step": cpu * 1000.0 / all,
        })
    );
    Ok(())
}

fn arguments() -> Result<Work, Failure> {
    let mut given = std::env::args().skip(1);
    let mode = given
        .next()
        .ok_or("usage: peer-duroxide work|doomed|successor --store sqlite:PATH [--sessions N] …")?;
    let mut work = Work { mode, path: String::new(), sessions: 1, steps: 50, model_ms: 0 };
    while let Some(name) = given.next() {
        let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--store" => work.path = value.trim_start_matches("sqlite:").to_owned(),
            "--sessions" => work.sessions = value.parse()?,
            "--steps" => work.steps = value.parse()?,
            "--model-ms" => work.model_ms = value.parse()?,
            _ => return Err(format!("{name}: there is no such option").into()),
        }
    }
    Ok(work)
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

fn activities(work: &Work) -> ActivityRegistry {
    let (watched, last, model_ms) = (work.mode != "work", work.mode == "successor", work.model_ms);
    let model = move |context: ActivityContext, step: String| async move {
        if watched {
            println!("{}", serde_json::json!({ "step": step.parse::<usize>().unwrap_or(0) }));
            if last || step.parse::<usize>().unwrap_or(0) >= KILLED_AT {
                std::future::pending::<()>().await;
            }
        }
        if model_ms > 0 {
            tokio::time::sleep(Duration::from_millis(model_ms)).await;
        }
        Ok(payload(context.instance_id(), &step, "model"))
    };
    let tool = |context: ActivityContext, step: String| async move {
        Ok(payload(context.instance_id(), &step, "tool"))
    };
    ActivityRegistry::builder().register("model", model).register("tool", tool).build()
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

/// Returns 200 ASCII characters, different for each session, step and part.
fn payload(session: &str, step: &str, part: &str) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(PAYLOAD_BYTES);
    for block in 0.. {
        let mut hasher = DefaultHasher::new();
        (session, step, part, block).hash(&mut hasher);
        for byte in hasher.finish().to_le_bytes() {
            text.push(char::from(digits[usize::from(byte) % digits.len()]));
        }
        if text.len() >= PAYLOAD_BYTES {
            break;
        }
    }
    text
}

/// Returns the user and system time of this process, from the kernel. A clock tick is 10 ms.
fn cpu_seconds() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit(") ").next().ok_or("no fields")?;
    let fields: Vec<&str> = after_name.split(' ').collect();
    Ok((fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) / 100.0)
}
