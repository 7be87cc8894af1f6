//! Replays that find a state that differs from its rows, or rows that make no state.
//!
//! Requirements: C57; INV-10.

use std::sync::Arc;

use holdover_core::engine::STATE_FORMAT;
use holdover_core::event::Event;
use holdover_core::history::{HistoryRow, TurnRequest};
use holdover_core::ids::{MessageSeq, OperationId, SessionKey};
use holdover_core::machine::history::Broken;
use holdover_core::machine::{Input, Machine, StateKind};
use holdover_core::payload::Payload;
use holdover_core::store::{
    Claim, ClaimOne, ClaimOutcome, Commit, CommitOutcome, NewState, OutcomeKind, Release, RunEnd,
    SessionStatus, StateStore,
};
use holdover_runtime_local::{Runtime, machine_of};
use holdover_store_memory::MemoryStore;
use serde_json::json;

use crate::bench::{agent, completes, runtime, say, store};
use crate::script::Script;
use crate::tools::Fake;

/// Runs a session until its turn is over.
pub(crate) async fn rested() -> (MemoryStore, Runtime, SessionKey) {
    let agent = agent(&Script::calling(vec![("pay", "{}")])).tool(Fake::echo("pay"));
    let (store, agent) = (store(), Arc::new(agent.build().unwrap()));
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    (store, runtime, key)
}

/// Writes a commit to the session without going through the engine.
pub(crate) async fn tamper(store: &MemoryStore, key: &SessionKey, change: impl FnOnce(&Claim) -> Commit) {
    let one = ClaimOne {
        run: "tampers".parse().unwrap(),
        worker: "nobody".parse().unwrap(),
        lease: std::time::Duration::from_secs(30),
        expected_version: None,
        items: Vec::new(),
    };
    let ClaimOutcome::Claimed(claim) = store.claim_session(key, one).await.unwrap() else {
        panic!("it rests")
    };
    let commit = Commit {
        run: Some(RunEnd { outcome: OutcomeKind::Released, detail: Payload::new("") }),
        release: Some(Release::To { status: SessionStatus::Idle, deadline: None, wake_on: 0 }),
        ..change(&claim)
    };
    let written = store.commit(&claim.fence, commit).await.unwrap();
    assert!(matches!(written, CommitOutcome::Committed(_)), "{written:?}");
}

pub(crate) fn operation() -> OperationId {
    "tampers".parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn c57_a_state_that_is_not_what_its_rows_make_is_found_and_each_place_is_named() {
    let (store, runtime, key) = rested().await;
    let replay = runtime.replay(&key).await.unwrap();
    assert!(replay.agrees(), "{replay:?}");
    tamper(&store, &key, |claim| {
        let mut machine: Machine = claim.session.state.as_ref().unwrap().parse().unwrap();
        machine.usage.tool_calls += 6;
        machine.turn.number.0 += 1;
        let state = NewState { format: STATE_FORMAT, payload: Payload::json(&machine).unwrap() };
        Commit { state: Some(state), ..Commit::new(operation()) }
    })
    .await;

    let replay = runtime.replay(&key).await.unwrap();
    assert!(!replay.agrees(), "{replay:?}");
    let found: Vec<_> = replay
        .differences
        .iter()
        .map(|found| (found.place.as_str(), found.rows.clone().unwrap(), found.state.clone().unwrap()))
        .collect();
    assert_eq!(found, [("turn.number", json!(1), json!(2)), ("usage.tool_calls", json!(1), json!(7))]);
    let stored = machine_of(&runtime.session(&key).await.unwrap().unwrap()).unwrap().unwrap();
    assert_eq!(
        (stored.usage.tool_calls, replay.rebuilt.unwrap().usage.tool_calls),
        (7, 1),
        "nothing is changed"
    );
}

#[tokio::test(start_paused = true)]
async fn c57_a_row_that_does_not_fit_those_before_it_is_found_and_named() {
    for from in [StateKind::Done, StateKind::Thinking] {
        let (store, runtime, key) = rested().await;
        let rows = runtime.replay(&key).await.unwrap().rows;
        tamper(&store, &key, |claim| {
            // `Provisioned` fits neither a session whose turn has ended nor one whose model is thinking.
            let rows = vec![HistoryRow::new(from, Input::Provisioned, None, claim.now)];
            let event = Payload::json(&Event::History { rows }).unwrap();
            Commit { events: vec![event], ..Commit::new(operation()) }
        })
        .await;
        let replay = runtime.replay(&key).await.unwrap();
        assert!(!replay.agrees(), "{replay:?}");
        assert_eq!((replay.rows, replay.ends_in(), replay.differences.len()), (rows + 1, None, 0));
        match replay.rebuilt.unwrap_err() {
            Broken::Refused { row, .. } => assert_eq!((row, from), (rows, StateKind::Done)),
            Broken::Elsewhere { row, expected, found } => {
                assert_eq!((row, expected, found), (rows, StateKind::Thinking, StateKind::Done));
            }
            other @ Broken::LedElsewhere { .. } => panic!("{other}"),
        }
    }
}

/// Requirements: D16.
#[tokio::test(start_paused = true)]
async fn c57_d16_a_row_that_names_another_state_than_its_input_leads_to_is_found() {
    let (store, runtime, key) = rested().await;
    let rows = runtime.replay(&key).await.unwrap().rows;
    tamper(&store, &key, |claim| {
        let input = Input::TurnRequested {
            request: TurnRequest::Message,
            provisions: false,
            after: MessageSeq(0),
            asks_in_doubt: false,
            procedure: Box::default(),
            planned: false,
        };
        let rows = vec![HistoryRow::new(StateKind::Done, input, Some(StateKind::Thinking), claim.now)];
        let event = Payload::json(&Event::History { rows }).unwrap();
        Commit { events: vec![event], ..Commit::new(operation()) }
    })
    .await;
    let broken = runtime.replay(&key).await.unwrap().rebuilt.unwrap_err();
    let expected =
        Broken::LedElsewhere { row: rows, said: StateKind::Thinking, found: StateKind::Provisioning };
    assert_eq!(broken, expected);
    assert!(broken.to_string().ends_with("it leads to provisioning, it says thinking"), "{broken}");
}
