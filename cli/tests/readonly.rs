//! Stores that the user may read but not write.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::process::Command;

use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use support::{Fixture, HOLDOVER, Ran, wait_until};

/// Runs a command as this user, or as another user if this user is the superuser.
fn as_other(fixture: &Fixture, words: &str) -> Ran {
    fixture.shell(&line_as_other(words))
}

fn line_as_other(words: &str) -> String {
    let other = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    format!("[ $(id -u) = 0 ] && as='{other}'; exec $as {HOLDOVER} {words}")
}

/// Returns a fixture with a session in a store that is not writable.
fn read_only() -> Fixture {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    fixture.shell("chmod 444 holdover.db && chmod 555 .").ends(0);
    fixture
}

fn can_be_looked_at(fixture: &Fixture) {
    as_other(fixture, "sessions list").ends(0).says("waits for approval");
    as_other(fixture, "sessions show s").ends(0).says("write_file");
    as_other(fixture, "sessions messages s").ends(0).says("I write.");
    as_other(fixture, "events s").ends(0);
    let report = as_other(fixture, "doctor --json").ends(1).last();
    assert_eq!((&report["writable"], &report["stuck"]), (&false.into(), &serde_json::json!([])));
}

#[test]
fn a_database_in_a_folder_that_cannot_be_written_is_looked_at() {
    let fixture = read_only();
    let before = std::fs::read(fixture.path("holdover.db")).unwrap();
    can_be_looked_at(&fixture);
    assert_eq!(std::fs::read(fixture.path("holdover.db")).unwrap(), before);
    assert!(!fixture.has("holdover.db-wal") && !fixture.has("holdover.db-shm"));
}

#[test]
fn whoever_follows_a_database_that_is_written_meanwhile_is_told_to_open_it_again() {
    let fixture = read_only();
    let mut follow = Command::new("sh");
    follow.arg("-c").arg(line_as_other("events s --follow")).current_dir(fixture.path("."));
    let followed = Fixture::start_that(follow);
    wait_until("it follows", || followed.lines_so_far() > 0);
    fixture.shell("chmod 755 . && chmod 644 holdover.db").ends(0);
    fixture.run(&["approve", "s"]).ends(0);
    let said = followed.end().fails(1, &["written since it was opened", "open it again"]);
    assert!(!said.err.contains("later"), "{said:#?}");
}

#[test]
fn what_would_write_it_says_that_it_is_read_only() {
    let fixture = read_only();
    for words in
        ["send s --detach hello", "approve s", "interrupt s", "sessions delete s", "work --until-idle"]
    {
        let refused = as_other(&fixture, words)
            .fails(1, &["store sqlite:holdover.db", "read-only", "Permission denied"]);
        assert!(!refused.err.contains("later"), "{refused:#?}");
    }
}

#[test]
fn a_database_that_its_owner_has_open_is_looked_at_with_what_is_in_its_log() {
    let fixture = Fixture::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(fixture.path("holdover.db"))).await.unwrap();
        fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
        assert!(std::fs::metadata(fixture.path("holdover.db-wal")).unwrap().len() > 0, "it is in the log");
        fixture.shell("chmod 444 holdover.db* && chmod 555 .").ends(0);
        can_be_looked_at(&fixture);
        // A copy with the log but without the log's index, which this user cannot create.
        fixture.shell("mkdir -m 700 copy 2>/dev/null || (chmod 755 . && mkdir copy)").ends(0);
        fixture.shell("cp holdover.db holdover.db-wal copy && chmod 444 copy/* && chmod 555 copy").ends(0);
        let refused = as_other(&fixture, "sessions list --store sqlite:copy/holdover.db");
        refused.fails(1, &["read-only", "holdover.db-wal holds commits", "holdover.db-shm is not there"]);
        store.close().await;
    });
}
