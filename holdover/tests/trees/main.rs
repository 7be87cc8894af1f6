//! A tree of three levels, on every store. Its process dies at every write: another goes on, and the tree ends as if
//! nothing had happened. Or somebody aborts the root at every write: then nothing of the tree goes on, also where the
//! process dies with it, and where a write of the dead one comes when all is over.
//!
//! The root begins a runner in the background and fans out to two clerks. One works alone, the other has a page, and the
//! page asks a person, who answers at the root. The runner hands over to an heir. Then the root waits for the runner's end, of
//! which the heir tells. A death before a write loses it; a death after it loses its answer.
//!
//! Requirements: A61, A64, C48, H11, H21, H25, H26, INV-30.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod agent;
mod dying;
mod story;
mod wide;

use std::sync::Arc;

use futures::{StreamExt, stream};
use holdover::store::{MemoryStore, SqliteOptions, SqliteStore, StateStore};
use holdover_launcher::shared;
use holdover_store_postgres::PostgresStore;
use holdover_store_redis::{RedisOptions, RedisStore};

use dying::{Fault, What};
use story::{Story, Told};

/// How many stories are told at once: most of the time each waits for a lease to end.
const AT_ONCE: usize = 16;

/// So many of a hundred faults must fire: how many writes a story has differs a little with its timing.
const FIRED_MIN: usize = 90;

/// Every test of a store.
async fn both(store: Arc<dyn StateStore>) {
    wide::race(Arc::clone(&store)).await;
    sweep(store).await;
}

async fn sweep(store: Arc<dyn StateStore>) {
    let calm = Story::new(&store, None).tell().await;
    calm.check();
    let mut deaths = stories(&store, calm.writes, &[What::DiesBefore, What::DiesAfter]).await;
    let acted = Story::new(&store, Some(Fault { at: 0, what: What::DiesOnceItHasActed })).tell().await;
    assert!(acted.fired && acted.is_in_doubt(), "a death hit an effect");
    deaths.push(acted);
    for told in &deaths {
        told.check();
        // A call in doubt did not come back, and is not counted.
        let mut used = calm.usage;
        used.tool_calls -= u64::from(told.is_in_doubt());
        assert_eq!(told.usage, used, "{:?}: what is counted", told.fault);
    }
    let stops = [What::IsStopped, What::IsStoppedAndDies, What::IsStoppedAndComesLate];
    for told in stories(&store, calm.writes, &stops).await {
        if told.fired { told.check_stopped() } else { told.check() }
    }
}

/// Tells a story for each fault at each write.
async fn stories(store: &Arc<dyn StateStore>, writes: usize, faults: &[What]) -> Vec<Told> {
    assert!(writes >= 25, "{writes} writes: the story has become shorter");
    let faults = (1..=writes).flat_map(|at| faults.iter().map(move |what| Fault { at, what: *what }));
    let each = faults.map(|fault| Story::new(store, Some(fault)).tell());
    let told: Vec<Told> = stream::iter(each).buffer_unordered(AT_ONCE).collect().await;
    let fired = told.iter().filter(|told| told.fired).count();
    assert!(fired * 100 >= told.len() * FIRED_MIN, "{fired} of {} faults fired", told.len());
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_and_stops_at_every_write_of_a_tree_in_memory() {
    both(Arc::new(MemoryStore::new())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_and_stops_at_every_write_of_a_tree_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(SqliteOptions::new(folder.path().join("sessions.db"))).await.unwrap();
    both(Arc::new(store)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_and_stops_at_every_write_of_a_tree_on_postgres() {
    both(Arc::new(PostgresStore::open_url(shared::postgres_url()).await.unwrap())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_and_stops_at_every_write_of_a_tree_on_redis() {
    let options = RedisOptions::from_url(shared::redis_url()).unwrap();
    both(Arc::new(RedisStore::open(options).await.unwrap())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_and_stops_at_every_write_of_a_tree_on_a_redis_cluster() {
    let options = RedisOptions::from_url(shared::redis_cluster_url()).unwrap();
    both(Arc::new(RedisStore::open(options).await.unwrap())).await;
}
