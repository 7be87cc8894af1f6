//! Tests of every rule against the text of the contract. The model of the conformance suite uses the same
//! rules, so the suite cannot detect a wrong rule.

mod commit;
mod delivery;
mod delta;
mod limits;
mod ownership;
mod shown;

use super::*;
use crate::ids::{SessionId, TenantId, WorkerId};
use crate::payload::Payload;
use crate::{
    CommitOutcome, DeleteOutcome, Deletion, InboxItem, ItemKind, Labels, Release, StageOutcome, StagedResult,
    Staging, TOMBSTONE_STANDS, Wake,
};
use std::time::Duration;
use uuid::Uuid;

const LEASE: Duration = Duration::from_secs(10);

fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms)
}

fn row() -> SessionRow {
    let new = NewSession {
        key: SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap()),
        incarnation: Incarnation(Uuid::from_u128(1)),
        operation: OperationId::new("create").unwrap(),
        queue: QueueLabel::new("q").unwrap(),
        labels: Labels::default(),
        definition: Payload::new(""),
        format: StateFormat(1),
        items: vec![],
        start: Start::WithItems,
    };
    SessionRow::create(&new, at(0))
}

fn claimed(mut row: SessionRow, now: Timestamp) -> SessionRow {
    row.claimable(None, now).expect("claimable");
    row.claim(RunId::new("r").unwrap(), WorkerId::new("w").unwrap(), LEASE, now);
    row
}

fn message(wake: Wake) -> InboxItem {
    InboxItem {
        key: crate::ids::ItemKey::new("k").unwrap(),
        kind: ItemKind::Message { wake },
        incarnation: None,
        payload: Payload::new("m"),
    }
}

fn commit(release: Option<Release>) -> Commit {
    Commit { release, ..Commit::new(OperationId::new("c").unwrap()) }
}

fn to(status: SessionStatus, wake_on: u32) -> Option<Release> {
    Some(Release::To { status, deadline: None, wake_on })
}

fn stop(id: &str, kind: InterruptKind) -> Interrupt {
    let id = crate::ids::InterruptId::new(id).unwrap();
    Interrupt { id, kind, reason: String::new(), at: at(0), incarnation: None }
}

#[test]
fn a_delivery_never_moves_an_active_sessions_alarm() {
    let mut row = claimed(row(), at(0));
    let before = row.alarm;
    row.accept(&message(Wake::Now), None, None, at(5)).expect("accepted");
    assert_eq!(row.alarm, before);
}

#[test]
fn an_item_that_arrived_during_the_run_wakes_at_release() {
    let mut row = claimed(row(), at(0));
    row.accept(&message(Wake::Now), None, None, at(5)).expect("accepted");
    let facts = CommitFacts { unseen: row.unseen, ..CommitFacts::default() };
    row.apply(&commit(to(SessionStatus::Suspended, 0)), &facts, at(9)).expect("applied");
    assert_eq!(row.alarm, Some(at(9)));
}

#[test]
fn what_is_not_there_yet_has_been_seen_by_nobody() {
    let mut row = claimed(row(), at(0));
    let park = Commit { inbox_seen: Some(InboxSeq(9)), ..commit(to(SessionStatus::Suspended, 0)) };
    row.apply(&park, &CommitFacts::default(), at(1)).expect("applied");
    assert_eq!(row.inbox_seen, InboxSeq(0));
    row.accept(&message(Wake::Now), None, None, at(5)).expect("accepted");
    assert_eq!((row.alarm, row.unseen.urgent), (Some(at(5)), true));
}

#[test]
fn a_suspended_session_wakes_when_the_count_is_reached() {
    let mut row = claimed(row(), at(0));
    row.apply(&commit(to(SessionStatus::Suspended, 2)), &CommitFacts::default(), at(1)).expect("applied");
    row.accept(&message(Wake::Count), None, None, at(5)).expect("accepted");
    assert_eq!(row.alarm, None);
    row.accept(&message(Wake::Quiet), None, None, at(6)).expect("accepted");
    assert_eq!(row.alarm, None);
    row.accept(&message(Wake::Count), None, None, at(7)).expect("accepted");
    assert_eq!(row.alarm, Some(at(7)));
}

