//! Tests of the rules for commits, and for the alarm that a release sets.

use super::*;
use crate::ids::{CallId, InterruptId, PendingId};
use crate::{NewMessage, NewPending, NewState, OutcomeKind, PendingKind, RunEnd, StreamId};

fn call(name: &str) -> CallId {
    CallId::new(name).unwrap()
}

fn pending(name: &str) -> PendingId {
    PendingId::new(name).unwrap()
}

fn staged(name: &str, text: &'static str) -> StagedResult {
    StagedResult { call: call(name), payload: Payload::new(text) }
}

fn opened(name: &str) -> NewPending {
    NewPending {
        id: pending(name),
        call: call("c"),
        kind: PendingKind::Approval,
        needed: 1,
        deadline: None,
        body: Payload::new(""),
    }
}

/// Returns a session held by its first run, with ten items, of which the run has read five.
fn held() -> SessionRow {
    SessionRow { last_item: InboxSeq(10), unread: 10, inbox_seen: InboxSeq(5), ..claimed(row(), at(0)) }
}

fn refused(commit: &Commit, facts: &CommitFacts, expect: CommitOutcome) {
    let before = held();
    let mut row = before.clone();
    assert_eq!(row.apply(commit, facts, at(1)), Err(expect));
    assert_eq!(row, before, "nothing has changed");
}

fn applied(commit: &Commit, facts: &CommitFacts) -> SessionRow {
    let mut row = held();
    row.apply(commit, facts, at(1)).expect("applied");
    row
}

#[test]
fn a_commit_counts_what_it_appends_and_consumes() {
    let text = || Payload::new("x");
    let facts = CommitFacts {
        staged: vec![staged("a", "1")],
        consumable: vec![InboxSeq(1), InboxSeq(4)],
        unseen: Unseen { counted: 3, urgent: true },
        ..CommitFacts::default()
    };
    let all = Commit {
        state: Some(NewState { format: StateFormat(7), payload: text() }),
        messages: vec![NewMessage::Inline(text()), NewMessage::Promote(call("a"))],
        events: vec![text(), text(), text()],
        consumed: vec![InboxSeq(1), InboxSeq(4)],
        inbox_seen: Some(InboxSeq(8)),
        ..commit(None)
    };
    let before = held();
    let mut row = before.clone();
    let receipt = row.apply(&all, &facts, at(1)).expect("applied");
    let said = Receipt {
        version: Version(3),
        last_message: MessageSeq(2),
        last_item: InboxSeq(10),
        unread: 8,
        interrupt: false,
        now: at(1),
        lease_ends: at(10_000),
    };
    assert_eq!(receipt, said);
    let last = LastCommit { operation: all.operation.clone(), epoch: Epoch(1), receipt };
    let expected = SessionRow {
        version: Version(3),
        format: StateFormat(7),
        last_message: MessageSeq(2),
        last_event: EventSeq(3),
        unread: 8,
        inbox_seen: InboxSeq(8),
        unseen: facts.unseen,
        last_commit: Some(last),
        updated_at: at(1),
        ..before
    };
    assert_eq!(row, expected);
    assert_eq!(applied(&commit(None), &CommitFacts::default()).format, StateFormat(1), "without a state");
}

#[test]
fn what_a_run_has_seen_never_falls_and_reaches_no_further_than_the_newest_item() {
    for (named, seen) in [(None, 5), (Some(4), 5), (Some(5), 5), (Some(10), 10), (Some(11), 10)] {
        let commit = Commit { inbox_seen: named.map(InboxSeq), ..commit(None) };
        assert_eq!(applied(&commit, &CommitFacts::default()).inbox_seen, InboxSeq(seen), "{named:?}");
    }
}

