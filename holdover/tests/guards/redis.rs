//! Redis: exchanges with the server, scripts, and bytes of its log.
//!
//! Requirements: U01.

use std::process::Command;
use std::sync::Arc;

use holdover::store::StateStore;
use holdover_launcher::{Launcher, Redis, Relay};
use holdover_store_redis::{RedisOptions, RedisStore};

use crate::step::{ALLOCATED, ALLOCATIONS, Counts, HOPS, LATE_ON_SERVERS, check, check_late};

#[test]
fn a_step_on_redis() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let relay = Relay::to(server.url().trim_start_matches("redis://")).unwrap();
    let expected = [
        ("exchanges", 2.0),
        ("scripts", 2.0),
        ("bytes of log", 4_700.0),
        (ALLOCATIONS, 960.0),
        (ALLOCATED, 137_000.0),
        (HOPS, 4.0),
    ];
    let at = (&server, &relay);
    check(async move || open(at.0, at.1).await, &expected);
}

#[test]
fn u01_a_late_step_on_redis_costs_what_an_early_one_does() {
    let launcher = Launcher::new().unwrap();
    // A rewrite of the log belongs to no step.
    let server = launcher.redis(&[("auto-aof-rewrite-percentage", "0")]).unwrap();
    let relay = Relay::to(server.url().trim_start_matches("redis://")).unwrap();
    let at = (&server, &relay);
    check_late(
        async move || open(at.0, at.1).await,
        LATE_ON_SERVERS,
        &["exchanges", "scripts", "bytes of log"],
    );
}

/// Opens a store behind the relay. Returns it with a function that returns its counts.
async fn open(server: &Redis, relay: &Relay) -> (Arc<dyn StateStore>, impl AsyncFnMut() -> Counts) {
    let options =
        RedisOptions::from_url(&format!("redis://{}", relay.address())).unwrap().change_hints(false);
    let store = RedisStore::open(options).await.unwrap();
    let look = async move || {
        let scripts = info(&server.url(), "commandstats", "cmdstat_evalsha:calls=");
        let log = info(&server.url(), "persistence", "aof_current_size:");
        Counts::from([("exchanges", relay.exchanges()), ("scripts", scripts), ("bytes of log", log)])
    };
    (Arc::new(store), look)
}

/// Returns the number after `name` in this section of the server's `INFO`.
fn info(url: &str, section: &str, name: &str) -> u64 {
    let said = Command::new("redis-cli").args(["-u", url, "INFO", section]).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let number = said.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    number.split(|is: char| !is.is_ascii_digit()).next().unwrap().parse().unwrap()
}
