//! Postgres: exchanges with the server, statements, and bytes of its log.
//!
//! Requirements: U01.

use std::sync::Arc;

use holdover::store::StateStore;
use holdover_launcher::{Launcher, Postgres, Relay};
use holdover_store_postgres::{PostgresOptions, PostgresStore};
use sqlx::{Connection, PgConnection};

use crate::step::{ALLOCATED, ALLOCATIONS, Counts, HOPS, LATE_ON_SERVERS, check, check_late};

#[test]
fn a_step_on_postgres() {
    let launcher = Launcher::new().unwrap();
    // Otherwise the first change of a page after a checkpoint logs the whole page, which is not a cost of a step.
    let settings = [("shared_preload_libraries", "pg_stat_statements"), ("full_page_writes", "off")];
    let server = launcher.postgres(&settings).unwrap();
    let relay = Relay::to(("127.0.0.1", server.port())).unwrap();
    let expected = [
        ("exchanges", 2.0),
        ("statements", 2.0),
        ("bytes of log", 5_100.0),
        (ALLOCATIONS, 530.0),
        (ALLOCATED, 127_000.0),
        (HOPS, 4.0),
    ];
    let at = (&server, &relay);
    check(async move || open(at.0, at.1).await, &expected);
}

#[test]
fn u01_a_late_step_on_postgres_costs_what_an_early_one_does() {
    let launcher = Launcher::new().unwrap();
    // The upkeep of the tables writes to the log too, and belongs to no step. Nothing is killed here.
    let settings = [
        ("shared_preload_libraries", "pg_stat_statements"),
        ("full_page_writes", "off"),
        ("autovacuum", "off"),
        ("fsync", "off"),
    ];
    let server = launcher.postgres(&settings).unwrap();
    let relay = Relay::to(("127.0.0.1", server.port())).unwrap();
    let at = (&server, &relay);
    check_late(
        async move || open(at.0, at.1).await,
        LATE_ON_SERVERS,
        &["exchanges", "statements", "bytes of log"],
    );
}

/// Opens a store behind the relay. Returns it with a function that returns its counts.
async fn open(server: &Postgres, relay: &Relay) -> (Arc<dyn StateStore>, impl AsyncFnMut() -> Counts) {
    let mut admin = PgConnection::connect(&server.url()).await.unwrap();
    sqlx::query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").execute(&mut admin).await.unwrap();
    let url = format!("postgres://holdover@{}/postgres?sslmode=disable", relay.address());
    // Change hints would add exchanges of their own.
    let options = PostgresOptions::from_url(&url).unwrap().change_hints(false);
    let store = PostgresStore::open(options).await.unwrap();
    let look = async move || {
        let (statements, log): (i64, i64) = sqlx::query_as(
            "SELECT coalesce(sum(calls), 0)::bigint, (pg_current_wal_insert_lsn() - '0/0')::bigint \
             FROM pg_stat_statements WHERE query LIKE '%session%' AND query NOT LIKE '%pg_stat%'",
        )
        .fetch_one(&mut admin)
        .await
        .unwrap();
        Counts::from([
            ("exchanges", relay.exchanges()),
            ("statements", statements.cast_unsigned()),
            ("bytes of log", log.cast_unsigned()),
        ])
    };
    (Arc::new(store), look)
}
