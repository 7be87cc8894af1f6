//! The command line with stores that are servers.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::process::Command;

use holdover_launcher::{Launcher, Postgres, Redis};
use support::Fixture;

/// Runs a program that must succeed, and returns its output without blanks at the ends.
fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output().expect("it starts");
    assert!(output.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

fn keys(redis: &Redis) -> String {
    said("redis-cli", &["-u", &redis.url(), "DBSIZE"])
}

fn schemas(postgres: &Postgres) -> String {
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'holdover%'";
    said("psql", &["-d", &postgres.url(), "-tAc", schemas])
}

/// Drives a session from its first message to its end, by processes that share only the store at `url`.
fn a_session_lives(url: &str, parameter: &str) {
    let fixture = Fixture::new();
    let named = format!("{url}?{parameter}=apart");
    let on = |words: &[&str]| fixture.run(&[words, &["--store", &named]].concat());
    for words in [&["doctor"][..], &["sessions", "list"], &["send", "s", "hello"]] {
        on(words).fails(1, &[&named, "there is no store yet"]);
    }
    let owed = on(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    assert!(owed.out.contains(&named), "what answers names the store: {owed:#?}");
    on(&["doctor"])
        .ends(0)
        .says("processes of many machines may share it")
        .says("a power cut")
        .says("stuck     nothing");
    on(&["approve", "s"]).ends(0).says("Written.");
    assert_eq!(fixture.read("files/note.txt"), "it's\nwritten\n");
    let report = on(&["doctor", "--json"]).ends(0).last();
    assert_eq!((&report["writable"], &report["sessions"]["idle"]), (&true.into(), &1.into()));
    on(&["run", "agent.toml", "--detach", "hello"]).ends(0);
    on(&["work", "--until-idle"]).ends(0);
    assert_eq!(on(&["sessions", "list", "--json"]).ends(0).lines().len(), 2);
    // Another schema or namespace on the same server holds no sessions.
    fixture.run(&["sessions", "list", "--store", url]).fails(1, &["there is no store yet"]);
}

/// Runs one case of the conformance suite on the store at `url`.
fn one_case_runs(url: &str) {
    let fixture = Fixture::new();
    let case = ["--filter", "session.create_then_get_roundtrip", "--kills", "2", "--jobs", "1"];
    let ran = fixture.run(&[&["conformance", "--store", url, "--json"], &case[..]].concat()).ends(1);
    let report = ran.last();
    assert_eq!((&report["cases"][0]["status"], &report["kills"]), (&"PASSED".into(), &2.into()), "{ran:#?}");
    let address = url.rsplit(['@', '/']).find(|part| part.contains("127.0.0.1")).unwrap();
    assert!(!ran.out.contains(address), "a report is the same wherever the server is: {ran:#?}");
}

#[test]
fn postgres() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    one_case_runs(&server.url());
    assert_eq!(schemas(&server), "0", "nothing is left");
    a_session_lives(&server.url(), "schema");
    let fixture = Fixture::new();
    let lazy = format!("{}?schema=lazy&options=-c%20synchronous_commit%3Doff", server.url());
    let refused = [&lazy, "tool run_command of agent tester", "do not survive a killed process"];
    fixture.run(&["run", "agent.toml", "--store", &lazy, "linger"]).fails(1, &refused);
    let doctor =
        fixture.run(&["doctor", "--store", &lazy]).ends(0).says("weakened  synchronous_commit is off: ");
    doctor
        .says("a commit may be lost at any time")
        .says("tools of these classes run on it: read_only, idempotent\n");
    let nobody = server.url().replace("holdover@", "nobody:secret@");
    let ran =
        fixture.run(&["doctor", "--store", &nobody]).fails(1, &["nobody:***@", "\"nobody\" does not exist"]);
    assert!(!ran.err.contains("secret"), "{ran:#?}");
}

#[test]
fn redis() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    one_case_runs(&server.url());
    assert_eq!(keys(&server), "0", "nothing is left");
    a_session_lives(&server.url(), "namespace");
}

#[test]
fn redis_cluster() {
    let launcher = Launcher::new().unwrap();
    let mut cluster = launcher.redis_cluster().unwrap();
    let url = cluster.url();
    one_case_runs(&url);
    for node in cluster.nodes() {
        assert_eq!(keys(node), "0", "nothing is left");
    }
    a_session_lives(&url, "namespace");
}

#[test]
fn a_server_that_forgets_is_refused_and_one_without_a_log_promises_nothing() {
    let launcher = Launcher::new().unwrap();
    let fixture = Fixture::new();
    let forgetful = launcher.redis(&[("maxmemory-policy", "allkeys-lru")]).unwrap();
    let forgets = forgetful.url();
    for words in [&["run", "agent.toml", "hello"][..], &["doctor"], &["conformance"]] {
        let on = [words, &["--store", &forgets]].concat();
        fixture.run(&on).fails(1, &[&forgets, "maxmemory-policy is allkeys-lru"]);
    }
    let server = launcher.redis(&[("appendonly", "no")]).unwrap();
    let refused = [&server.url(), "do not survive a killed process"];
    fixture.run(&["run", "agent.toml", "--store", &server.url(), "linger"]).fails(1, &refused);
    let doctor = fixture.run(&["doctor", "--store", &server.url()]).ends(0);
    doctor.says("weakened  appendonly is no: ").says("a commit may be lost at any time");
}

#[test]
fn a_password_opens_and_is_not_printed() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    said("redis-cli", &["-u", &server.url(), "CONFIG", "SET", "requirepass", "open-sesame"]);
    let fixture = Fixture::new();
    let with = |password: &str| server.url().replace("redis://", &format!("redis://:{password}@"));
    let wrong = fixture.run(&["doctor", "--store", &with("wrong-word")]).fails(1, &["redis://:***@"]);
    assert!(!wrong.err.contains("wrong-word") && !wrong.out.contains("wrong-word"), "{wrong:#?}");
    let words = ["run", "agent.toml", "--session", "s", "write"];
    let parked = fixture.run(&[&words[..], &["--store", &with("open-sesame")]].concat()).ends(10);
    assert!(parked.out.contains("--store 'redis://:***@"), "{parked:#?}");
    assert!(!parked.out.contains("sesame") && !parked.err.contains("sesame"), "{parked:#?}");
    // When the environment names the store, the printed commands do not, and run as they are.
    let mut command = fixture.command(&["sessions", "pending"]);
    let output = command.env("HOLDOVER_STORE", with("open-sesame")).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("approve ") && !shown.contains("--store"), "{shown}");
}
