//! Approvals that need several people or named people, their escalation, and their expiry.
//!
//! Requirements: U05, B30.

use std::time::Duration;

use holdover_core::agent::OnDenial;
use holdover_core::engine::StepIterator;
use holdover_core::event::Event;
use holdover_core::gate::DeniedBy;
use holdover_core::machine::DoneReason;
use holdover_core::message::{DecisionRecord, Message, PendingBody, ResultStatus};
use holdover_core::payload::Digest;
use holdover_core::store::{OutcomeKind, PendingCall};

use crate::bench::Bench;
use crate::check;
use crate::world::{calls, text};

const TWO: &str = r#"edit:{"terms": {"approvers": {"names": ["ann", "bob", "eve"], "needed": 2}}}"#;

/// Creates a session whose only call waits for approval.
fn waiting(call: &str) -> (Bench, PendingCall) {
    let bench = Bench::new();
    bench.say("edit it");
    let mut run = bench.run();
    run.model(calls(&[call]));
    assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedClientTool);
    let asked = bench.asked();
    (bench, asked)
}

fn finish(bench: &Bench) {
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(text("done"));
    check::at_rest(bench);
}

fn decisions(bench: &Bench) -> Vec<DecisionRecord> {
    let decision = |message| match message {
        Message::Decision(record) => Some(record),
        _ => None,
    };
    bench.transcript().into_iter().filter_map(decision).collect()
}

fn names(bench: &Bench) -> Vec<Option<String>> {
    decisions(bench).into_iter().map(|record| record.decision.by).collect()
}

/// Starts a run, whether the session is due or not, and lets it suspend again.
fn look(bench: &Bench) {
    bench.start(bench.claim_now());
}

#[test]
fn u05_a_call_runs_when_as_many_as_needed_have_approved_it_and_each_is_a_record() {
    let (bench, asked) = waiting(TWO);
    assert_eq!(asked.needed, 2);
    assert!(bench.approve_as("ann", &asked).is_in());
    assert!(!bench.is_due(), "one of two wakes nobody");
    assert!(bench.approve_as("bob", &asked).is_in());
    finish(&bench);
    assert_eq!((bench.statuses(), bench.sent("c1-0")), (vec![ResultStatus::Done], 1));
    let body: PendingBody = asked.body.parse().unwrap();
    let records = decisions(&bench);
    assert_eq!(names(&bench), [Some("ann".into()), Some("bob".into())]);
    assert!(records.iter().all(|record| record.decision.saw == body.digest && record.pending == asked.id));
}

#[test]
fn u05_what_one_run_has_read_counts_in_the_next() {
    let (bench, asked) = waiting(TWO);
    bench.approve_as("ann", &asked);
    look(&bench);
    assert_eq!(names(&bench), [Some("ann".into())]);
    assert_eq!(bench.asked().id, asked.id, "it is the same asking");
    bench.approve_as("eve", &asked);
    finish(&bench);
    assert_eq!(bench.sent("c1-0"), 1);
}

#[test]
fn u05_nobody_counts_twice_and_nobody_who_may_not() {
    let (bench, asked) = waiting(TWO);
    bench.approve_as("ann", &asked);
    bench.approve_as("ann", &asked);
    let run = bench.run();
    assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedClientTool);
    let again = bench.asked();
    assert_ne!(again.id, asked.id);
    assert_eq!(again.needed, 1, "what ann said of these bytes stands");
    bench.approve_as("mallory", &again);
    drop(run);
    bench.run();
    let third = bench.asked();
    let body: PendingBody = third.body.parse().unwrap();
    assert_eq!(body.prompt.as_deref(), Some("mallory is none of those who may decide on this call"));
    bench.approve_as("bob", &third);
    finish(&bench);
    assert_eq!(names(&bench), [Some("ann".into()), Some("bob".into())]);
}

#[test]
fn u05_one_denial_denies() {
    let (bench, asked) = waiting(TWO);
    bench.approve_as("ann", &asked);
    bench.decide(&asked, |decision| (decision.approve, decision.by) = (false, Some("bob".into())));
    bench.run().model(text("a pity"));
    assert_eq!((bench.statuses(), bench.sent("c1-0")), (vec![ResultStatus::RejectedByUser], 0));
    check::at_rest(&bench);
}

