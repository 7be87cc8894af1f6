//! `holdover conformance`: its output, the files it leaves behind, and its exit codes.

#![allow(clippy::expect_used, reason = "a test may panic")]

mod support;

use serde_json::Value;
use support::{Fixture, Ran};

const CASE: &str = "session.create_then_get_roundtrip";

fn files(fixture: &Fixture) -> Vec<String> {
    let entries = std::fs::read_dir(fixture.path(".")).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn last_line(ran: &Ran) -> &str {
    ran.out.lines().last().unwrap_or_default()
}

#[test]
fn the_report_of_memory_is_what_it_was() {
    let ran = Fixture::new().run(&["conformance", "--store", "memory", "--report", "md"]).ends(0);
    let committed = include_str!("reports/memory.md");
    assert_eq!(ran.out, committed, "cli/tests/reports/memory.md is what came out when it was written");
    assert!(ran.err.lines().last().is_some_and(|line| line.starts_with("passed: core, ")), "{ran:#?}");
}

#[test]
fn a_store_of_the_user_is_not_touched_and_nothing_is_left_beside_it() {
    let fixture = Fixture::new();
    fixture.write("mine.db", "not even a database");
    let before = files(&fixture);
    let ran = fixture.run(&["conformance", "--store", "sqlite:mine.db", "--filter", CASE]).ends(1);
    assert!(last_line(&ran).starts_with("incomplete: distributed, 1 passed"), "{ran:#?}");
    assert_eq!((files(&fixture), fixture.read("mine.db").as_str()), (before, "not even a database"));
    // When the URL names a folder, the test stores lie inside that folder.
    fixture.run(&["conformance", "--store", "sqlite:files", "--filter", CASE]).ends(1).says("SQLite");
    assert_eq!(std::fs::read_dir(fixture.path("files")).expect("a folder").count(), 0);
}

#[test]
fn reports_go_where_they_are_told_to() {
    let fixture = Fixture::new();
    let ran = fixture
        .run(&[
            "conformance",
            "--store",
            "memory",
            "--level",
            "core",
            "--seed",
            "7",
            "--jobs",
            "1",
            "--report",
            "json",
            "--out",
            "r.json",
            "--report",
            "junit",
            "--out",
            "r.xml",
            "--report",
            "badge",
            "--out",
            "r.svg.json",
        ])
        .ends(0);
    assert!(last_line(&ran).starts_with("passed: core, ") && ran.err.is_empty(), "{ran:#?}");
    let json: Value = serde_json::from_str(&fixture.read("r.json")).expect("JSON");
    assert_eq!((&json["format"], &json["seed"], &json["verdict"]), (&1.into(), &7.into(), &"passed".into()));
    assert!(fixture.read("r.xml").starts_with("<?xml "));
    assert!(fixture.read("r.svg.json").contains("brightgreen"));
    let ran = fixture.run(&["conformance", "--store", "memory", "--json", "--filter", CASE]).ends(1);
    assert_eq!(ran.out.lines().count(), 1, "one object a line");
    let json: Value = serde_json::from_str(&ran.out).expect("JSON alone");
    assert_eq!(json["cases"][0]["status"], "PASSED");
    assert!(ran.err.contains("incomplete: core, 1 passed"), "{ran:#?}");
}

#[test]
fn a_level_that_is_not_claimed_is_no_pass() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["conformance", "--store", "memory", "--level", "durable"]).ends(1);
    assert!(last_line(&ran).starts_with("incomplete: durable"), "{ran:#?}");
    assert!(ran.out.contains("durable is not claimed: it keeps nothing beyond its process"), "{ran:#?}");
}

#[test]
fn wrong_use_is_said_before_anything_runs() {
    let fixture = Fixture::new();
    let run = |words: &[&str]| fixture.run(&[&["conformance"], words].concat());
    run(&["--store", "memory", "--filter", "no such case"]).fails(2, &["no such case"]);
    run(&["--store", "mysql:x"]).fails(2, &["mysql"]);
    run(&["--store", "sqlite:"]).fails(2, &["names no file"]);
    run(&["--store", "sqlite:x.db?mode=ro"]).fails(2, &["x.db?mode=ro"]);
    run(&["--store", "sqlite:no/such/folder/x.db"]).fails(1, &["no/such/folder"]);
    run(&["--store", "memory", "--report", "md", "--out", "no/such/r.md"]).fails(2, &["no/such/r.md"]);
    run(&["--store", "memory", "--report", "md", "--report", "json"]).fails(2, &["--out 0 times"]);
    for words in [&["--level", "best"][..], &["--out", "x"], &["--report", "pdf"], &["--jobs", "0"]] {
        run(words).ends(2);
    }
}
