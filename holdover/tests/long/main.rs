//! A session that outgrows its model's window and outlives its processes: 200 steps with a window of 20,000 tokens,
//! killed at every twentieth step, on SQLite and on Postgres.
//!
//! This binary also runs as each of these processes. Environment variables name the folder and the store.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod agent;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use agent::{DEADLY, ROOMS, WORD, World};
use holdover::prelude::*;
use holdover::session::{Message, ResultStatus};
use holdover::store::{SqliteOptions, StateStore};
use holdover_launcher::Launcher;
use holdover_store_postgres::PostgresStore;

const FOLDER: &str = "HOLDOVER_LONG_FOLDER";
const STORE: &str = "HOLDOVER_LONG_STORE";

/// The maximum number of processes that are started: more than those that die and the one that does not.
const PROCESSES_MAX: u32 = ROOMS / DEADLY + 3;

#[test]
fn on_sqlite_it_still_knows_its_task() {
    knows_its_task_to_the_end("sqlite");
}

#[test]
fn on_postgres_it_still_knows_its_task() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    knows_its_task_to_the_end(&server.url());
}

fn knows_its_task_to_the_end(store: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (mut deaths, mut ended) = (0, false);
    for _ in 0..PROCESSES_MAX {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["one_of_its_processes", "--exact", "--nocapture"])
            .env(FOLDER, folder.path())
            .env(STORE, store)
            .status()
            .unwrap();
        ended = status.success();
        if ended {
            break;
        }
        assert_eq!(status.signal(), Some(9), "process {deaths} was not killed: {status}");
        deaths += 1;
    }
    assert!(ended, "{deaths} processes died, and none came to the end");
    assert_eq!(deaths, ROOMS / DEADLY, "each deadly room killed one process");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(check(folder.path(), store));
}

/// Works as one of the processes. Does nothing unless this binary was started as one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_its_processes() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let runtime = open(&folder, &std::env::var(STORE).unwrap()).await;
    let request = Execute::new(key().tenant, agent::agent(&folder), agent::task())
        .in_session(key().id)
        .once(ItemKey::new("the task").unwrap());
    runtime.start(request).await.unwrap();
    let stop = CancellationToken::new();
    let (worker, stopped) = (Worker::new(runtime.clone(), WorkerOptions::default()), stop.clone());
    let working = tokio::spawn(async move { worker.run(stopped).await });
    runtime.wait(&key()).await.unwrap();
    stop.cancel();
    working.await.unwrap();
}

fn key() -> SessionKey {
    SessionKey::new(TenantId::new("acme").unwrap(), SessionId::new("long").unwrap())
}

async fn open(folder: &Path, store: &str) -> Runtime {
    let store: Arc<dyn StateStore> = match store {
        "sqlite" => {
            Arc::new(SqliteStore::open(SqliteOptions::new(folder.join("sessions.db"))).await.unwrap())
        }
        url => Arc::new(PostgresStore::open_url(url).await.unwrap()),
    };
    let agents = Agents::new().with(agent::agent(folder));
    // A short lease, so that a dead process is soon replaced.
    let options = RuntimeOptions::default().lease(Duration::from_secs(1));
    Runtime::new(store, Arc::new(agents), options)
}

/// Asserts that every room was seen in order, that no result is missing, and that the model was never shown too much.
async fn check(folder: &Path, store: &str) {
    let (runtime, world) = (open(folder, store).await, World(folder.to_owned()));
    assert_eq!(runtime.last_text(&key()).await.unwrap(), Some(format!("All seen: {WORD}.")));
    assert_eq!(world.times("refused"), 0, "a request was longer than what the model can read");
    let (mut seen, mut summaries) = (Vec::new(), 0);
    for entry in runtime.messages(&key()).await.unwrap() {
        match entry.message {
            Message::Tool(result) => {
                assert_eq!(result.status, ResultStatus::Done, "{result:?}");
                seen.push(result.content.split('.').next().unwrap().to_owned());
            }
            Message::Summary(_) => summaries += 1,
            Message::User(_) | Message::Assistant(_) | Message::Decision(_) | Message::Notice(_) => {}
        }
    }
    let all: Vec<String> = (1..=ROOMS).map(|room| format!("seen room {room}")).collect();
    assert_eq!(seen, all, "one result for each room, in order, as it was");
    assert!(summaries >= 4, "it was summarised {summaries} times");
    for room in 1..=ROOMS {
        // A process died in the middle of one visit in twenty, so that visit was made again. On a machine that stalls
        // for longer than a lease, other visits may be made again too.
        let times = 1 + usize::from(room.is_multiple_of(DEADLY));
        assert!(world.times(&format!("room-{room}")) >= times, "visits of room {room}");
    }
}