#[test]
fn u05_an_edit_is_asked_about_anew_and_voids_what_was_approved_before() {
    let (bench, asked) = waiting(TWO);
    bench.approve_as("ann", &asked);
    let edited = TWO.strip_prefix("edit:").unwrap().replacen('{', r#"{"n": 1, "#, 1);
    bench.decide(&asked, |decision| {
        (decision.arguments, decision.by) = (Some(edited.clone()), Some("bob".into()));
    });
    bench.run();
    let again = bench.asked();
    let body: PendingBody = again.body.parse().unwrap();
    assert_ne!(again.id, asked.id);
    assert_eq!((body.arguments.as_str(), body.digest), (edited.as_str(), Digest::of(edited.as_bytes())));
    assert_eq!(again.needed, 1, "who changed them has approved them");
    // Ann saw other arguments, so she is asked like everyone else.
    bench.approve_as("ann", &again);
    finish(&bench);
    assert_eq!(bench.results()[0].edited_arguments.as_deref(), Some(edited.as_str()));
}

#[test]
fn u05_a_word_for_the_rest_of_the_session_is_not_enough_where_several_must_approve() {
    let bench = Bench::new();
    bench.say("edit it");
    bench.run().model(calls(&["edit"]));
    bench.approve_always(&bench.asked());
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(calls(&[TWO]));
    let asked = bench.asked();
    assert_eq!(asked.needed, 2);
    bench.decide(&asked, |decision| decision.always = true);
    drop(run);
    look(&bench);
    let note = decisions(&bench).pop().and_then(|record| record.note).unwrap();
    assert!(note.starts_with("approved this once"), "{note}");
}

#[test]
fn u05_more_people_may_answer_when_it_takes_long_and_the_alarm_tells() {
    let call = r#"edit:{"terms": {"approvers": {"names": ["ann"]}, "escalate": [{"after_ms": 60000, "to": ["eve"]}], "expires_after_ms": 100000}}"#;
    let (bench, asked) = waiting(call);
    assert_eq!(bench.alarm_in(), Some(Duration::from_secs(60)));
    assert_eq!(asked.deadline, Some(bench.clock_in(100)));
    bench.approve_as("eve", &asked);
    bench.run();
    let again = bench.asked();
    assert_ne!(again.id, asked.id, "it was too early for eve");
    bench.clock.pass(Duration::from_secs(60));
    bench.run();
    let escalated = |event: &Event| matches!(event, Event::Escalated { to, .. } if *to == ["eve"]);
    assert_eq!(check::events(&bench).iter().filter(|event| escalated(event)).count(), 1);
    assert_eq!(bench.asked().id, again.id, "the asking stands");
    assert_eq!(bench.alarm_in(), Some(Duration::from_secs(40)), "next comes the deadline");
    bench.approve_as("eve", &again);
    finish(&bench);
}

#[test]
fn u05_what_happens_at_the_deadline_is_said_with_the_asking() {
    let at_expiry = |what: &str| {
        format!(
            r#"edit:{{"terms": {{"approvers": {{"needed": 2}}, "expires_after_ms": 5000, "at_expiry": {what}}}}}"#
        )
    };
    for what in [r#""deny""#, r#"{"result": "nobody was there"}"#] {
        let (bench, asked) = waiting(&at_expiry(what));
        bench.approve_as("ann", &asked);
        bench.clock.pass(Duration::from_secs(5));
        bench.run().model(text("well"));
        assert_eq!(bench.sent("c1-0"), 0);
        let result = bench.results().remove(0);
        match what.contains("result") {
            true => {
                assert_eq!((result.status, result.content.as_str()), (ResultStatus::Done, "nobody was there"))
            }
            false => assert_eq!(result.status, ResultStatus::Error),
        }
        check::at_rest(&bench);
    }
    let (bench, _) = waiting(&at_expiry(r#""approve""#));
    bench.clock.pass(Duration::from_secs(5));
    finish(&bench);
    assert_eq!((bench.statuses(), bench.sent("c1-0")), (vec![ResultStatus::Done], 1));
    let [record] = decisions(&bench).try_into().unwrap();
    assert_eq!((record.decision.by, record.note.as_deref()), (None, Some("nobody decided in time")));
}

#[test]
fn u05_terms_that_nobody_can_meet_are_a_denial() {
    let bench = Bench::new();
    bench.say("edit it");
    let mut run = bench.run();
    run.model(calls(&[r#"edit:{"terms": {"approvers": {"names": ["ann"], "needed": 2}}}"#]));
    run.model(text("a pity"));
    let denial = bench.results().remove(0).denial.unwrap();
    assert_eq!(denial.denied_by, DeniedBy::GateUnavailable);
    check::at_rest(&bench);
}

/// Creates a session in which Ann denies the first of three calls. The second still waits for approval, and the third
/// has ended.
fn refused(on_denial: OnDenial, reason: Option<&str>) -> Bench {
    let bench = Bench::with(|agent| agent.on_denial = on_denial);
    bench.say("edit it");
    let mut run = bench.run();
    run.model(calls(&["edit", "wipe", "look"]));
    run.returns("c1-2", "seen");
    drop(run);
    let asked = bench.pending().into_iter().find(|pending| pending.call.as_str() == "c1-0").unwrap();
    bench.decide(&asked, |decision| {
        (decision.approve, decision.reason) = (false, reason.map(str::to_owned));
    });
    bench
}

#[test]
fn b30_a_plain_refusal_may_cancel_the_rest_or_end_the_turn_and_every_call_has_its_result() {
    use ResultStatus::{Cancelled, Done, Error, RejectedByUser};
    let bench = refused(OnDenial::GoOn, None);
    bench.run();
    assert_eq!(bench.asked().call.as_str(), "c1-1", "the other one is still asked about");

    let bench = refused(OnDenial::CancelRest, None);
    bench.run().model(text("a pity"));
    assert_eq!(bench.statuses(), [RejectedByUser, Cancelled, Done]);
    assert!(bench.results()[1].content.starts_with("cancelled (user:rejected)"));
    check::at_rest(&bench);

    let bench = refused(OnDenial::EndTurn, None);
    let run = bench.run();
    assert!(run.is_over(), "the model is not asked");
    assert_eq!(
        (bench.statuses(), bench.dones()),
        (vec![RejectedByUser, Cancelled, Done], vec![DoneReason::ToolStop])
    );
    drop(run);
    check::at_rest(&bench);
    bench.say("go on then");
    bench.run().model(text("so I do"));
    check::at_rest(&bench);

    // The reason of the denial is shown to the model.
    let bench = refused(OnDenial::EndTurn, Some("take the blue one"));
    bench.run();
    bench.deny(&bench.asked());
    assert_eq!(bench.statuses(), []);
    bench.run();
    assert_eq!(bench.statuses(), [Error, RejectedByUser, Done]);
}

/// Checks that the approvals are kept when the run that read them dies.
#[test]
fn u05_a_death_forgets_no_approval() {
    let (bench, asked) = waiting(TWO);
    bench.approve_as("ann", &asked);
    bench.approve_as("bob", &asked);
    let claim = bench.claim().expect("due");
    let steps = StepIterator::start(claim, bench.agent.clone(), bench.facts()).expect("it reads");
    drop(steps);
    bench.clock.pass(crate::bench::LEASE);
    finish(&bench);
    assert_eq!(names(&bench), [Some("ann".into()), Some("bob".into())]);
}

#[test]
fn u05_approvals_that_were_accepted_count_when_an_answer_beside_them_does_not() {
    let bytes = Some(Digest::of(b"other bytes"));
    for (saw, by) in [(None, "mallory"), (bytes, "eve")] {
        let (bench, asked) = waiting(TWO);
        let spoilt = bench.decide(&asked, |decision| {
            decision.by = Some(by.to_owned());
            decision.saw = saw.unwrap_or(decision.saw);
        });
        assert!(spoilt.is_in() && bench.approve_as("ann", &asked).is_in());
        bench.run();
        let again = bench.asked();
        assert_ne!(again.id, asked.id);
        assert_eq!((again.needed, names(&bench)), (1, vec![Some("ann".into())]));
        bench.approve_as("bob", &again);
        finish(&bench);
    }
}

#[test]
fn u05_that_nobody_decided_in_time_is_no_approval_on_other_terms() {
    let call = r#"edit:{"eased": 1, "terms": {"approvers": {"needed": 2}, "expires_after_ms": 5000, "at_expiry": "approve"}}"#;
    let (bench, asked) = waiting(call);
    bench.clock.pass(Duration::from_secs(5));
    assert_eq!(bench.run().outcome().kind(), OutcomeKind::SuspendedClientTool);
    let again = bench.asked();
    assert!(again.id != asked.id && again.needed == 1 && bench.sent("c1-0") == 0);
    // The one approval that is now enough was given before the expiry.
    let (bench, asked) = waiting(call);
    bench.approve_as("ann", &asked);
    bench.clock.pass(Duration::from_secs(5));
    finish(&bench);
    assert_eq!(bench.sent("c1-0"), 1);
}
