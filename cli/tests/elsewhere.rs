//! Sessions whose agent exists only in another program, in a store that the command line shares with that
//! program.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;

use holdover_core::engine::STATE_FORMAT;
use holdover_core::ids::{Incarnation, OperationId, QueueLabel, SessionId, SessionKey, TenantId};
use holdover_core::store::{Labels, NewSession, Start, StateStore};
use holdover_models::{ModelRef, connect};
use holdover_runtime_local::{Agent, Agents, Deliver, Execute, Runtime, RuntimeOptions};
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use serde_json::{Value, json};
use support::Fixture;

/// The command `doctor` without patience, which reports overdue work at once.
const IMPATIENT: [&str; 4] = ["doctor", "--patience", "0s", "--json"];

fn key(id: &str) -> SessionKey {
    SessionKey::new(TenantId::new("default").unwrap(), SessionId::new(id).unwrap())
}

/// Acts on the fixture's store as the program `till`, which has an agent of its own.
fn till<T>(fixture: &Fixture, act: impl AsyncFnOnce(&SqliteStore, &Runtime, &Arc<Agent>) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(fixture.path("holdover.db"))).await.unwrap();
        let model: ModelRef = format!("scripted:{}", fixture.path("script.toml").display()).parse().unwrap();
        let agent = Agent::builder("clerk").version("2").shared_model(connect(&model).unwrap());
        let agent = Arc::new(agent.build().unwrap());
        let options = RuntimeOptions::default().program(Some("till".to_owned()));
        let runtime = Runtime::new(store.clone(), Agents::new().with(Arc::clone(&agent)), options);
        let done = act(&store, &runtime, &agent).await;
        store.close().await;
        done
    })
}

fn start(fixture: &Fixture, id: &str, text: &str) {
    till(fixture, async |_, runtime, agent| {
        let request = Execute::new(key(id).tenant, Arc::clone(agent), text).in_session(key(id).id);
        runtime.start(request).await.unwrap();
    });
}

fn listed(fixture: &Fixture, id: &str) -> Value {
    let all = fixture.run(&["sessions", "list", "--json"]).ends(0).lines();
    all.into_iter().find(|session| session["session"] == id).expect("it is listed")
}

fn stuck(report: &Value, id: &str) -> (String, Vec<String>) {
    let all = report["stuck"].as_array().unwrap();
    let found = all.iter().find(|found| found["session"] == id).unwrap_or_else(|| panic!("{report:#}"));
    let help: Vec<Vec<String>> = serde_json::from_value(found["help"].clone()).unwrap();
    (found["detail"].as_str().unwrap().to_owned(), help.iter().map(|words| words.join(" ")).collect())
}

#[test]
fn a_session_of_another_program_is_left_to_it_and_named_with_it() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "own", "--detach", "hello"]).ends(0);
    start(&fixture, "theirs", "hello");
    let before = listed(&fixture, "theirs");
    assert_eq!((&before["agent"], &before["labels"]["program"]), (&json!("clerk@2"), &json!("till")));

    let worked = fixture.run(&["work", "--until-idle"]).ends(0).says("1 run: 1 completed");
    assert!(!worked.err.contains("theirs"), "{worked:#?}");
    assert_eq!(listed(&fixture, "theirs"), before, "never claimed");

    let (detail, help) = stuck(&fixture.run(&IMPATIENT).ends(1).last(), "theirs");
    assert!(detail.contains("is till running?"), "{detail}");
    assert!(help.iter().all(|line| !line.contains(" work") && !line.contains(" resume")), "{help:?}");
    for line in &help {
        fixture.shell(line).ends(0).says("in another program, till");
    }
    fixture
        .run(&["resume", "theirs"])
        .fails(1, &["session theirs: nothing was done", "another program, till"]);
    assert_eq!(listed(&fixture, "theirs"), before);
    fixture.run(&["send", "theirs", "--detach", "hello"]).ends(0).says("left to a worker (of till)");

    // The session's own program can go on with it at once.
    till(&fixture, async |_, runtime, _| runtime.wait(&key("theirs")).await.unwrap());
    fixture.run(&["sessions", "messages", "theirs"]).ends(0).says("Good day.");
}

#[test]
fn a_failed_session_of_another_program_is_handed_to_its_workers_by_the_command_that_is_advised() {
    let fixture = Fixture::new();
    start(&fixture, "theirs", "nonsense");
    till(&fixture, async |_, runtime, _| runtime.wait(&key("theirs")).await.unwrap());
    let (_, help) = stuck(&fixture.run(&IMPATIENT).ends(1).last(), "theirs");
    assert!(help[0].ends_with(" retry theirs --detach"), "{help:?}");
    fixture.shell(&help[0]).ends(0).says("(of till)");
    assert_eq!(listed(&fixture, "theirs")["status"], "suspended");
}

#[test]
fn a_session_that_an_older_version_left_is_served_by_a_worker_that_is_told_its_queue() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "new", "hello"]).ends(0);
    till(&fixture, async |store, runtime, _| {
        let own = store.load_session(&key("new")).await.unwrap().unwrap();
        assert_eq!(own.queue.as_str(), "holdover-cli");
        let left = NewSession {
            key: key("old"),
            incarnation: Incarnation(uuid::Uuid::from_u128(7)),
            operation: OperationId::new("create").unwrap(),
            queue: QueueLabel::new("tester").unwrap(),
            labels: Labels::from_iter([(Labels::AGENT, "tester")]),
            definition: own.definition,
            format: STATE_FORMAT,
            items: Vec::new(),
            start: Start::WithItems,
        };
        store.create_session(left).await.unwrap();
        runtime.deliver(&key("old"), Deliver::message("hello")).await.unwrap();
    });
    fixture.run(&["work", "--until-idle"]).ends(0);
    assert_eq!(listed(&fixture, "old")["runs"], 0);
    let (detail, help) = stuck(&fixture.run(&IMPATIENT).ends(1).last(), "old");
    assert!(detail.contains("older version") && detail.contains("queue tester"), "{detail}");
    assert!(help[0].ends_with(" work --queue tester"), "{help:?}");
    fixture.run(&["sessions", "check", "agent.toml"]).ends(0);
    fixture.shell(&format!("{} --until-idle", help[0])).ends(0).says("session old: completed");
    fixture.run(&["run", "agent.toml", "--session", "old", "hello again"]).ends(0).says("Good day.");
}