#[test]
fn items_are_consumed_once_and_only_those_that_are_there_and_seen() {
    let facts =
        CommitFacts { consumable: vec![InboxSeq(2), InboxSeq(5), InboxSeq(6)], ..CommitFacts::default() };
    let consume =
        |items: &[u64]| Commit { consumed: items.iter().copied().map(InboxSeq).collect(), ..commit(None) };
    assert_eq!(applied(&consume(&[5, 2]), &facts).unread, 8);
    for (items, bad) in [(&[6][..], 6), (&[3], 3), (&[2, 2], 2), (&[5, 6], 6)] {
        refused(&consume(items), &facts, CommitOutcome::NotInInbox { seq: InboxSeq(bad) });
    }
    let seen = Commit { inbox_seen: Some(InboxSeq(6)), ..consume(&[6]) };
    assert_eq!(applied(&seen, &facts).unread, 9);
}

#[test]
fn a_result_is_promoted_once_and_only_if_it_is_staged() {
    let facts = CommitFacts { staged: vec![staged("a", "1")], ..CommitFacts::default() };
    let promote = |calls: &[&str]| Commit {
        messages: calls.iter().map(|name| NewMessage::Promote(call(name))).collect(),
        ..commit(None)
    };
    assert_eq!(applied(&promote(&["a"]), &facts).last_message, MessageSeq(1));
    for (calls, bad) in [(&["b"][..], "b"), (&["a", "a"], "a"), (&["a", "b"], "b")] {
        refused(&promote(calls), &facts, CommitOutcome::NotStaged { call: call(bad) });
    }
}

#[test]
fn what_a_commit_stages_is_the_first_result_of_its_call() {
    let facts = CommitFacts { staged: vec![staged("a", "1")], ..CommitFacts::default() };
    let stage = |results: Vec<StagedResult>| Commit { stage: results, ..commit(None) };
    applied(&stage(vec![staged("a", "1"), staged("b", "2"), staged("b", "2")]), &facts);
    refused(&stage(vec![staged("a", "2")]), &facts, CommitOutcome::StageConflict { call: call("a") });
    let twice = stage(vec![staged("b", "2"), staged("b", "3")]);
    refused(&twice, &facts, CommitOutcome::StageConflict { call: call("b") });
}

#[test]
fn a_pending_call_is_closed_only_while_open_and_with_every_answer_seen() {
    let answered =
        |seq| CommitFacts { pending: vec![(pending("p"), InboxSeq(seq))], ..CommitFacts::default() };
    let close = |name: &str| Commit { close: vec![pending(name)], ..commit(None) };
    applied(&close("p"), &answered(0));
    applied(&close("p"), &answered(5));
    refused(&close("p"), &answered(6), CommitOutcome::AnswerWaiting { pending: pending("p") });
    applied(&Commit { inbox_seen: Some(InboxSeq(6)), ..close("p") }, &answered(6));
    refused(&close("q"), &answered(0), CommitOutcome::PendingConflict { pending: pending("q") });
}

#[test]
fn the_id_of_a_pending_call_is_good_once() {
    let used = CommitFacts { pending: vec![(pending("p"), InboxSeq(0))], ..CommitFacts::default() };
    let open = |ids: &[&str]| Commit { open: ids.iter().map(|id| opened(id)).collect(), ..commit(None) };
    applied(&open(&["q", "r"]), &used);
    for (ids, bad) in [(&["p"][..], "p"), (&["q", "q"], "q"), (&["q", "p"], "p")] {
        refused(&open(ids), &used, CommitOutcome::PendingConflict { pending: pending(bad) });
    }
}

#[test]
fn a_commit_that_names_another_version_is_refused_and_told_which_there_is() {
    let row = held();
    for expected in [Version(1), Version(3)] {
        let other = Commit { expected_version: Some(expected), ..commit(None) };
        let conflict = CommitOutcome::VersionConflict { expected, actual: Version(2) };
        assert_eq!(row.admit(&row.fence(), &other), Some(conflict));
    }
    let right = Commit { expected_version: Some(Version(2)), ..commit(None) };
    assert_eq!((row.admit(&row.fence(), &right), row.admit(&row.fence(), &commit(None))), (None, None));
}

