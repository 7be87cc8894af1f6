//! A page that opens while a session runs: the snapshot and the events after it show everything once.
//!
//! Requirements: H16, H20.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use holdover_core::engine::RunOutcome;
use holdover_core::event::Event;
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{EventCursor, OutcomeKind, PageRequest, StateStore};
use holdover_core::tool::{ToolOutput, ToolReturn};
use holdover_runtime_local::{Denial, Follow, RuntimeError, Shown, WorkerOptions};
use tokio::time::sleep;

use crate::bench::{
    agent, agentless, asking_for, completes, finish, only_pending, runtime, say, store, worker,
};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

/// Returns a model that makes four tool calls, each after a few slow words, and is then done.
fn worker_bee() -> Script {
    Script::new(|request| match results(request).len() {
        0..4 => Say::SlowlyCall {
            pieces: vec!["let ".into(), "me ".into(), "see".into()],
            apart: Duration::from_millis(170),
            tool: "look",
        },
        _ => Say::Text("done"),
    })
}

#[tokio::test(start_paused = true)]
async fn h20_a_snapshot_joins_the_event_stream_without_a_gap_wherever_it_is_taken() {
    let look = Fake::new("look", |_| async {
        sleep(Duration::from_millis(130)).await;
        Ok(ToolOutput::text("seen").into())
    });
    let agent = Arc::new(agent(&worker_bee()).tool(look).build().unwrap());
    let (mut in_the_middle, mut within_a_stream) = (0, 0);
    for moment in (0..3_000_u64).step_by(60) {
        let store = store();
        let front = agentless(&store);
        let key = front.start(say(&agent, "go").served_elsewhere()).await.unwrap().key;
        let _worker = worker(&runtime(&store, &agent), WorkerOptions::default());
        sleep(Duration::from_millis(moment)).await;

        let taken = front.snapshot(&key, u32::MAX).await.unwrap();
        // A page gets the cursor as text.
        let cursor: EventCursor = taken.cursor.to_string().parse().unwrap();
        let shown: Vec<Shown> =
            front.follow(&key, cursor, Follow::UntilRest).map(|shown| shown.unwrap()).collect().await;
        let all: Vec<_> = front
            .events(&key, EventCursor::START, Follow::Available)
            .map(|entry| entry.unwrap())
            .collect()
            .await;

        let after: Vec<_> = shown
            .iter()
            .filter_map(|shown| match shown {
                Shown::Event(entry) => Some(entry.clone()),
                Shown::Delta(_) | Shown::Dropped { .. } => None,
                other => panic!("{other:?}"),
            })
            .collect();
        let known = all.len() - after.len();
        assert_eq!(after, all[known..], "{moment}: no event is missing, none is told twice");
        assert_eq!(known as u64, taken.standing.session.last_event.0);
        let told = after.iter().filter_map(|entry| {
            let Event::Message { seq, .. } = entry.event else { return None };
            Some(seq)
        });
        let places: Vec<u64> =
            taken.messages.iter().map(|entry| entry.seq).chain(told).map(|seq| seq.0).collect();
        let last = front.session(&key).await.unwrap().unwrap().last_message.0;
        assert_eq!(places, (1..=last).collect::<Vec<_>>(), "{moment}: each message once");
        in_the_middle += u32::from(known > 0 && !after.is_empty());

        // An answer in progress is shown from its first word.
        let mut begun = BTreeSet::new();
        for entry in shown.iter().filter_map(|shown| match shown {
            Shown::Delta(entry) => Some(entry),
            Shown::Event(_) | Shown::Dropped { .. } => None,
            other => panic!("{other:?}"),
        }) {
            assert!(!begun.insert(entry.stream) || entry.place == 1, "{moment}: {}", entry.stream);
        }
        within_a_stream += u32::from(matches!(shown.first(), Some(Shown::Delta(_))));
    }
    assert!(in_the_middle > 20 && within_a_stream > 3, "{in_the_middle}, {within_a_stream}");
}

