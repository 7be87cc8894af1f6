//! Tests every reason with a session that is stuck for that reason alone.

use holdover_core::error::ErrorInfo;
use holdover_core::ids::{
    CallId, Epoch, EventSeq, InboxSeq, Incarnation, InterruptId, MessageSeq, PendingId, QueueLabel,
    SessionId, SessionKey, StateFormat, StepNumber, TenantId, Version, WorkerId,
};
use holdover_core::machine::{AgentState, Batch, Call, DoneReason, Machine, Usage};
use holdover_core::payload::Payload;
use holdover_core::store::{Interrupt, InterruptKind, Labels, Lease, PendingKind, Staged};

use super::*;

const NOW: Timestamp = Timestamp::from_ms(100_000);
const PATIENT: Timestamp = Timestamp::from_ms(40_000);
const OVERDUE: Timestamp = Timestamp::from_ms(40_000);
const RECENT: Timestamp = Timestamp::from_ms(40_001);

fn session(status: SessionStatus) -> Session {
    Session {
        key: SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap()),
        incarnation: Incarnation(uuid::Uuid::from_u128(7)),
        status,
        version: Version(1),
        epoch: Epoch(1),
        queue: QueueLabel::new("q").unwrap(),
        labels: Labels::default(),
        definition: Payload::new("{}"),
        format: STATE_FORMAT,
        state: None,
        last_message: MessageSeq(0),
        last_event: EventSeq(0),
        last_item: InboxSeq(0),
        unread: 0,
        inbox_seen: InboxSeq(0),
        alarm: None,
        lease: None,
        interrupt: None,
        attempts: 0,
        staged: Staged::default(),
        created_at: Timestamp::from_ms(0),
        updated_at: Timestamp::from_ms(0),
    }
}

fn failed_with(error: Option<ErrorInfo>) -> Session {
    let ending = Ending { error, ..Ending::of(DoneReason::Error) };
    let machine =
        Machine { state: AgentState::Done { ending, usage: Usage::default() }, ..Machine::default() };
    Session { state: Some(Payload::json(&machine).unwrap()), ..session(SessionStatus::Failed) }
}

fn pending(deadline: Timestamp) -> PendingCall {
    let Session { key, incarnation, .. } = session(SessionStatus::Suspended);
    let call = CallId::new("c1-0").unwrap();
    PendingCall {
        key,
        incarnation,
        id: PendingId::of(incarnation, &call, 1).unwrap(),
        call,
        kind: PendingKind::Approval,
        needed: 1,
        answered: 0,
        last_answer: InboxSeq(0),
        deadline: Some(deadline),
        opened_at: Timestamp::from_ms(0),
        body: Payload::new("{}"),
    }
}

/// Returns the reason, and the first words of the commands that help.
fn reason(session: &Session, pending: &[PendingCall]) -> Option<(&'static str, Vec<&'static str>)> {
    reason_of(session, pending, &Maker::Own)
}

fn reason_of(
    session: &Session,
    pending: &[PendingCall],
    maker: &Maker,
) -> Option<(&'static str, Vec<&'static str>)> {
    let found = examine(&Case { session, pending, maker, now: NOW, patient: PATIENT })?;
    assert!(!found.detail.is_empty() && !found.detail.contains('\n'), "{found:?}");
    Some((found.reason, found.help.iter().map(|help| help.words[0]).collect()))
}

#[test]
fn what_cannot_be_read_is_named_and_nothing_is_advised() {
    let newer = Session { format: StateFormat(STATE_FORMAT.0 + 1), ..session(SessionStatus::Idle) };
    assert_eq!(reason(&newer, &[]), Some(("newer_format", Vec::new())));
    let broken = Session { state: Some(Payload::new("{")), ..session(SessionStatus::Suspended) };
    assert_eq!(reason(&broken, &[]), Some(("unreadable", Vec::new())));
}

/// Requirements: C03.
#[test]
fn a_session_that_was_set_aside_is_told_with_the_list_of_letters() {
    let broken = Session { state: Some(Payload::new("{")), ..session(SessionStatus::Failed) };
    assert_eq!(reason(&broken, &[]), Some(("unreadable", vec!["dead"])));
    let mut machine = Machine::default();
    machine.turn.open = true;
    let open = Session { state: Some(Payload::json(&machine).unwrap()), ..session(SessionStatus::Failed) };
    assert_eq!(reason(&open, &[]), Some(("set_aside", vec!["dead"])));
}

