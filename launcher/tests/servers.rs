//! Tests that the servers start, survive what tests do to them, and leave nothing behind.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holdover_launcher::Launcher;

fn output(program: &str, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn sql(url: &str, statement: &str) -> (bool, String) {
    output("psql", &["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement, url])
}

fn redis(url: &str, command: &[&str]) -> (bool, String) {
    output("redis-cli", &[&["-u", url][..], command].concat())
}

/// Returns the number of processes that work in `folder`, whoever started them.
fn at_work_in(folder: &Path) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let inside = entries.filter(|entry| {
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    });
    inside.count()
}

/// Waits until `gone` returns true, for at most half a minute. Returns false if the time is over.
fn wait_until(gone: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(30) {
        if gone() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn postgres_keeps_what_it_acknowledged_when_it_is_killed() {
    let launcher = Launcher::new().unwrap();
    let mut postgres = launcher.postgres(&[("deadlock_timeout", "123ms")]).unwrap();
    assert_eq!(sql(&postgres.url(), "show fsync"), (true, "on".into()));
    assert_eq!(sql(&postgres.url(), "show deadlock_timeout"), (true, "123ms".into()));
    assert_eq!(sql(&postgres.url(), "create table kept as select 7 as n"), (true, String::new()));
    postgres.process().kill();
    assert_eq!(at_work_in(postgres.process().folder()), 0, "it is dead, with all its children");
    assert!(!sql(&postgres.url(), "select 1").0);
    postgres.start().unwrap();
    assert_eq!(sql(&postgres.url(), "select n from kept"), (true, "7".into()));
}

#[test]
fn a_stopped_server_answers_nothing_until_it_goes_on() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.redis(&[]).unwrap();
    server.process().pause();
    let mut waiting = Command::new("redis-cli");
    let mut waiting = waiting.args(["-u", &server.url(), "PING"]).stdout(Stdio::piped()).spawn().unwrap();
    // Another server still answers.
    let other = launcher.redis(&[]).unwrap();
    assert_eq!(redis(&other.url(), &["PING"]), (true, "PONG".into()));
    assert!(waiting.try_wait().unwrap().is_none(), "the stopped one has not answered");
    server.process().resume();
    assert!(waiting.wait().unwrap().success());
}

#[test]
fn redis_keeps_what_it_acknowledged_when_it_is_killed() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.redis(&[]).unwrap();
    assert_eq!(redis(&server.url(), &["CONFIG", "GET", "appendfsync"]).1, "appendfsync\nalways");
    assert_eq!(redis(&server.url(), &["SET", "kept", "7"]), (true, "OK".into()));
    server.process().kill();
    assert!(!redis(&server.url(), &["PING"]).0);
    server.start().unwrap();
    assert_eq!(redis(&server.url(), &["GET", "kept"]), (true, "7".into()));
}

#[test]
fn temporal_keeps_what_it_acknowledged_when_it_is_killed() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.temporal(&["Topic"]).unwrap();
    let (address, started) =
        (server.address(), ["--workflow-id", "kept", "--type", "Any", "--task-queue", "any"]);
    let ask = |server: &holdover_launcher::Temporal, arguments: &[&str]| {
        let output = server.client().args(arguments).args(["--address", &address]).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let topic = ["--search-attribute", "Topic=\"held\""];
    assert!(ask(&server, &[&["workflow", "start"][..], &started, &topic].concat()).0);
    server.process().kill();
    assert_eq!(at_work_in(server.process().folder()), 0);
    assert!(!ask(&server, &["operator", "cluster", "health"]).0);
    server.start().unwrap();
    let (_, shown) = ask(&server, &["workflow", "describe", "--workflow-id", "kept"]);
    assert!(shown.contains("\"held\\\"\""), "{shown}");
}

#[test]
fn a_cluster_serves_every_slot_also_after_a_node_died() {
    let launcher = Launcher::new().unwrap();
    let mut cluster = launcher.redis_cluster().unwrap();
    let port = cluster.nodes()[0].port().to_string();
    for key in ["a", "b", "c", "d", "e"] {
        assert_eq!(output("redis-cli", &["-c", "-p", &port, "SET", key, key]), (true, "OK".into()));
    }
    cluster.nodes()[1].process().kill();
    cluster.nodes()[1].start().unwrap();
    cluster.wait_until_whole().unwrap();
    for key in ["a", "b", "c", "d", "e"] {
        assert_eq!(output("redis-cli", &["-c", "-p", &port, "GET", key]), (true, key.into()));
    }
}

#[test]
fn a_pooler_hands_statements_to_its_server() {
    let launcher = Launcher::new().unwrap();
    let postgres = launcher.postgres(&[]).unwrap();
    let pooler = launcher.pgbouncer(&postgres).unwrap();
    assert_eq!(sql(&pooler.url(), "select 6 * 7"), (true, "42".into()));
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let launcher = Launcher::new().unwrap();
    let error = launcher.redis(&[("no-such-setting", "1")]).unwrap_err().to_string();
    assert!(error.starts_with("redis: it ended with exit status: 1; the last line of its log: "), "{error}");
    let error = launcher.postgres(&[("no_such_setting", "1")]).unwrap_err().to_string();
    assert!(error.contains("unrecognized configuration parameter"), "{error}");
}

#[test]
fn nothing_is_left_when_the_launcher_is_dropped() {
    let launcher = Launcher::new().unwrap();
    let folder = launcher.folder().to_owned();
    let (postgres, redis) = (launcher.postgres(&[]).unwrap(), launcher.redis(&[]).unwrap());
    assert!(at_work_in(&folder) > 1);
    // The launcher must also remove servers that are never dropped, such as those in a static.
    std::mem::forget((postgres, redis));
    drop(launcher);
    assert_eq!(at_work_in(&folder), 0);
    assert!(!folder.exists());
}

#[test]
fn nothing_is_left_when_the_process_is_killed() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_holdover-launcher"));
    let mut program = program
        .args(["pgbouncer", "redis", "--", "sh", "-c", "echo $HOLDOVER_REDIS_URL; exec cat"])
        // The command outlives the killed program, and exits when this input ends.
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim();
    let (_, folder) = redis(url, &["CONFIG", "GET", "dir"]);
    let folder = Path::new(folder.lines().last().unwrap()).parent().unwrap().to_owned();
    assert!(at_work_in(&folder) > 1, "{}", folder.display());
    program.kill().unwrap();
    program.wait().unwrap();
    assert!(wait_until(|| at_work_in(&folder) == 0 && !folder.exists()), "{}", folder.display());
    assert!(!redis(url, &["PING"]).0);
}

#[test]
fn the_program_ends_as_its_command_does() {
    let program = env!("CARGO_BIN_EXE_holdover-launcher");
    let run = |arguments: &[&str]| Command::new(program).args(arguments).output().unwrap();
    assert_eq!(run(&["--", "sh", "-c", "exit 7"]).status.code(), Some(7));
    let unknown = run(&["mysql", "--", "true"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).starts_with("error: mysql: there is no such server"));
    assert_eq!(run(&["redis"]).status.code(), Some(2));
}

#[test]
fn a_replica_takes_over_from_a_master_that_died() {
    let launcher = Launcher::new().unwrap();
    let mut cluster = launcher.redis_cluster_with_replicas().unwrap();
    let ports: Vec<String> = cluster.replicas().iter().map(|replica| replica.port().to_string()).collect();
    for (node, port) in cluster.nodes().iter().zip(&ports) {
        let (_, role) = output("redis-cli", &["-p", port, "ROLE"]);
        assert!(role.starts_with("slave") && role.contains(&node.port().to_string()), "{role}");
    }
    cluster.nodes()[1].process().kill();
    assert!(wait_until(|| output("redis-cli", &["-p", &ports[1], "ROLE"]).1.starts_with("master")));
    cluster.wait_until_whole().unwrap();
}
