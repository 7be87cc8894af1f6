//! The same test on every store: two runtimes stand for two processes, each with its own worker.
//!
//! `HOLDOVER_DECISIONS=200 cargo test -p holdover --test decisions stores` runs 200 rounds instead of 4.
//!
//! Requirements: U02.

use std::path::Path;
use std::sync::Arc;

use holdover::prelude::*;
use holdover::session::{DoneReason, RunOutcome};
use holdover::store::{SqliteOptions, StateStore};
use holdover_launcher::Launcher;
use holdover_store_postgres::PostgresStore;
use holdover_store_redis::RedisStore;
use tokio_util::sync::CancellationToken;

use super::{agent, check_transcript, decide, key, the_pending_call, work};

fn rounds() -> usize {
    std::env::var("HOLDOVER_DECISIONS").map_or(4, |rounds| rounds.parse().unwrap())
}

/// Returns the runtime of a process with this handle of a store. Payments are recorded in the folder, so the store need
/// not be durable.
fn process(store: Arc<dyn StateStore>, folder: &Path) -> Runtime {
    let backend = store.capabilities().backend.split(' ').next().map(str::to_owned);
    let options = RuntimeOptions::default().effects_override(backend);
    Runtime::new(store, Agents::new().with(agent::agent(folder)), options)
}

/// Lets 64 people decide at once in each round, half of them through each process. One decision is taken, and the call
/// runs once or never, as that decision says.
async fn decide_on(first: Arc<dyn StateStore>, second: Arc<dyn StateStore>) {
    let folder = tempfile::tempdir().unwrap();
    let backend = first.capabilities().backend;
    let (here, there) = (process(first, folder.path()), process(second, folder.path()));
    let stop = CancellationToken::new();
    let working = [&here, &there].map(|runtime| tokio::spawn(work(runtime.clone(), stop.clone())));
    for round in 0..rounds() {
        let key = key(round);
        let request = Execute::new(key.tenant.clone(), agent::agent(folder.path()), "pay the bill");
        let run = here.execute(request.in_session(key.id.clone())).await.unwrap();
        let parked = run.outcome().await.unwrap();
        assert!(matches!(parked, RunOutcome::Suspended(_)), "{backend}: round {round}: {parked:?}");
        let asked = the_pending_call(&there, &key).await;
        let (left, right) =
            tokio::join!(decide(&here, round, &asked, "here"), decide(&there, round, &asked, "there"));
        let taken: Vec<String> = left.into_iter().chain(right).collect();
        assert_eq!(taken.len(), 1, "{backend}: round {round}: decisions taken: {taken:?}");

        let outcome = there.wait(&key).await.unwrap();
        let RunOutcome::Ended(ending) = &outcome else { panic!("{backend}: round {round}: {outcome:?}") };
        assert_eq!(ending.reason, DoneReason::ModelStop, "{backend}: round {round}");
        let approve = taken[0] == "approve";
        let paid = agent::times_paid(folder.path(), &key);
        assert_eq!(paid, usize::from(approve), "{backend}: round {round}: executions");
        check_transcript(&there, &key, approve).await;
    }
    stop.cancel();
    for worker in working {
        worker.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u02_in_memory_and_on_sqlite_one_of_64_decisions_is_taken() {
    let memory = Arc::new(MemoryStore::new());
    decide_on(memory.clone(), memory).await;
    let folder = tempfile::tempdir().unwrap();
    let open = async || {
        let store = SqliteStore::open(SqliteOptions::new(folder.path().join("sessions.db"))).await.unwrap();
        Arc::new(store)
    };
    decide_on(open().await, open().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u02_on_postgres_one_of_64_decisions_is_taken() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    let open = async || Arc::new(PostgresStore::open_url(&server.url()).await.unwrap());
    decide_on(open().await, open().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u02_on_redis_one_of_64_decisions_is_taken() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let open = async || Arc::new(RedisStore::open_url(&server.url()).await.unwrap());
    decide_on(open().await, open().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u02_on_a_redis_cluster_one_of_64_decisions_is_taken() {
    let launcher = Launcher::new().unwrap();
    let cluster = launcher.redis_cluster().unwrap();
    let open = async || Arc::new(RedisStore::open_url(&cluster.url()).await.unwrap());
    decide_on(open().await, open().await).await;
}
