//! A session in a state that only a newer version knows.
//!
//! Requirements: C03.

use std::time::Duration;

use holdover_core::error::ErrorInfo;
use holdover_core::payload::Payload;
use holdover_core::store::{Commit, NewState, OutcomeKind, PageRequest, SessionStatus};
use holdover_runtime_local::{Deliver, RuntimeError, WorkerOptions};
use serde_json::{Value, json};

use crate::bench::{transcript, worker};
use crate::replaying::{operation, rested, tamper};

/// Requirements: C03.
#[tokio::test(start_paused = true)]
async fn c03_a_run_fails_in_a_state_that_no_handler_knows_and_the_session_loses_nothing() {
    let (store, runtime, key) = rested().await;
    let known = runtime.session(&key).await.unwrap().unwrap().state.unwrap();
    let mut dreams: Value = known.parse().unwrap();
    dreams["state"] = json!({ "state": "dreaming" });
    let dreams = Payload::json(&dreams).unwrap();
    let set = async |payload: &Payload| {
        let payload = payload.clone();
        tamper(&store, &key, |claim| {
            let state = NewState { format: claim.session.format, payload };
            Commit { state: Some(state), ..Commit::new(operation()) }
        })
        .await;
    };
    set(&dreams).await;
    runtime.deliver(&key, Deliver::message("more")).await.unwrap();
    let said = transcript(&runtime, &key).await;

    // Whoever runs the session here is told which state it is.
    let refused = runtime.resume(&key).await.unwrap().outcome().await.unwrap_err();
    assert!(matches!(refused, RuntimeError::Start(_)), "{refused:?}");
    let named = format!("session {key}: state: unknown variant `dreaming`");
    assert!(refused.to_string().starts_with(&named), "{refused}");

    // Workers record it, and leave the session to a version that knows the state.
    let working = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(120)).await;
    drop(working);
    let runs = runtime.runs(&key, PageRequest::default()).await.unwrap().items;
    let ends = runs.iter().skip(2).filter_map(|run| run.end.as_ref());
    let told: Vec<_> = ends.map(|end| (end.outcome, end.detail.clone().unwrap())).collect();
    assert!(told.len() >= 2, "the handle and the worker have tried: {told:?}");
    for (outcome, detail) in told {
        let why: ErrorInfo = detail.parse().unwrap();
        assert_eq!((outcome, why.code.as_str()), (OutcomeKind::Released, "runtime.unreadable"));
        assert!(why.to_string().contains("`dreaming`"), "{why:?}");
    }
    let left = runtime.session(&key).await.unwrap().unwrap();
    assert_eq!((left.state.as_ref(), left.unread, left.lease), (Some(&dreams), 1, None));
    assert_eq!(left.status, SessionStatus::Idle);
    assert_eq!(transcript(&runtime, &key).await, said, "no handler has acted");

    set(&known).await;
    let run = runtime.resume(&key).await.unwrap();
    assert_eq!(run.outcome().await.unwrap().kind(), OutcomeKind::Completed, "the message was kept");
}
