//! The report of `doctor` about a store, which the command leaves unchanged.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use holdover_core::ids::{
    Incarnation, InterruptId, OperationId, QueueLabel, RunId, SessionId, SessionKey, StateFormat, TenantId,
    WorkerId,
};
use holdover_core::payload::Payload;
use holdover_core::store::{
    ClaimOne, ClaimOutcome, Commit, Interrupt, InterruptKind, Labels, NewSession, Release, Start, StateStore,
};
use holdover_core::time::{Clock, Timestamp};
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use rustix::process::Signal;
use serde_json::Value;
use support::{Fixture, wait_until};

/// The command `doctor` without patience, which reports overdue work at once.
const IMPATIENT: [&str; 4] = ["doctor", "--patience", "0s", "--json"];

/// Returns the session that is stuck for `reason`, with the suggested commands. `None` if there is no such
/// session.
fn stuck(report: &Value, reason: &str) -> Option<(String, Vec<Vec<String>>)> {
    let found = report["stuck"].as_array().expect("a list").iter().find(|found| found["reason"] == reason)?;
    let help = serde_json::from_value(found["help"].clone()).expect("commands");
    Some((found["session"].as_str().expect("an id").to_owned(), help))
}

/// Acts on the fixture's store in a way that no command offers.
fn with_store<T>(fixture: &Fixture, act: impl AsyncFnOnce(&SqliteStore) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(fixture.path("holdover.db"))).await.expect("opened");
        let done = act(&store).await;
        store.close().await;
        done
    })
}

fn key(id: &str) -> SessionKey {
    SessionKey::new(TenantId::new("default").expect("an id"), SessionId::new(id).expect("an id"))
}

#[test]
fn a_healthy_store_is_described_and_left_as_it_is() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "done", "hello"]).ends(0);
    fixture.run(&["run", "agent.toml", "--session", "waits", "write"]).ends(10);
    let before = std::fs::read(fixture.path("holdover.db")).expect("a file");
    let report = fixture.run(&["doctor", "--json"]).ends(0).last();
    assert_eq!((&report["healthy"], &report["stuck"]), (&true.into(), &serde_json::json!([])));
    assert_eq!(report["sessions"], serde_json::json!({ "idle": 1, "suspended": 1 }));
    assert_eq!(report["settings"]["journal_mode"], "wal");
    assert!(report["settings"]["schema"].is_string());
    assert!(report["effects"].as_array().expect("a list").contains(&"at_most_once".into()));
    let ran = fixture.run(&["doctor"]).ends(0).says("backend   SQLite 3.").says("synchronous full");
    ran.says("2 of tenant default: 1 at rest, 1 waiting").says("stuck     nothing").says("may share it");
    assert_eq!(std::fs::read(fixture.path("holdover.db")).expect("a file"), before, "byte for byte");
}

#[test]
fn a_store_that_does_not_open_is_described_as_far_as_it_goes() {
    let fixture = Fixture::new();
    fixture.run(&["doctor"]).fails(1, &["sqlite:holdover.db", "no such file"]);
    assert!(!fixture.has("holdover.db"), "looking creates nothing");
    fixture.write("empty.db", "");
    fixture.run(&["doctor", "--store", "sqlite:empty.db"]).fails(1, &["empty.db: is empty"]);
    assert_eq!(std::fs::metadata(fixture.path("empty.db")).expect("a file").len(), 0, "and changes nothing");
    fixture.write("text.db", &"no database ".repeat(100));
    fixture.run(&["doctor", "--store", "sqlite:text.db"]).fails(1, &["text.db"]).says("1200 bytes");
    fixture.run(&["run", "agent.toml", "hello"]).ends(0);
    fixture.set_schema("holdover.db", 1);
    let before = std::fs::read(fixture.path("holdover.db")).expect("a file");
    fixture
        .run(&["doctor"])
        .fails(1, &["has schema 1, the newest is", "brought up to date by whoever uses it"]);
    assert_eq!(std::fs::read(fixture.path("holdover.db")).expect("a file"), before, "left to others");
    fixture.set_schema("holdover.db", 99);
    let ran = fixture.run(&["doctor", "--json"]).fails(1, &["has schema 99, this program knows up to"]);
    assert_eq!(ran.last()["healthy"], false);
}

