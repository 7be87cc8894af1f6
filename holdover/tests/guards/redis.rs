//! Redis: exchanges with the server, scripts, and bytes of its log.

use std::process::Command;
use std::sync::Arc;

use holdover_launcher::{Launcher, Relay};
use holdover_store_redis::{RedisOptions, RedisStore};

use crate::step::{ALLOCATED, ALLOCATIONS, Counts, HOPS, check};

#[test]
fn a_step_on_redis() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let relay = Relay::to(server.url().trim_start_matches("redis://")).unwrap();
    let open = async || {
        let url = format!("redis://{}", relay.address());
        let options = RedisOptions::from_url(&url).unwrap().change_hints(false);
        let store = RedisStore::open(options).await.unwrap();
        let look = async move || {
            let scripts = info(&server.url(), "commandstats", "cmdstat_evalsha:calls=");
            let log = info(&server.url(), "persistence", "aof_current_size:");
            Counts::from([("exchanges", relay.exchanges()), ("scripts", scripts), ("bytes of log", log)])
        };
        (Arc::new(store) as _, look)
    };
    let expected = [
        ("exchanges", 2.0),
        ("scripts", 2.0),
        ("bytes of log", 4_700.0),
        (ALLOCATIONS, 1_060.0),
        (ALLOCATED, 139_000.0),
        (HOPS, 4.0),
    ];
    check(open, &expected);
}

/// Returns the number after `name` in this section of the server's `INFO`.
fn info(url: &str, section: &str, name: &str) -> u64 {
    let said = Command::new("redis-cli").args(["-u", url, "INFO", section]).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let number = said.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    number.split(|is: char| !is.is_ascii_digit()).next().unwrap().parse().unwrap()
}