#[tokio::test(start_paused = true)]
async fn h20_a_snapshot_of_a_waiting_session_says_who_owes_what_and_its_newest_messages() {
    let model = Script::calling(vec![("pay", "{}")]);
    let agent = Arc::new(agent(&model).tool(Fake::echo("pay")).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let asked = only_pending(&runtime, &key).await;
    let taken = runtime.snapshot(&key, 1).await.unwrap();
    assert_eq!(taken.standing, runtime.standing(&key).await.unwrap());
    assert_eq!(taken.standing.outcome, Some(outcome));
    assert_eq!(taken.messages, runtime.messages(&key).await.unwrap()[1..]);

    let page = serde_json::to_value(&taken).unwrap();
    assert_eq!(page["pending"][0]["id"], asked.as_str());
    assert_eq!((&page["status"], &page["messages"][0]["seq"]), (&"suspended".into(), &2.into()));
    assert_eq!(page["cursor"], taken.cursor.to_string());

    // The denial is one of the events that follow the snapshot.
    runtime.deny(&key, &asked, Denial::default()).await.unwrap();
    completes(runtime.resume(&key).await.unwrap()).await;
    let later = runtime.snapshot(&key, 0).await.unwrap();
    assert_eq!((later.standing.pending, later.messages), (vec![], vec![]));
    let told: Vec<_> = runtime.events(&key, taken.cursor, Follow::Available).collect().await;
    let ended = |event: &Event| matches!(event, Event::Call { is, .. } if is == "rejected_by_user");
    assert!(told.iter().any(|entry| ended(&entry.as_ref().unwrap().event)), "{told:?}");

    let nowhere =
        say(&agent, "").in_session(holdover_core::ids::SessionId::new("nowhere").unwrap()).session.unwrap();
    let nowhere = holdover_core::ids::SessionKey::new(key.tenant, nowhere);
    assert!(matches!(runtime.snapshot(&nowhere, 1).await, Err(RuntimeError::NotFound { .. })));
}

/// The outcome is the same for the caller, for later readers of the session, and in the record of the run.
#[tokio::test(start_paused = true)]
async fn h16_the_outcome_that_a_caller_gets_is_the_one_that_is_stored_with_all_it_carries() {
    let later = Fake::new("later", |_| async {
        Ok(ToolReturn::After { delay: Duration::from_secs(3600), output: ToolOutput::text("slept") })
    });
    let stories: [(Script, OutcomeKind); 5] = [
        (Script::new(|_| Say::Text("hello")), OutcomeKind::Completed),
        (Script::new(|_| Say::Fail(ModelError::new(ModelErrorKind::Auth, "no key"))), OutcomeKind::Failed),
        (Script::calling(vec![("pay", "{}")]), OutcomeKind::SuspendedClientTool),
        (Script::calling(vec![("later", "{}")]), OutcomeKind::SuspendedUntil),
        (
            Script::new(|_| Say::Fail(ModelError::new(ModelErrorKind::RateLimited, "slow down"))),
            OutcomeKind::SuspendedUntil,
        ),
    ];
    for (model, kind) in stories {
        let agent = agent(&model).tool(Fake::echo("pay")).tool(later.clone()).gate(asking_for("pay"));
        let agent = Arc::new(agent.build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let mut run = runtime.execute(say(&agent, "go")).await.unwrap();
        let key = run.key().clone();
        let got = run.first_outcome().await.unwrap().unwrap();
        assert_eq!(got.kind(), kind);

        let session = runtime.session(&key).await.unwrap().unwrap();
        assert_eq!(runtime.outcome(&session).unwrap().as_ref(), Some(&got), "in the session");
        let runs = store.list_runs(&key, PageRequest::default()).await.unwrap().items;
        let end = runs.last().unwrap().end.clone().unwrap();
        let record: serde_json::Value = end.detail.unwrap().parse().unwrap();
        assert_eq!(
            (end.outcome, &record["outcome"]),
            (kind, &serde_json::to_value(&got).unwrap()),
            "in the record"
        );
        let parsed: RunOutcome = serde_json::from_value(record["outcome"].clone()).unwrap();
        assert_eq!(parsed, got, "one union, read back whole");
    }
}