#[test]
fn a_release_ends_the_fence_except_for_the_repeat_of_that_commit() {
    let mut row = claimed(row(), at(0));
    let fence = row.fence();
    let last = commit(to(SessionStatus::Idle, 0));
    let receipt = row.apply(&last, &CommitFacts::default(), at(1)).expect("applied");
    assert_eq!(row.admit(&fence, &last), Some(CommitOutcome::Committed(receipt)));
    let other =
        Commit { expected_version: Some(receipt.version), ..Commit::new(OperationId::new("other").unwrap()) };
    assert_eq!(row.admit(&fence, &other), Some(CommitOutcome::StaleFence { applied: Applied::No }));
    let row = claimed(row, at(2));
    assert_eq!(row.admit(&fence, &last), Some(CommitOutcome::StaleFence { applied: Applied::Yes }));
}

#[test]
fn a_commit_before_the_newest_of_its_run_is_not_denied() {
    let mut row = claimed(row(), at(0));
    let fence = row.fence();
    let numbered = |text: &str, expected_version| Commit {
        expected_version,
        ..Commit::new(OperationId::new(text).unwrap())
    };
    let first = numbered("first", Some(row.version));
    let receipt = row.apply(&first, &CommitFacts::default(), at(1)).expect("applied");
    let second = numbered("second", Some(receipt.version));
    row.apply(&second, &CommitFacts::default(), at(2)).expect("applied");
    let third = numbered("third", Some(row.version));
    let blind = numbered("blind", None);
    let mut row = claimed(row, at(20_000));
    let known = |row: &SessionRow| [&first, &second, &third, &blind].map(|one| row.was_applied(&fence, one));
    let of_its_run = [Applied::Unknown, Applied::Yes, Applied::No, Applied::Unknown];
    assert_eq!(known(&row), of_its_run);
    row.apply(&numbered("newer", None), &CommitFacts::default(), at(20_001)).expect("applied");
    assert_eq!(known(&row), [Applied::Unknown; 4]);
    let stranger = Fence { epoch: row.epoch.next(), ..fence.clone() };
    assert_eq!(row.was_applied(&stranger, &blind), Applied::No);
}

#[test]
fn a_deletion_leaves_the_names_of_the_life_that_it_ended() {
    let mut row = claimed(row(), at(0));
    let other = Deletion::FORCE.of(Incarnation(Uuid::from_u128(2)));
    assert_eq!(row.delete(other, at(1)), Err(DeleteOutcome::NotFound));
    assert_eq!(row.delete(Deletion::UNLESS_ACTIVE, at(1)), Err(DeleteOutcome::Active));
    let (expected, actual) = (Version(row.version.0 - 1), row.version);
    let conflict = Err(DeleteOutcome::VersionConflict { expected, actual });
    assert_eq!(row.delete(Deletion::FORCE.at(expected), at(1)), conflict);
    assert_eq!(row.delete(Deletion::UNLESS_ACTIVE.at(expected), at(1)), Err(DeleteOutcome::Active));
    assert_eq!(row.delete(other.at(expected), at(1)), Err(DeleteOutcome::NotFound));
    assert!(row.delete(Deletion::FORCE.at(actual), at(1)).is_ok());
    let left = row.delete(Deletion::FORCE.of(row.incarnation), at(1)).expect("deleted");
    let (life, again) = (Incarnation(Uuid::from_u128(2)), OperationId::new("again").unwrap());
    assert!(left.names(row.incarnation, &again) && left.names(life, &row.created_by));
    assert!(!left.names(life, &again));
    let stands = at(1).after(TOMBSTONE_STANDS);
    assert!(!left.is_old(stands) && left.is_old(stands.after(Duration::from_millis(1))));

    let operation = row.created_by.clone();
    assert!(was_deleted(&operation, None, true) && !was_deleted(&operation, None, false));
    assert!(!was_deleted(&operation, Some(&row), true), "its own session is there");
    row.created_by = again;
    assert!(was_deleted(&operation, Some(&row), true) && !was_deleted(&operation, Some(&row), false));
}