#[test]
fn a_session_that_kills_its_runs_is_told_from_one_that_failed() {
    let poisoned = failed_with(Some(ErrorInfo::new("engine.poisoned", "taken over 5 times")));
    assert_eq!(reason(&poisoned, &[]), Some(("poisoned", vec!["sessions", "retry"])), "look before you try");
    let failed = failed_with(Some(ErrorInfo::new("model.network", "gone")));
    assert_eq!(reason(&failed, &[]), Some(("failed", vec!["retry", "sessions"])));
    assert_eq!(reason(&failed_with(None), &[]), Some(("failed", vec!["retry", "sessions"])));
}

#[test]
fn what_waits_for_nothing_is_stuck_and_what_waits_for_somebody_is_not() {
    let waits = session(SessionStatus::Suspended);
    assert_eq!(reason(&waits, &[]), Some(("nothing_wakes_it", vec!["resume"])));
    assert_eq!(reason(&waits, &[pending(RECENT)]), None);
    let call = serde_json::json!({
        "id": "c1-0", "tool": "wait_for", "arguments": 1, "state": { "is": "awaiting_signal", "name": "paid" },
    });
    let call: Call = serde_json::from_value(call).unwrap();
    let batch = Batch::new(StepNumber(1), MessageSeq(1), vec![call]);
    let machine = Machine { state: AgentState::Confirming { batch }, ..Machine::default() };
    let for_signal = Session { state: Some(Payload::json(&machine).unwrap()), ..waits.clone() };
    assert_eq!(reason(&for_signal, &[]), None, "a signal needs no pending call");
    let with_alarm = Session { alarm: Some(RECENT), ..waits };
    assert_eq!(reason(&with_alarm, &[]), None);
}

#[test]
fn nothing_is_stuck_before_patience_ends() {
    let lease = |ends| Some(Lease { worker: WorkerId::new("w").unwrap(), ends, granted_ms: 1_000 });
    let active = |ends| Session { lease: lease(ends), ..session(SessionStatus::Active) };
    assert_eq!(reason(&active(OVERDUE), &[]), Some(("lease_ended", vec!["work", "resume"])));
    assert_eq!(reason(&active(RECENT), &[]), None);

    let suspended = session(SessionStatus::Suspended);
    assert_eq!(reason(&suspended, &[pending(OVERDUE)]), Some(("deadline_passed", vec!["work", "resume"])));

    for (status, help) in
        [(SessionStatus::Suspended, vec!["work", "resume"]), (SessionStatus::Idle, vec!["work"])]
    {
        let due = |alarm| Session { alarm: Some(alarm), ..session(status) };
        assert_eq!(reason(&due(OVERDUE), &[]), Some(("due", help)));
        assert_eq!(reason(&due(RECENT), &[]), None);
    }

    let asked = |at| {
        let (id, kind) = (InterruptId::new("i").unwrap(), InterruptKind::Soft);
        Session {
            interrupt: Some(Interrupt { id, incarnation: None, kind, reason: String::new(), at }),
            ..active(RECENT)
        }
    };
    assert_eq!(reason(&asked(OVERDUE), &[]), Some(("interrupt_waits", vec!["interrupt", "work"])));
    assert_eq!(reason(&asked(RECENT), &[]), None);
}

#[test]
fn what_is_over_or_rests_is_not_stuck() {
    for status in
        [SessionStatus::Idle, SessionStatus::Interrupted, SessionStatus::Aborted, SessionStatus::Active]
    {
        assert_eq!(reason(&session(status), &[]), None, "{status}");
    }
}

#[test]
fn what_a_wrong_clock_put_off_is_named() {
    let day = Duration::from_secs(24 * 60 * 60);
    let year = day * 366;
    let due = |at| Session { alarm: Some(at), ..session(SessionStatus::Idle) };
    let late = Some(("due_too_late", vec!["resume"]));
    assert_eq!(reason(&due(NOW.after(day)), &[]), None, "it waits as it should");
    assert_eq!(reason(&due(NOW.after(year)), &[]), None, "as long as anything waits");
    assert_eq!(reason(&due(NOW.after(year + day)), &[]), late);
    let later = Session { unread: 1, ..due(NOW.after(year + day)) };
    assert_eq!(reason(&later, &[]), None, "a message for later may be due in years");
    let ahead = NOW.after(year * 10);
    assert_eq!(reason(&Session { created_at: ahead, ..due(NOW.after(day)) }, &[]), late);
    assert_eq!(reason(&Session { updated_at: ahead, ..due(NOW.after(day)) }, &[]), late);
    let rests = Session { created_at: ahead, updated_at: ahead, ..session(SessionStatus::Idle) };
    assert_eq!(reason(&rests, &[]), None, "nothing waits for it");

    let held = |ends| {
        let lease = Some(Lease { worker: WorkerId::new("w").unwrap(), ends, granted_ms: 1_000 });
        Session { lease, alarm: Some(ends), ..session(SessionStatus::Active) }
    };
    assert_eq!(reason(&held(NOW.after(day)), &[]), None);
    assert_eq!(reason(&held(ahead), &[]), Some(("lease_too_long", vec!["sessions", "sessions"])));
}

