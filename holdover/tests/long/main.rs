//! A session that outgrows what its model can read, and outlives its processes: 200 steps with a context of 20,000
//! tokens, killed at every twentieth, on SQLite and on Postgres.
//!
//! This binary is all of the processes: the others are itself, told by environment variables where to work.

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

/// More processes than die, and the one that does not.
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

/// One process after the other; only when this binary is started as such.
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
    // Whoever died is succeeded soon.
    let options = RuntimeOptions::default().lease(Duration::from_secs(1));
    Runtime::new(store, Arc::new(agents), options)
}

/// Every room was seen in its turn; nothing of it is gone, and the model was never shown too much.
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
        // Its process died in the middle of one in twenty, and so it was sent again; on a machine that stands still for
        // longer than a lease others may be, too.
        let times = 1 + usize::from(room.is_multiple_of(DEADLY));
        assert!(world.times(&format!("room-{room}")) >= times, "visits of room {room}");
    }
}
