//! Tests of the rules for deliveries and interrupts.

use super::*;
use crate::ids::{InterruptId, ItemKey, KindName, PendingId};
use crate::{Delivery, InterruptCheck, InterruptOutcome};

fn item(kind: ItemKind, incarnation: Option<Incarnation>) -> InboxItem {
    InboxItem { key: ItemKey::new("k").unwrap(), kind, incarnation, payload: Payload::new("m") }
}

fn answer(settles: bool, incarnation: Option<Incarnation>) -> InboxItem {
    item(ItemKind::Answer { pending: PendingId::new("p").unwrap(), settles }, incarnation)
}

/// Checks the result of an answer to a pending call with these facts: either the number of answers that the call has
/// then and the wake of the item, or the refusal.
fn check_answer(facts: Option<PendingFacts>, settles: bool, expect: Result<(u32, Wake), Delivery>) {
    let before = SessionRow { status: SessionStatus::Suspended, wake_on: 1, ..row() };
    let mut row = before.clone();
    let arrival = row.accept(&answer(settles, Some(before.incarnation)), None, facts, at(5));
    let counted = arrival.clone().map(|arrival| (arrival.answered.expect("an answer"), arrival.wake));
    assert_eq!(counted, expect, "{facts:?}");
    match expect {
        Ok((_, wake)) => assert_eq!(row.alarm, (wake == Wake::Now).then_some(at(5)), "{facts:?}"),
        Err(_) => assert_eq!(row, before, "{facts:?}"),
    }
}

#[test]
fn an_answer_takes_a_slot_that_is_open_and_wakes_once_the_call_has_all() {
    let facts = |needed, answered, deadline: Option<i64>| {
        Some(PendingFacts { needed, answered, deadline: deadline.map(at) })
    };
    check_answer(None, false, Err(Delivery::NotPending));
    check_answer(facts(1, 0, None), false, Ok((1, Wake::Now)));
    check_answer(facts(3, 0, None), false, Ok((1, Wake::Quiet)));
    check_answer(facts(3, 1, None), false, Ok((2, Wake::Quiet)));
    check_answer(facts(3, 2, None), false, Ok((3, Wake::Now)));
    check_answer(facts(3, 3, None), false, Err(Delivery::AlreadyAnswered));
    check_answer(facts(3, 0, None), true, Ok((3, Wake::Now)));
    check_answer(facts(3, 3, None), true, Err(Delivery::AlreadyAnswered));
    check_answer(facts(1, 0, Some(6)), false, Ok((1, Wake::Now)));
    check_answer(facts(1, 0, Some(5)), false, Err(Delivery::NotPending));
    check_answer(facts(1, 0, Some(4)), true, Err(Delivery::NotPending));
}

#[test]
fn a_delivery_is_meant_for_one_life_and_an_answer_must_name_it() {
    let open = Some(PendingFacts { needed: 1, answered: 0, deadline: None });
    let before = row();
    let (own, other) = (Some(before.incarnation), Some(Incarnation(Uuid::from_u128(2))));
    let said = |incarnation| item(ItemKind::Message { wake: Wake::Now }, incarnation);
    for (item, is_in) in [
        (said(None), true),
        (said(own), true),
        (said(other), false),
        (answer(false, own), true),
        (answer(false, other), false),
        (answer(false, None), false),
    ] {
        let mut row = before.clone();
        let accepted = row.accept(&item, None, open, at(5));
        assert_eq!(accepted.is_ok(), is_in, "{item:?}");
        if let Err(refusal) = accepted {
            assert_eq!((refusal, &row), (Delivery::NotFound, &before), "{item:?}");
        }
    }
}

#[test]
fn a_key_is_good_for_one_content_for_ever() {
    let before = SessionRow { status: SessionStatus::Aborted, ..row() };
    let mut row = before.clone();
    let first = message(Wake::Now);
    let other = InboxItem { payload: Payload::new("other"), ..first.clone() };
    let seq = InboxSeq(3);
    let mut known = |item: &InboxItem| row.accept(item, Some((seq, first.digest())), None, at(5));
    assert_eq!(known(&first), Err(Delivery::Duplicate { seq }));
    assert_eq!(known(&message(Wake::Quiet)), Err(Delivery::Duplicate { seq }), "however it wakes");
    assert_eq!(known(&other), Err(Delivery::Conflict { seq }));
    let signal = item(ItemKind::Signal { wake: Wake::Now }, None);
    assert_eq!(known(&signal), Err(Delivery::Conflict { seq }), "it is another kind");
    assert_eq!(known(&answer(false, Some(before.incarnation))), Err(Delivery::Conflict { seq }));
    assert_eq!(row, before, "not even updated_at moves");
}

#[test]
fn an_answer_under_a_known_key_is_the_same_for_the_same_call_alone() {
    let to = |pending: &str, settles| {
        item(ItemKind::Answer { pending: PendingId::new(pending).unwrap(), settles }, None).digest()
    };
    assert_eq!(to("p", false), to("p", false));
    assert_ne!(to("p", false), to("q", false));
}

#[test]
fn what_is_accepted_gets_the_next_place_and_is_counted() {
    let before = SessionRow { last_item: InboxSeq(4), unread: 2, ..row() };
    for (wake, unseen) in [
        (Wake::Now, Unseen { counted: 0, urgent: true }),
        (Wake::Count, Unseen { counted: 1, urgent: false }),
        (Wake::Quiet, Unseen::default()),
    ] {
        let newer = ItemKind::Other { name: KindName::new("newer").unwrap(), wake };
        for kind in [ItemKind::Message { wake }, ItemKind::Signal { wake }, newer] {
            let mut row = before.clone();
            let arrival = row.accept(&item(kind, None), None, None, at(5));
            assert_eq!(arrival, Ok(Arrival { seq: InboxSeq(5), wake, answered: None }));
            let counted = SessionRow {
                last_item: InboxSeq(5),
                unread: 3,
                unseen,
                updated_at: at(5),
                alarm: (wake != Wake::Quiet).then_some(at(5)),
                ..before.clone()
            };
            assert_eq!(row, counted, "the version stays, and all else");
        }
    }
}