#[test]
fn a_store_that_this_user_cannot_write_is_not_healthy() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    fixture.shell("chmod 777 . && chmod 444 holdover.db").ends(0);
    // The superuser may write anything, so it must first become another user.
    let other = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    let doctor = format!("[ $(id -u) = 0 ] && as='{other}'; $as {} doctor", support::HOLDOVER);
    let report = fixture.shell(&format!("{doctor} --json")).ends(1).last();
    assert_eq!((&report["writable"], &report["healthy"]), (&false.into(), &false.into()));
    assert_eq!(report["stuck"], serde_json::json!([]));
    let said = fixture.shell(&doctor).ends(1);
    said.says("writable  no, not by this user: holdover.db: Permission denied");
    fixture.shell("chmod 644 holdover.db").ends(0);
    assert_eq!(fixture.run(&["doctor", "--json"]).ends(0).last()["writable"], true);
}

#[test]
fn a_session_that_nobody_takes_is_stuck_until_a_worker_comes() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "--detach", "hello"]).ends(0);
    fixture.run(&["doctor"]).ends(0).says("stuck     nothing");
    let (session, help) = stuck(&fixture.run(&IMPATIENT).ends(1).last(), "due").expect("it is due");
    assert_eq!(session, "s");
    fixture.shell(&format!("{} --until-idle", help[0].join(" "))).ends(0);
    fixture.run(&IMPATIENT).ends(0);
}

/// A clock that is ten years ahead of the machine's.
struct Ahead;

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        let now = std::time::UNIX_EPOCH.elapsed().expect("after 1970");
        Timestamp::from_ms(0).after(now).after(Duration::from_secs(10 * 366 * 24 * 60 * 60))
    }
}

/// Claims the session by a clock that is ten years ahead. Releases it if `gives_back` is set.
fn claimed_in_ten_years(fixture: &Fixture, id: &str, gives_back: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let options = SqliteOptions::new(fixture.path("holdover.db")).clock(Arc::new(Ahead));
        let store = SqliteStore::open(options).await.expect("opened");
        let claim = ClaimOne {
            run: RunId::new("run").expect("an id"),
            worker: WorkerId::new("ahead").expect("an id"),
            lease: Duration::from_secs(30),
            expected_version: None,
            items: Vec::new(),
        };
        let claimed = store.claim_session(&key(id), claim).await.expect("answered");
        let ClaimOutcome::Claimed(claim) = claimed else { panic!("{claimed:?}") };
        if gives_back {
            let mut commit = Commit::new(OperationId::new("back").expect("an id"));
            commit.release = Some(Release::GiveBack { alarm: None });
            store.commit(&claim.fence, commit).await.expect("answered");
        }
        store.close().await;
    });
}

#[test]
fn a_session_that_is_due_in_ten_years_is_stuck_until_it_is_resumed() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "--detach", "hello"]).ends(0);
    claimed_in_ten_years(&fixture, "s", true);
    let (session, help) =
        stuck(&fixture.run(&["doctor", "--json"]).ends(1).last(), "due_too_late").expect("it is due late");
    assert_eq!((session.as_str(), help[0][1..].join(" ").as_str()), ("s", "resume s"));
    fixture
        .run(&["doctor"])
        .ends(1)
        .says("in the future, and is due only at 20")
        .says("the store's clock was ahead");
    fixture.shell(&help[0].join(" ")).ends(0).says("Good day.");
    fixture.run(&["doctor"]).ends(0).says("stuck     nothing");
}