#[test]
fn only_the_same_commit_of_the_same_run_and_life_is_a_repeat() {
    let mut row = held();
    let receipt = row.apply(&commit(None), &CommitFacts::default(), at(1)).expect("applied");
    let fence = row.fence();
    assert_eq!(row.admit(&fence, &commit(None)), Some(CommitOutcome::Committed(receipt)));
    let other = Commit { operation: OperationId::new("d").unwrap(), ..commit(None) };
    assert_eq!(row.admit(&fence, &other), None);
    let life = Fence { incarnation: Incarnation(Uuid::from_u128(2)), ..fence.clone() };
    let stale = |applied| Some(CommitOutcome::StaleFence { applied });
    assert_eq!(row.admit(&life, &commit(None)), stale(Applied::Unknown));

    let row = claimed(row, at(10_000));
    assert_eq!(row.admit(&row.fence(), &commit(None)), None, "a new run may use the id again");
    assert_eq!(row.admit(&fence, &commit(None)), stale(Applied::Yes));
    assert_eq!(row.was_applied(&life, &commit(None)), Applied::Unknown);
    let never = claimed(super::row(), at(0));
    assert_eq!(never.was_applied(&never.fence(), &commit(None)), Applied::No, "nobody has committed");
}

#[test]
fn a_confirmed_stop_is_over_if_it_is_the_one_that_waits() {
    let held = || SessionRow {
        interrupt: Some(stop("i", InterruptKind::Soft)),
        interrupt_handed_to: Some(Epoch(1)),
        ..held()
    };
    let confirm = |id: Option<&str>| {
        let confirmed =
            Commit { interrupt_confirmed: id.map(|id| InterruptId::new(id).unwrap()), ..commit(None) };
        let mut row = held();
        let receipt = row.apply(&confirmed, &CommitFacts::default(), at(1)).expect("applied");
        (row.interrupt.is_some(), row.interrupt_handed_to, receipt.interrupt)
    };
    assert_eq!(confirm(Some("i")), (false, None, false));
    for other in [None, Some("j")] {
        assert_eq!(confirm(other), (true, Some(Epoch(1)), true), "{other:?}");
    }
}

#[test]
fn a_run_is_over_when_a_commit_says_so_and_a_stream_when_its_message_is_there() {
    let mut row = held();
    let stream = |number| Stream { id: StreamId { run: Epoch(1), number }, last: 2, open: true };
    row.stream = stream(2);
    let one = |streamed, run| Commit { streamed, run, ..commit(None) };
    let mut after = |commit: &Commit| {
        row.apply(commit, &CommitFacts::default(), at(1)).expect("applied");
        (row.stream, row.run_open)
    };
    assert_eq!(after(&one(None, None)), (stream(2), true));
    assert_eq!(after(&one(Some(1), None)), (stream(2), true), "an earlier one");
    let ended = Stream { open: false, ..stream(2) };
    assert_eq!(after(&one(Some(2), None)), (ended, true));
    let later = Stream { last: 0, open: false, ..stream(3) };
    let end = RunEnd { outcome: OutcomeKind::Completed, detail: Payload::new("") };
    assert_eq!(after(&one(Some(3), Some(end))), (later, false), "what comes late of it is refused");
}

/// Releases the session at 5 and returns its alarm and its row.
fn alarm_after(release: Release, unseen: Unseen, waits: Option<InterruptKind>) -> (Option<i64>, SessionRow) {
    let mut row = SessionRow { interrupt: waits.map(|kind| stop("i", kind)), ..held() };
    row.stream.open = true;
    let facts = CommitFacts { unseen, ..CommitFacts::default() };
    let receipt = row.apply(&commit(Some(release)), &facts, at(5)).expect("applied");
    assert_eq!((receipt.lease_ends, row.lease.is_none(), row.stream.open), (at(5), true, false));
    (row.alarm.map(Timestamp::as_ms), row)
}