#[test]
fn what_names_another_life_finds_nothing() {
    let mut row = row();
    row.status = SessionStatus::Failed;
    let before = row.clone();
    let other = Some(Incarnation(Uuid::from_u128(2)));
    let stop = crate::Interrupt {
        id: crate::ids::InterruptId::new("i").unwrap(),
        kind: InterruptKind::Abort,
        reason: String::new(),
        at: at(0),
        incarnation: other,
    };
    assert_eq!(row.request_interrupt(stop, at(1)), crate::InterruptOutcome::NotFound);
    let cas = crate::StatusCas {
        incarnation: other,
        expected_version: row.version,
        to: SessionStatus::Suspended,
        items: vec![],
    };
    assert_eq!(row.compare_and_set(&cas, at(1)), crate::CasOutcome::NotFound);
    assert_eq!(row, before);
}

#[test]
fn a_takeover_that_is_given_back_stays_due_and_its_fence_is_over() {
    let row = claimed(row(), at(0));
    let mut row = claimed(row, at(10_000));
    assert_eq!(row.attempts, 1);
    let fence = row.fence();
    row.apply(&commit(Some(Release::GiveBack { alarm: None })), &CommitFacts::default(), at(10_001))
        .expect("applied");
    assert_eq!((row.status, row.alarm), (SessionStatus::Active, Some(at(10_001))));
    assert!(!row.admits(&fence));
    assert!(row.claimable(None, at(10_001)).is_ok());
}

#[test]
fn a_commit_extends_the_lease_only_below_half() {
    let mut row = claimed(row(), at(0));
    row.apply(&commit(None), &CommitFacts::default(), at(5_000)).expect("applied");
    assert_eq!(row.alarm, Some(at(10_000)));
    row.apply(&commit(None), &CommitFacts::default(), at(5_001)).expect("applied");
    assert_eq!(row.alarm, Some(at(15_001)));
}

#[test]
fn the_first_run_of_a_fork_has_no_parent_whatever_status_it_rests_with() {
    let source = claimed(row(), at(0));
    let checkpoint = source.checkpoint(Payload::new("state"), at(1));
    for status in [SessionStatus::Idle, SessionStatus::Interrupted, SessionStatus::Failed] {
        let new = crate::NewFork {
            source: source.incarnation,
            key: source.key.clone(),
            incarnation: Incarnation(Uuid::from_u128(2)),
            operation: OperationId::new("fork").unwrap(),
            queue: source.queue.clone(),
            labels: Labels::default(),
            definition: Payload::new(""),
            status,
            state: crate::NewState { format: StateFormat(1), payload: Payload::new("state") },
            messages: vec![],
            events: vec![],
        };
        let mut fork = SessionRow::fork(&checkpoint, &new, at(2));
        let worker = || WorkerId::new("w").unwrap();
        let first = fork.claim(RunId::new("r1").unwrap(), worker(), LEASE, at(3));
        assert_eq!((first.parent, fork.epoch), (None, Epoch(2)), "{status}");
        let second = fork.claim(RunId::new("r2").unwrap(), worker(), LEASE, at(60_000));
        assert_eq!(second.parent, Some(Epoch(2)), "{status}");
    }
}

#[test]
fn the_first_result_of_a_call_wins_and_is_written_once() {
    let row = claimed(row(), at(0));
    let result = |call: &str, text: &str| StagedResult {
        call: crate::ids::CallId::new(call).unwrap(),
        payload: Payload::new(text.to_owned()),
    };
    let staging = |results: Vec<StagedResult>| Staging { results, starts: vec![] };
    let there = [result("a", "1")];
    let asked = staging(vec![result("a", "1"), result("b", "2"), result("b", "2")]);
    assert_eq!(row.stage(&row.fence(), &asked, &there), Ok(vec![&result("b", "2")]));
    for other in [result("a", "2"), result("b", "3")] {
        let conflict = StageOutcome::Conflict { call: other.call.clone() };
        let asked = staging(vec![result("b", "2"), other]);
        assert_eq!(row.stage(&row.fence(), &asked, &there), Err(conflict));
    }
    let old = Fence { epoch: Epoch(0), ..row.fence() };
    assert_eq!(row.stage(&old, &asked, &there), Err(StageOutcome::StaleFence));
}