#[test]
fn a_session_that_is_held_for_ten_years_is_stuck_until_it_is_forked_and_deleted() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    claimed_in_ten_years(&fixture, "s", false);
    let (_, help) =
        stuck(&fixture.run(&["doctor", "--json"]).ends(1).last(), "lease_too_long").expect("it is held");
    fixture.run(&["doctor"]).ends(1).says("of ahead holds it until 20").says("go on with a fork");
    for command in help {
        fixture.shell(&command.join(" ")).ends(0);
    }
    fixture.run(&["doctor"]).ends(0).says("1 of tenant default").says("stuck     nothing");
}

#[test]
fn a_session_whose_run_died_is_stuck_until_it_is_resumed() {
    let fixture = Fixture::new();
    let running = fixture.start(&["run", "agent.toml", "--session", "s", "--lease", "1s", "linger"]);
    wait_until("the command runs", || fixture.has("files/marker"));
    running.signal(Signal::KILL);
    let look = || stuck(&fixture.run(&IMPATIENT).last(), "lease_ended");
    wait_until("its lease has ended", || look().is_some());
    let (session, help) = look().expect("it is stuck");
    assert_eq!((session.as_str(), help[1][1..].join(" ").as_str()), ("s", "resume s"));
    fixture.run(&["doctor", "--patience", "0s"]).ends(1).says("nobody took it over");
    fixture.shell(&help[1].join(" ")).ends(0).says("It had begun.");
    fixture.run(&IMPATIENT).ends(0);
}

#[test]
fn a_call_whose_deadline_passed_is_named() {
    let fixture = Fixture::new();
    let agent = fixture.read("agent.toml");
    fixture.write("hasty.toml", &format!("{agent}\n[limits]\nanswer_timeout_ms = 1\n"));
    fixture.run(&["run", "hasty.toml", "--session", "s", "--json", "ask"]).ends(10);
    fixture.run(&["run", "agent.toml", "--session", "in-time", "ask"]).ends(10);
    let look = || stuck(&fixture.run(&IMPATIENT).last(), "deadline_passed");
    wait_until("the deadline has passed", || look().is_some());
    let (session, help) = look().expect("it is stuck");
    assert_eq!(session, "s");
    fixture.shell(&format!("{} --until-idle", help[0].join(" "))).ends(0);
    fixture.run(&IMPATIENT).ends(0);
}

#[test]
fn a_failed_session_is_named_with_its_error() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "nonsense"]).ends(1);
    let report = fixture.run(&["doctor", "--json"]).ends(1).last();
    let (session, help) = stuck(&report, "failed").expect("it failed");
    assert_eq!((session.as_str(), help[0][1..].join(" ").as_str()), ("s", "retry s"));
}

#[test]
fn a_stop_that_waits_and_a_state_of_a_newer_program_are_named() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    with_store(&fixture, async |store| {
        let interrupt = Interrupt {
            id: InterruptId::new("stop").expect("an id"),
            kind: InterruptKind::Soft,
            reason: "enough".into(),
            at: Timestamp::from_ms(1_000),
            incarnation: None,
        };
        store.request_interrupt(&key("s"), interrupt).await.expect("asked");
        let new = NewSession {
            key: key("newer"),
            incarnation: Incarnation(uuid::Uuid::from_u128(7)),
            operation: OperationId::new("create").expect("an id"),
            queue: QueueLabel::new("q").expect("a queue"),
            labels: Labels::default(),
            definition: Payload::new("{}"),
            format: StateFormat(99),
            items: Vec::new(),
            start: Start::WithItems,
        };
        store.create_session(new).await.expect("created");
    });
    let report = fixture.run(&IMPATIENT).ends(1).last();
    assert_eq!(stuck(&report, "newer_format").expect("it is newer"), ("newer".to_owned(), Vec::new()));
    let (session, help) = stuck(&report, "interrupt_waits").expect("a stop waits");
    assert_eq!(session, "s");
    fixture.shell(&help[0].join(" ")).ends(20);
    let report = fixture.run(&IMPATIENT).ends(1).last();
    assert!(stuck(&report, "interrupt_waits").is_none(), "{report}");
}