#[test]
fn what_wakes_a_session_depends_on_its_status() {
    use SessionStatus::{Aborted, Active, Failed, Idle, Interrupted, Suspended};
    // Takes the alarm before the item, and the expected alarm for each wake of an item that arrives at 5. `wake_on`
    // is 0.
    let check = |status, alarm: Option<i64>, expect: [Option<i64>; 3]| {
        let rings = [Wake::Now, Wake::Count, Wake::Quiet].map(|wake| {
            let mut row = SessionRow { status, alarm: alarm.map(at), ..row() };
            let accepted = row.accept(&message(wake), None, None, at(5));
            if status == Aborted {
                assert_eq!(accepted, Err(Delivery::Aborted));
            }
            row.alarm.map(Timestamp::as_ms)
        });
        assert_eq!(rings, expect, "{status}");
    };
    for status in [Idle, Interrupted, Failed] {
        check(status, None, [Some(5), Some(5), None]);
        check(status, Some(9), [Some(5), Some(5), Some(9)]);
        check(status, Some(3), [Some(3), Some(3), Some(3)]);
    }
    check(Suspended, Some(9), [Some(5), Some(9), Some(9)]);
    check(Active, Some(9), [Some(9), Some(9), Some(9)]);
    check(Aborted, None, [None, None, None]);
}

#[test]
fn unseen_items_reach_a_number_when_as_many_count_or_one_is_urgent() {
    let counted = |counted| Unseen { counted, urgent: false };
    assert!(!counted(0).reaches(0) && !counted(5).reaches(0), "0: none do");
    assert!(!counted(0).reaches(1) && counted(1).reaches(1) && counted(2).reaches(1));
    assert!(!counted(2).reaches(3) && counted(3).reaches(3));
    let urgent = Unseen { counted: 0, urgent: true };
    assert!(urgent.reaches(0) && urgent.reaches(3));
}

#[test]
fn a_stop_waits_beside_no_other_and_only_an_abort_replaces_a_soft_one() {
    use InterruptKind::{Abort, Soft};
    let already = |id: &str| InterruptOutcome::AlreadyWaiting { id: InterruptId::new(id).unwrap() };
    for status in [SessionStatus::Active, SessionStatus::Suspended] {
        for (waits, asked, outcome) in [
            (Soft, Soft, already("first")),
            (Soft, Abort, InterruptOutcome::Requested),
            (Abort, Soft, already("first")),
            (Abort, Abort, already("first")),
        ] {
            let waiting = stop("first", waits);
            let before = SessionRow {
                status,
                interrupt: Some(waiting),
                interrupt_handed_to: Some(Epoch(0)),
                alarm: Some(at(9)),
                ..row()
            };
            let mut row = before.clone();
            assert_eq!(row.request_interrupt(stop("second", asked), at(5)), outcome);
            if outcome != InterruptOutcome::Requested {
                assert_eq!(row, before);
                continue;
            }
            let alarm = if status == SessionStatus::Active { at(9) } else { at(5) };
            let replaced = SessionRow {
                interrupt: Some(stop("second", asked)),
                interrupt_handed_to: None,
                alarm: Some(alarm),
                updated_at: at(5),
                ..before
            };
            assert_eq!(row, replaced);
        }
    }
}

#[test]
fn a_session_at_rest_heeds_an_abort_alone_and_an_aborted_one_nothing() {
    for status in SessionStatus::ALL {
        for kind in [InterruptKind::Soft, InterruptKind::Abort] {
            let before = SessionRow { status, alarm: Some(at(3)), ..row() };
            let mut row = before.clone();
            let outcome = row.request_interrupt(stop("i", kind), at(5));
            let expected = match (status, kind) {
                (SessionStatus::Aborted, _) => InterruptOutcome::Aborted,
                (
                    SessionStatus::Idle | SessionStatus::Interrupted | SessionStatus::Failed,
                    InterruptKind::Soft,
                ) => InterruptOutcome::AtRest,
                (_, _) => InterruptOutcome::Requested,
            };
            assert_eq!(outcome, expected, "{status} {kind:?}");
            if outcome == InterruptOutcome::Requested {
                let asked = SessionRow { interrupt: Some(stop("i", kind)), updated_at: at(5), ..before };
                assert_eq!(row, asked, "an alarm that rings sooner stays");
            } else {
                assert_eq!(row, before, "{status} {kind:?}");
            }
        }
    }
}

#[test]
fn a_stop_is_handed_to_the_run_that_holds_the_session_and_goes_on_waiting() {
    let mut row = claimed(row(), at(0));
    let fence = row.fence();
    assert_eq!(row.hand_interrupt(&fence), InterruptCheck::Clear);
    assert_eq!(row.interrupt_handed_to, None);
    row.interrupt = Some(stop("i", InterruptKind::Soft));
    let old = Fence { epoch: Epoch(0), ..fence.clone() };
    assert_eq!(row.hand_interrupt(&old), InterruptCheck::StaleFence);
    assert_eq!(row.interrupt_handed_to, None);
    for _ in 0..2 {
        let waiting = InterruptCheck::Waiting(stop("i", InterruptKind::Soft));
        assert_eq!(row.hand_interrupt(&fence), waiting);
        assert_eq!(row.interrupt_handed_to, Some(Epoch(1)));
    }
}