#[test]
fn for_a_session_of_another_program_nothing_is_advised_that_this_one_cannot_do() {
    let till = Maker::Other(Some("till".to_owned()));
    let due = Session { alarm: Some(OVERDUE), ..session(SessionStatus::Suspended) };
    assert_eq!(reason_of(&due, &[], &till), Some(("due", vec!["sessions"])));
    let found =
        examine(&Case { session: &due, pending: &[], maker: &till, now: NOW, patient: PATIENT }).unwrap();
    assert!(found.detail.contains("is till running?"), "{found:?}");
    let lease = Some(Lease { worker: WorkerId::new("w").unwrap(), ends: OVERDUE, granted_ms: 1_000 });
    let died = Session { lease, ..session(SessionStatus::Active) };
    assert_eq!(reason_of(&died, &[], &till), Some(("lease_ended", vec!["sessions"])));
    let waits = session(SessionStatus::Suspended);
    assert_eq!(reason_of(&waits, &[], &till), Some(("nothing_wakes_it", vec!["sessions"])));
    assert_eq!(reason_of(&waits, &[pending(OVERDUE)], &till), Some(("deadline_passed", vec!["sessions"])));
    assert_eq!(reason_of(&failed_with(None), &[], &till), Some(("failed", vec!["retry", "sessions"])));
    assert_eq!(failed(&till, None).help[0], RETRY_ELSEWHERE, "its workers do it");

    let older = Maker::Older(QueueLabel::new("clerk").unwrap());
    let found =
        examine(&Case { session: &due, pending: &[], maker: &older, now: NOW, patient: PATIENT }).unwrap();
    assert_eq!(found.help, [WORK_QUEUE, RESUME]);
}

#[test]
fn what_is_kept_in_plain_is_looked_at_without_the_key() {
    let encoding = Encoding::Encrypted { key: 7 };
    let look = |session: &Session, pending: &[PendingCall]| {
        let case = Case { session, pending, maker: &Maker::Own, now: NOW, patient: PATIENT };
        examine_encoded(&case, encoding).map(|found| {
            assert!(found.detail.ends_with("(encrypted, key 7 is not here)"), "{}", found.detail);
            assert_eq!(found.help, [], "nothing that goes on with it works here");
            found.reason
        })
    };
    let encoded = |status| Session {
        definition: Payload::new([0xFA, 0, 0, 0, 7].as_slice()),
        state: Some(Payload::new([0xFA, 0, 0, 0, 7].as_slice())),
        ..session(status)
    };
    let lease = |ends| Some(Lease { worker: WorkerId::new("w").unwrap(), ends, granted_ms: 30_000 });
    for status in [SessionStatus::Idle, SessionStatus::Active, SessionStatus::Suspended] {
        assert_eq!(look(&encoded(status), &[]), None, "{status:?}");
    }
    let late = |status| Session { alarm: Some(OVERDUE), ..encoded(status) };
    let dead = Session { lease: lease(OVERDUE), ..encoded(SessionStatus::Active) };
    let poisoned = Session { attempts: ATTEMPTS_MAX, ..dead.clone() };
    let newer = Session { format: StateFormat(STATE_FORMAT.0 + 1), ..encoded(SessionStatus::Idle) };
    assert_eq!(look(&late(SessionStatus::Idle), &[]), Some("due"));
    assert_eq!(look(&late(SessionStatus::Suspended), &[]), Some("due"));
    assert_eq!(look(&encoded(SessionStatus::Suspended), &[pending(OVERDUE)]), Some("deadline_passed"));
    assert_eq!(look(&dead, &[]), Some("lease_ended"));
    assert_eq!(look(&poisoned, &[]), Some("poisoned"));
    assert_eq!(look(&encoded(SessionStatus::Failed), &[]), Some("failed"));
    assert_eq!(look(&newer, &[]), Some("newer_format"));
}
