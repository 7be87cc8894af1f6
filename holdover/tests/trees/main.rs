//! A tree of three levels, on every store. Its process dies at each of its writes in turn: another process goes on, and
//! the tree ends as if nothing had happened, except that a call may be in doubt. In other stories a person aborts the
//! root at each write: then no session of the tree goes on, even if the process also dies, or if a write of the dead
//! process arrives later. In memory all three happen at each write, on the other stores one of them.
//!
//! The root begins a runner in the background and fans out to two clerks. One clerk works alone. The other has a page,
//! which asks a person, who answers at the root. The runner hands over to an heir. The root then waits for the end of
//! the runner, which the heir reports. A death before a write loses the write; a death after it loses only the answer.
//!
//! A person also deletes the root, or stops its turn and resumes it, or stops, aborts or deletes the clerk that has the
//! page. Or the root is forked, or sessions at rest are purged: then the tree goes on as if nothing had happened,
//! except that the runner may fail once its heir is purged. After the order, the process does its write and goes on, or
//! dies, or dies and its write arrives late. In memory one of the three happens at every second write, on the other
//! stores at every eighth. With `HOLDOVER_ORDERS=3`, all three happen at every write on every store.
//!
//! A child may also kill every process that runs it, until it is given up: its parent is told so once. The module
//! `wide` tests trees with many children.
//!
//! Requirements: A61, A64, C48, H11, H21, H25, H26, INV-30.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod agent;
mod dying;
mod orders;
mod poisoned;
mod story;
mod told;
mod wide;

use std::sync::Arc;

use futures::{StreamExt, stream};
use holdover::store::{MemoryStore, SqliteOptions, SqliteStore, StateStore};
use holdover_launcher::shared;
use holdover_store_postgres::PostgresStore;
use holdover_store_redis::{RedisOptions, RedisStore};

use dying::{Fault, Then, What};
use orders::Order;
use story::Story;
use told::Told;

/// The number of stories that run at once. Most of the time, each of them waits for a lease to end.
const AT_ONCE: usize = 24;

/// The minimum percentage of deaths, and of orders to the root, that must fire. The number of writes of a story varies
/// a little with its timing.
const FIRED_MIN: usize = 90;

/// The minimum percentage of orders to a clerk that must stop it. At the first writes the clerk does not exist yet, and
/// at the last ones it has ended.
const FIRED_AT_CLERK_MIN: usize = 50;

/// In memory, an order is given at every write whose number this divides.
const AT_ONE_OF_IN_MEMORY: usize = 2;

/// On the other stores, an order is given at every write whose number this divides.
const AT_ONE_OF: usize = 8;

/// The orders other than an abort of the root, which is given at every write.
const ORDERS: [Order; 7] = [
    Order::StopRoot,
    Order::DeleteRoot,
    Order::ForkRoot,
    Order::Purge,
    Order::StopClerk,
    Order::AbortClerk,
    Order::DeleteClerk,
];

/// Runs the tests that every store has. Aborts of the root are given at every write, and other orders at every write
/// whose number `every` divides.
async fn both(store: Arc<dyn StateStore>, every: usize) {
    wide::race(Arc::clone(&store)).await;
    tokio::join!(poisoned::tell(&store), sweep(&store, every));
}

