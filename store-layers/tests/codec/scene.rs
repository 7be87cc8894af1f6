//! Simple values for the tests to write.

use std::time::Duration;

use holdover_store::ids::{Incarnation, SessionKey, StateFormat};
use holdover_store::payload::Payload;
use holdover_store::*;

pub(crate) fn key(name: &str) -> SessionKey {
    SessionKey::new("acme".parse().unwrap(), name.parse().unwrap())
}

pub(crate) fn bytes(text: &str) -> Payload {
    Payload::new(text.to_owned())
}

pub(crate) fn new_session(name: &str) -> NewSession {
    NewSession {
        key: key(name),
        incarnation: Incarnation(uuid::Uuid::new_v4()),
        operation: format!("create {name}").parse().unwrap(),
        queue: "queue".parse().unwrap(),
        labels: Labels::default(),
        definition: bytes("definition"),
        format: StateFormat(1),
        items: Vec::new(),
        start: Start::WithItems,
    }
}

/// Returns a message under the key `name` that wakes the session at once.
pub(crate) fn item(name: &str, text: &str) -> InboxItem {
    InboxItem {
        key: name.parse().unwrap(),
        kind: ItemKind::Message { wake: Wake::Now },
        incarnation: None,
        payload: bytes(text),
    }
}

pub(crate) fn claim_one(run: &str, items: Vec<InboxItem>) -> ClaimOne {
    let (run, worker) = (run.parse().unwrap(), "worker".parse().unwrap());
    ClaimOne { run, worker, lease: Duration::from_secs(60), expected_version: None, items }
}

pub(crate) fn claim_due(runs: &[&str]) -> ClaimDue {
    ClaimDue {
        runs: runs.iter().map(|run| run.parse().unwrap()).collect(),
        worker: "worker".parse().unwrap(),
        lease: Duration::from_secs(60),
        queues: Queues::All,
        newest_format: StateFormat(9),
        tenant: None,
    }
}

pub(crate) fn commit(operation: &str) -> Commit {
    Commit::new(operation.parse().unwrap())
}

pub(crate) fn state(text: &str) -> NewState {
    NewState { format: StateFormat(1), payload: bytes(text) }
}

pub(crate) fn result(call: &str, text: &str) -> StagedResult {
    StagedResult { call: call.parse().unwrap(), payload: bytes(text) }
}

pub(crate) fn staging<const N: usize>(results: [(&str, &str); N]) -> Staging {
    Staging { results: results.map(|(call, text)| result(call, text)).into(), starts: Vec::new() }
}

pub(crate) fn soft(reason: &str) -> Interrupt {
    Interrupt {
        id: "stop".parse().unwrap(),
        kind: InterruptKind::Soft,
        reason: reason.into(),
        at: holdover_store::time::Timestamp::EPOCH,
        incarnation: None,
    }
}

pub(crate) fn release(status: SessionStatus) -> Option<Release> {
    Some(Release::To { status, deadline: None, wake_on: 0 })
}

/// Creates a session.
pub(crate) async fn create(store: &dyn StateStore, name: &str) -> SessionKey {
    let created = store.create_session(new_session(name)).await.unwrap();
    assert!(matches!(created, CreateOutcome::Created { .. }), "{created:?}");
    key(name)
}

/// Creates a session and claims it.
pub(crate) async fn running(store: &dyn StateStore, name: &str) -> Claim {
    let key = create(store, name).await;
    claimed(store.claim_session(&key, claim_one("run", Vec::new())).await.unwrap())
}

pub(crate) fn claimed(outcome: ClaimOutcome) -> Claim {
    let ClaimOutcome::Claimed(claim) = outcome else { panic!("{outcome:?}") };
    *claim
}

pub(crate) fn committed(outcome: CommitOutcome) -> Receipt {
    let CommitOutcome::Committed(receipt) = outcome else { panic!("{outcome:?}") };
    receipt
}
