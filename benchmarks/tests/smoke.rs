//! Checks that the benchmarks run to their end. The tests assert no times.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::process::Command;

use holdover_launcher::{Launcher, Redis};

/// Returns the number of keys on a server.
fn keys_on(server: &Redis) -> u64 {
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    redis::cmd("DBSIZE").query(&mut connection).unwrap()
}

#[test]
fn all_of_it_runs_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.md");
    let output = Command::new(env!("CARGO_BIN_EXE_holdover-benchmarks"))
        .args(["all", "--steps", "2,12", "--sessions", "1,3", "--repetitions", "1", "--report"])
        .arg(&file)
        .arg("--folder")
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = std::fs::read_to_string(file).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), report.trim());
    assert!(!report.contains("NaN") && !report.contains("inf"), "something was not measured: {report}");
    for part in [
        "| processor |",
        "| commit |",
        "| synchronous | full |",
        "| 12 |",
        "| 3 | 106 |",
        "step 12 over step 2",
        "| 50 | ",
        "--steps 2,12",
    ] {
        assert!(report.to_lowercase().contains(&part.to_lowercase()), "{part}: {report}");
    }
}

#[test]
fn flows_run_and_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let program = || Command::new(env!("CARGO_BIN_EXE_holdover-benchmarks"));
    let page = program()
        .args(["flows", "--steps", "2,12", "--records", "4,100", "--repetitions", "1", "--folder"])
        .arg(folder.path())
        .output();
    let page = page.unwrap();
    assert!(page.status.success(), "{}", String::from_utf8_lossy(&page.stderr));
    let report = String::from_utf8(page.stdout).unwrap();
    assert!(!report.contains("NaN") && !report.contains("inf"), "something was not measured: {report}");
    for part in ["| 12 | ", "Step 12 over step 2", "| 4 | ", "| 100 | ", "| synchronous | full |"] {
        assert!(report.to_lowercase().contains(&part.to_lowercase()), "{part}: {report}");
    }
    let store = format!("sqlite:{}", folder.path().join("w.db").display());
    let work = program()
        .args(["work", "--flow", "--sessions", "2", "--steps", "3", "--store", &store])
        .output()
        .unwrap();
    assert!(work.status.success(), "{}", String::from_utf8_lossy(&work.stderr));
    let told: serde_json::Value = serde_json::from_slice(&work.stdout).unwrap();
    assert_eq!((told["system"].as_str(), told["steps"].as_u64()), (Some("holdover-flow"), Some(3)));
}

#[test]
fn every_store_is_measured_beside_its_server() {
    let servers = Launcher::new().unwrap();
    let (postgres, redis) = (servers.postgres(&[]).unwrap(), servers.redis(&[]).unwrap());
    let mut cluster = servers.redis_cluster().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_holdover-benchmarks"))
        .args(["stores", "--sessions", "2", "--repetitions", "1"])
        .args(["--postgres", &postgres.url(), "--redis", &redis.url(), "--redis-cluster", &cluster.url()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(!report.contains("NaN") && !report.contains("inf"), "something was not measured: {report}");
    let rows: Vec<&str> = report.lines().filter(|line| line.contains(" | 2 | ")).collect();
    assert_eq!(rows.len(), 4, "{report}");
    for (row, store) in rows.iter().zip(["SQLite", "Postgres", "Redis", "Redis"]) {
        assert!(row.contains(store), "{row}");
    }
    for setting in ["synchronous_commit on", "appendfsync always"] {
        assert!(report.contains(setting), "{setting}: {report}");
    }
    assert!(report.contains("--postgres URL") && !report.contains("127.0.0.1"), "{report}");
    assert_eq!(keys_on(&redis), 0, "nothing stays on the server");
    assert_eq!(cluster.nodes().iter().map(keys_on).sum::<u64>(), 0, "nothing stays in the cluster");
}

#[test]
fn what_is_waited_for_beside_many_sessions_is_measured_on_every_store() {
    let servers = Launcher::new().unwrap();
    let (postgres, redis) = (servers.postgres(&[]).unwrap(), servers.redis(&[]).unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_holdover-benchmarks"))
        .args(["scaling", "--beside", "100", "--backlog", "20", "--times", "5", "--idle", "2"])
        .args(["--postgres", &postgres.url(), "--redis", &redis.url()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = String::from_utf8(output.stdout).unwrap();
    for store in ["SQLite", "Postgres", "Redis"] {
        let rows = report.lines().filter(|line| line.starts_with(&format!("| {store}"))).count();
        assert_eq!(rows, 3, "{store}: {report}");
    }
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_holdover-benchmarks"))
        .args(["growth", "--folder", "/nowhere/at/all"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("/nowhere/at/all") && said.lines().count() == 1, "{said}");
}