async fn sweep(store: &Arc<dyn StateStore>, every: usize) {
    let calm = Story::new(store, None).tell().await;
    calm.check();
    assert!(calm.writes >= 25, "{} writes: the story has become shorter", calm.writes);
    let each = |what: What| (1..=calm.writes).map(move |at| Fault { at, what });
    let deaths = each(What::DiesBefore).chain(each(What::DiesAfter));
    let acted = Fault { at: 0, what: What::DiesOnceItHasActed };
    let ways = if every == AT_ONE_OF_IN_MEMORY { Then::ALL.len() } else { 1 };
    let aborts = orders(Order::AbortRoot, calm.writes, 1, ways);
    let others = ORDERS.into_iter().flat_map(|order| orders(order, calm.writes, every, 1));
    let faults = deaths.chain([acted]).chain(aborts).chain(others);
    let each = faults.map(|fault| Story::new(store, Some(fault)).tell());
    let told: Vec<Told> = stream::iter(each.collect::<Vec<_>>()).buffer_unordered(AT_ONCE).collect().await;
    told.iter().for_each(Told::check);

    let (deaths, orders): (Vec<&Told>, Vec<&Told>) = told.iter().partition(|told| told.given().is_none());
    for told in &deaths {
        // A call in doubt has not returned, and is not counted.
        let mut used = calm.usage;
        used.tool_calls -= u64::from(told.is_in_doubt());
        assert_eq!(told.usage, used, "{:?}: what is counted", told.fault);
        let has_acted = told.fault.is_some_and(|fault| fault.what == What::DiesOnceItHasActed);
        assert!(!has_acted || told.fired && told.is_in_doubt(), "a death hit an effect");
    }
    enough("deaths", FIRED_MIN, &deaths, |told| told.fired);
    for order in [Order::AbortRoot].into_iter().chain(ORDERS) {
        let given: Vec<&Told> =
            orders.iter().copied().filter(|told| told.given() == Some(order) && !told.too_soon).collect();
        match order {
            Order::AbortRoot | Order::StopRoot | Order::DeleteRoot | Order::ForkRoot | Order::Purge => {
                enough(&format!("{order:?}"), FIRED_MIN, &given, |told| told.fired);
            }
            Order::StopClerk | Order::AbortClerk | Order::DeleteClerk => {
                enough(&format!("{order:?}"), FIRED_AT_CLERK_MIN, &given, Told::is_without_clerk);
            }
        }
    }
}

/// Asserts that enough stories fit `is_so`: at least one, and `min` percent of all but two.
fn enough(what: &str, min: usize, told: &[&Told], is_so: impl Fn(&Told) -> bool) {
    let fired = told.iter().filter(|told| is_so(told)).count();
    let enough = fired > 0 && fired * 100 >= told.len().saturating_sub(2) * min;
    assert!(enough, "{what}: {fired} of {} fired", told.len());
}

/// Returns the faults that give the order at every write whose number `every` divides, with this many fates of the
/// process, which take turns. With `HOLDOVER_ORDERS`, the order is given at every write, with that many fates.
fn orders(order: Order, writes: usize, every: usize, ways: usize) -> impl Iterator<Item = Fault> {
    let long = std::env::var("HOLDOVER_ORDERS").ok().map(|ways| ways.parse::<usize>().unwrap());
    let (every, ways) = long.map_or((every, ways), |ways| (1, ways));
    (1..=writes).filter(move |at| at % every == 0).flat_map(move |at| {
        let thens = Then::ALL.into_iter().cycle().skip(at / every + order as usize);
        thens.take(ways).map(move |then| Fault { at, what: What::Meets(order, then) })
    })
}

/// Requirements: H11.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_and_stops_at_every_write_of_a_tree_in_memory() {
    both(Arc::new(MemoryStore::new()), AT_ONE_OF_IN_MEMORY).await;
}

/// Requirements: A64, H21, H26.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_and_stops_at_every_write_of_a_tree_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(SqliteOptions::new(folder.path().join("sessions.db"))).await.unwrap();
    both(Arc::new(store), AT_ONE_OF).await;
}

/// Requirements: A61.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_and_stops_at_every_write_of_a_tree_on_postgres() {
    both(Arc::new(PostgresStore::open_url(shared::postgres_url()).await.unwrap()), AT_ONE_OF).await;
}

/// Requirements: C48.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_and_stops_at_every_write_of_a_tree_on_redis() {
    let options = RedisOptions::from_url(shared::redis_url()).unwrap();
    both(Arc::new(RedisStore::open(options).await.unwrap()), AT_ONE_OF).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_and_stops_at_every_write_of_a_tree_on_a_redis_cluster() {
    let options = RedisOptions::from_url(shared::redis_cluster_url()).unwrap();
    both(Arc::new(RedisStore::open(options).await.unwrap()), AT_ONE_OF).await;
}