#[test]
fn no_wake_up_is_lost_at_a_release() {
    use SessionStatus::{Failed, Idle, Interrupted, Suspended};
    let check = |status, wake_on, (counted, urgent), expect: i64| {
        let release = Release::To { status, deadline: Some(at(9)), wake_on };
        let (alarm, row) = alarm_after(release, Unseen { counted, urgent }, None);
        assert_eq!((alarm, row.status, row.wake_on), (Some(expect), status, wake_on), "{counted} {urgent}");
    };
    check(Suspended, 0, (0, false), 9);
    check(Suspended, 0, (3, false), 9);
    check(Suspended, 0, (0, true), 5);
    check(Suspended, 2, (1, false), 9);
    check(Suspended, 2, (2, false), 5);
    check(Suspended, 2, (3, false), 5);
    for rest in [Idle, Interrupted, Failed] {
        check(rest, 2, (0, false), 9);
        check(rest, 2, (1, false), 5);
        check(rest, 2, (0, true), 5);
    }
}

#[test]
fn a_stop_that_waits_wakes_at_once_and_the_end_of_a_turn_drops_a_soft_one() {
    use InterruptKind::{Abort, Soft};
    let check = |status, kind, waits, expect: Option<i64>| {
        let release = Release::To { status, deadline: Some(at(9)), wake_on: 0 };
        let (alarm, row) = alarm_after(release, Unseen::default(), Some(kind));
        assert_eq!((row.interrupt.is_some(), alarm), (waits, expect), "{status} {kind:?}");
    };
    check(SessionStatus::Suspended, Soft, true, Some(5));
    check(SessionStatus::Suspended, Abort, true, Some(5));
    for rest in [SessionStatus::Idle, SessionStatus::Interrupted, SessionStatus::Failed] {
        check(rest, Soft, false, Some(9));
        check(rest, Abort, true, Some(5));
    }
    check(SessionStatus::Aborted, Soft, false, None);
    check(SessionStatus::Aborted, Abort, false, None);
    let release = Release::To { status: SessionStatus::Aborted, deadline: Some(at(9)), wake_on: 0 };
    let (alarm, _) = alarm_after(release, Unseen { counted: 1, urgent: true }, None);
    assert_eq!(alarm, None, "nothing wakes what has ended for ever");
}

#[test]
fn what_is_given_back_is_as_it_was_found_and_due_when_wanted() {
    let check = |found, alarm: Option<i64>, unseen, waits, expect: Option<i64>| {
        let mut row = SessionRow { found, wake_on: 2, interrupt: waits, ..held() };
        row.stream.open = true;
        let facts = CommitFacts { unseen, ..CommitFacts::default() };
        let back = commit(Some(Release::GiveBack { alarm: alarm.map(at) }));
        row.apply(&back, &facts, at(5)).expect("applied");
        assert_eq!((row.alarm.map(Timestamp::as_ms), row.status), (expect, found));
        assert_eq!((row.lease.is_none(), row.stream.open, row.wake_on), (true, false, 2));
    };
    let counted = |counted| Unseen { counted, urgent: false };
    let soft = || Some(stop("i", InterruptKind::Soft));
    check(SessionStatus::Active, None, counted(0), None, Some(5));
    check(SessionStatus::Active, Some(9), counted(0), None, Some(9));
    check(SessionStatus::Suspended, None, counted(1), None, None);
    check(SessionStatus::Suspended, Some(9), counted(1), None, Some(9));
    check(SessionStatus::Suspended, Some(9), counted(2), None, Some(5));
    check(SessionStatus::Suspended, Some(9), counted(0), soft(), Some(5));
    for rest in [SessionStatus::Idle, SessionStatus::Interrupted, SessionStatus::Failed] {
        check(rest, Some(9), counted(0), None, Some(9));
        check(rest, None, counted(0), None, None);
        check(rest, Some(9), counted(1), None, Some(5));
    }
}
