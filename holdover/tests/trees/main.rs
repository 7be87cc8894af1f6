//! A tree of three levels, whose process dies at every write, on every store: another process goes on, and the tree
//! ends as if nothing had happened.
//!
//! The root fans out to two clerks. One works alone, the other has a page, and the page asks a person, who answers at
//! the root. A death before a write loses it; a death after it loses its answer.
//!
//! Requirements: A61, A64, C48, H11, H25, INV-30.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod agent;
mod dying;
mod story;

use std::sync::Arc;

use futures::{StreamExt, stream};
use holdover::store::{MemoryStore, SqliteOptions, SqliteStore, StateStore};
use holdover_launcher::shared;
use holdover_store_postgres::PostgresStore;
use holdover_store_redis::{RedisOptions, RedisStore};

use dying::Death;
use story::{Story, Told};

/// How many stories are told at once: most of the time each waits for a lease to end.
const AT_ONCE: usize = 16;

/// So many of a hundred deaths must fire: how many writes a story has differs a little with its timing.
const FIRED_MIN: usize = 90;

async fn sweep(store: Arc<dyn StateStore>) {
    let calm = Story::new(&store, "calm", None).tell().await;
    calm.check();
    let deaths = (1..=calm.writes).flat_map(|at| [Death { at, applied: false }, Death { at, applied: true }]);
    let stories = deaths.map(|death| {
        let store = Arc::clone(&store);
        async move {
            let name = format!("{}-{}", death.at, death.applied);
            let told = Story::new(&store, &name, Some(death)).tell().await;
            told.check();
            // A call in doubt did not come back, and is not counted.
            let mut used = calm.usage;
            used.tool_calls -= u64::from(told.is_in_doubt());
            assert_eq!(told.usage, used, "{death:?}: what is counted");
            told
        }
    });
    let told: Vec<Told> = stream::iter(stories).buffer_unordered(AT_ONCE).collect().await;
    let fired = told.iter().filter(|told| told.died).count();
    assert!(fired * 100 >= told.len() * FIRED_MIN, "{fired} of {} deaths fired", told.len());
    assert!(told.len() >= 50, "{} deaths: the story has become shorter", told.len());
    assert!(told.iter().any(Told::is_in_doubt), "a death hit an effect");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_survives_the_death_of_its_process_at_every_write_in_memory() {
    sweep(Arc::new(MemoryStore::new())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_survives_the_death_of_its_process_at_every_write_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(SqliteOptions::new(folder.path().join("sessions.db"))).await.unwrap();
    sweep(Arc::new(store)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_survives_the_death_of_its_process_at_every_write_on_postgres() {
    sweep(Arc::new(PostgresStore::open_url(shared::postgres_url()).await.unwrap())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_survives_the_death_of_its_process_at_every_write_on_redis() {
    let options = RedisOptions::from_url(shared::redis_url()).unwrap();
    sweep(Arc::new(RedisStore::open(options).await.unwrap())).await;
}
