//! Calls that ended in doubt and are settled by hand.
//!
//! Requirements: B45, U03, INV-11, INV-17.

use std::collections::VecDeque;
use std::time::Duration;

use holdover_core::agent::{AgentSpec, OnDoubt};
use holdover_core::engine::{
    Action, DOUBTS_OPEN_MAX, Drain, Reply, RunOutcome, STATE_FORMAT_ASKING, StepIterator,
};
use holdover_core::event::Event;
use holdover_core::machine::DoneReason;
use holdover_core::message::{
    Message, MessagePolicy, PendingBody, ResultStatus, SETTLEMENT_BYTES_MAX, Settlement, SettlementRecord,
};
use holdover_core::payload::Payload;
use holdover_core::store::{Delivery, InterruptKind, PendingCall, PendingKind, SessionStatus, StateStore};
use holdover_core::tool::ToolError;

use crate::bench::{Bench, LEASE, Write, now};
use crate::check;
use crate::run::Run;
use crate::world::{calls, ruling, text};

fn asking(agent: &mut AgentSpec) {
    agent.in_doubt = OnDoubt::Ask;
}

/// A session at rest whose call `c1-0` of `pay` ended in doubt.
fn doubtful() -> Bench {
    let bench = Bench::with(asking);
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["pay"]));
    run.comes_back("c1-0", Err(ToolError::Lost("the line went dead".into())));
    run.model(text("it may be paid"));
    assert!(run.is_over());
    bench
}

pub(crate) fn settle(bench: &Bench, pending: &PendingCall, settlement: &Settlement) -> Delivery {
    bench.answer_with(&pending.id, Payload::json(settlement).unwrap())
}

fn paid() -> Settlement {
    Settlement::done("receipt 4711").by("ann").because("it is on the statement")
}

/// Returns the settlements in the transcript.
fn settled(bench: &Bench) -> Vec<SettlementRecord> {
    let record = |message| match message {
        Message::Notice(notice) => notice.settled.map(|record| *record),
        _ => None,
    };
    bench.transcript().into_iter().filter_map(record).collect()
}

/// Returns the texts that the model is shown as messages of users. Settlements are among them.
fn heard(run: &Run<'_>) -> Vec<String> {
    let said = |message| match message {
        Message::User(said) => Some(said.text),
        _ => None,
    };
    run.model_sees().0.into_iter().filter_map(said).collect()
}

#[test]
fn a_call_in_doubt_is_asked_about_while_the_session_rests() {
    let bench = doubtful();
    let asked = bench.asked();
    assert_eq!((asked.kind.clone(), asked.call.as_str(), asked.needed), (PendingKind::InDoubt, "c1-0", 1));
    assert_eq!(asked.deadline, None);
    let body: PendingBody = asked.body.parse().unwrap();
    assert_eq!((body.tool.as_str(), body.arguments.as_str()), ("pay", "{\"place\": 0}"));
    let prompt = body.prompt.unwrap();
    assert!(
        prompt.contains("its result was lost") || prompt.contains("result of this call was lost"),
        "{prompt}"
    );
    assert!(prompt.contains("the line went dead"), "{prompt}");
    assert_eq!((bench.status(), bench.session().alarm), (SessionStatus::Idle, None), "nothing waits for it");
    assert_eq!(bench.session().format, STATE_FORMAT_ASKING, "an older worker would drop the answer");
    let asks = |event: &Event| matches!(event, Event::Asked { kind: PendingKind::InDoubt, .. });
    assert_eq!(check::events(&bench).iter().filter(|event| asks(event)).count(), 1);
}

#[test]
fn without_the_setting_nobody_is_asked() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["pay"]));
    run.comes_back("c1-0", Err(ToolError::Lost("the line went dead".into())));
    run.model(text("it may be paid"));
    assert_eq!(bench.statuses(), [ResultStatus::InDoubt]);
    check::at_rest(&bench);
}

/// INV-17: the result stays as it is.
#[test]
fn inv_17_a_settlement_at_rest_is_told_to_the_next_turn_and_begins_none() {
    for (settlement, says) in [
        (paid(), ["was done", "receipt 4711", "ann", "it is on the statement"].as_slice()),
        (Settlement::not_done().by("ann"), &["was not done", "ann"]),
        (Settlement::done(""), &["was done", "somebody"]),
    ] {
        let bench = doubtful();
        let before = bench.transcript();
        let asked = bench.asked();
        assert!(settle(&bench, &asked, &settlement).is_in());
        assert!(bench.is_due());
        let run = bench.run();
        assert_eq!(run.outcome(), &RunOutcome::Released, "no turn, and no model");
        assert_eq!(bench.dones(), [DoneReason::ModelStop]);
        check::at_rest(&bench);
        assert!(!bench.is_due());
        let after = bench.transcript();
        assert_eq!(after[..before.len()], before, "the result is the same as before");
        let [record] = settled(&bench).try_into().unwrap();
        assert_eq!((&record.settlement, &record.pending), (&settlement, &asked.id));
        let told =
            |event: &Event| matches!(event, Event::CallSettled { done, .. } if *done == settlement.done);
        assert_eq!(check::events(&bench).iter().filter(|event| told(event)).count(), 1);
        assert_ne!(bench.session().format, STATE_FORMAT_ASKING);
        bench.say("and?");
        let mut run = bench.run();
        let heard = heard(&run);
        let [.., notice, last] = heard.as_slice() else { panic!("{heard:?}") };
        assert_eq!(last, "and?");
        for word in says.iter().chain(&["pay {\"place\": 0}"]) {
            assert!(notice.contains(word), "{notice}");
        }
        run.model(text("good"));
        check::at_rest(&bench);
    }
}

#[test]
fn a_settlement_and_a_message_are_taken_in_this_order() {
    let bench = doubtful();
    bench.say("and?");
    assert!(settle(&bench, &bench.asked(), &paid()).is_in());
    let mut run = bench.run();
    let heard = heard(&run);
    assert!(heard[1].contains("receipt 4711") && heard[2] == "and?", "{heard:?}");
    run.model(text("good"));
    check::at_rest(&bench);
}

#[test]
fn the_first_settlement_counts() {
    let bench = doubtful();
    let asked = bench.asked();
    assert!(settle(&bench, &asked, &paid()).is_in());
    assert_eq!(settle(&bench, &asked, &Settlement::not_done()), Delivery::AlreadyAnswered);
    assert!(bench.run().is_over());
    assert_eq!(settle(&bench, &asked, &Settlement::not_done()), Delivery::NotPending);
    assert_eq!(settled(&bench).len(), 1);
}

#[test]
fn in_the_middle_of_a_turn_the_next_step_reads_the_settlement() {
    let bench = doubtful();
    bench.say("again");
    let mut run = bench.run();
    run.model(calls(&["note"]));
    assert!(settle(&bench, &bench.asked(), &paid()).is_in());
    run.news();
    assert_eq!(settled(&bench), [], "the step is still open");
    run.returns("c3-0", "noted");
    assert!(heard(&run).last().unwrap().contains("receipt 4711"));
    assert!(bench.pending().is_empty(), "closed before the model is asked");
    // A settlement alone does not prolong a turn.
    run.model(text("good"));
    check::at_rest(&bench);
    assert_eq!(bench.dones().len(), 2);
}

#[test]
fn a_settlement_that_comes_with_the_last_answer_is_kept_for_the_next_turn() {
    let bench = doubtful();
    bench.say("again");
    let mut run = bench.run();
    assert!(settle(&bench, &bench.asked(), &paid()).is_in());
    run.news();
    run.model(text("good"));
    assert!(run.is_over());
    assert_eq!((bench.dones().len(), settled(&bench).len()), (2, 1));
    check::at_rest(&bench);
}

#[test]
fn a_suspended_turn_stays_suspended_until_its_own_answer_comes() {
    let bench = doubtful();
    bench.say("again");
    let mut run = bench.run();
    run.model(calls(&["edit"]));
    assert!(run.is_over());
    let pending = bench.pending();
    let of = |kind| pending.iter().find(|pending| pending.kind == kind).unwrap();
    assert!(settle(&bench, of(PendingKind::InDoubt), &paid()).is_in());
    assert!(bench.is_due());
    assert!(bench.run().is_over());
    assert_eq!((bench.status(), bench.is_due()), (SessionStatus::Suspended, false));
    bench.approve(of(PendingKind::Approval));
    let mut run = bench.run();
    run.returns("c3-0", "edited");
    assert!(heard(&run).last().unwrap().contains("receipt 4711"));
    run.model(text("good"));
    check::at_rest(&bench);
}

/// A call that dies with its run, and one that is stopped, with and without the agent.
#[test]
fn b45_a_lost_run_and_a_stop_ask_once_with_the_exact_arguments() {
    for (stops, with_agent) in [(false, true), (true, true), (true, false)] {
        let bench = Bench::with(asking);
        bench.say("go");
        let mut run = bench.run();
        run.model(calls(&["pay"]));
        if stops {
            bench.interrupt(InterruptKind::Soft);
        }
        bench.crash(run);
        if with_agent {
            let mut run = bench.run();
            if !stops {
                run.model(text("it may be paid"));
            }
        } else {
            assert!(bench.end().is_over());
        }
        assert_eq!(bench.statuses(), [ResultStatus::InDoubt]);
        let asked = bench.asked();
        let body: PendingBody = asked.body.parse().unwrap();
        assert_eq!(body.arguments, "{\"place\": 0}", "stops: {stops}, with the agent: {with_agent}");
        let before = bench.status();
        assert!(settle(&bench, &asked, &paid()).is_in());
        assert!(bench.run().is_over());
        assert_eq!(bench.status(), before);
        check::at_rest(&bench);
        assert_eq!(settled(&bench).len(), 1);
    }
}

#[test]
fn an_abort_closes_what_nobody_can_settle_any_more() {
    for agent in [true, false] {
        let bench = doubtful();
        bench.interrupt(InterruptKind::Abort);
        let run = if agent { bench.run() } else { bench.end() };
        assert!(run.is_over());
        assert_eq!(bench.status(), SessionStatus::Aborted);
        check::at_rest(&bench);
    }
    // The call ends in doubt by the abort.
    let bench = Bench::with(asking);
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["pay"]));
    bench.interrupt(InterruptKind::Abort);
    run.news();
    run.comes_back("c1-0", Err(ToolError::Lost("the line went dead".into())));
    assert_eq!((bench.status(), bench.statuses()), (SessionStatus::Aborted, vec![ResultStatus::InDoubt]));
    check::at_rest(&bench);
    let opens = |write: &Write| matches!(write, Write::Commit(commit) if !commit.open.is_empty());
    assert!(!bench.writes.borrow().iter().any(opens), "it was not even asked");
}

/// The answer comes after the abort was read, and before the abort is written: the store refuses to close the call
/// unread.
#[test]
fn a_settlement_that_overtakes_an_abort_is_recorded() {
    let bench = doubtful();
    let asked = bench.asked();
    bench.interrupt(InterruptKind::Abort);
    let claim = bench.claim().unwrap();
    assert!(settle(&bench, &asked, &paid()).is_in());
    let run = bench.start(claim);
    assert!(run.is_over());
    assert_eq!((bench.status(), settled(&bench).len()), (SessionStatus::Aborted, 1));
    check::at_rest(&bench);
}

#[test]
fn a_settlement_stands_when_its_turn_is_taken_back() {
    let bench = doubtful();
    bench.say("again");
    let mut run = bench.run();
    run.model(calls(&["look"]));
    assert!(settle(&bench, &bench.asked(), &paid()).is_in());
    run.news();
    run.returns("c3-0", "seen");
    bench.say_under(MessagePolicy::Rollback, "no, this");
    run.news();
    assert!(run.is_over());
    let mut run = bench.run();
    let heard = heard(&run);
    assert!(!heard.contains(&"again".to_owned()) && heard.concat().contains("receipt 4711"), "{heard:?}");
    run.model(text("good"));
    check::at_rest(&bench);
}

#[test]
fn a_settlement_that_cannot_be_used_is_asked_for_again() {
    let long = Settlement::done("x".repeat(SETTLEMENT_BYTES_MAX + 1));
    for bad in [Payload::new("{\"content\": \"42\"}"), Payload::json(&long).unwrap()] {
        let bench = doubtful();
        let asked = bench.asked();
        assert!(bench.answer_with(&asked.id, bad).is_in());
        assert!(bench.run().is_over());
        let again = bench.asked();
        assert_ne!(again.id, asked.id);
        let body: PendingBody = again.body.parse().unwrap();
        assert_eq!(body.arguments, "{\"place\": 0}");
        assert!(body.prompt.unwrap().contains("cannot be used"));
        assert_eq!(settled(&bench), []);
        assert!(settle(&bench, &again, &paid()).is_in());
        assert!(bench.run().is_over());
        check::at_rest(&bench);
    }
}

#[test]
fn a_run_that_is_told_to_leave_at_once_has_taken_the_settlement() {
    let bench = doubtful();
    assert!(settle(&bench, &bench.asked(), &paid()).is_in());
    let claim = bench.claim().unwrap();
    let mut steps = StepIterator::start(claim, bench.agent.clone(), bench.facts()).unwrap();
    // The drain comes before the run has written anything, but what it decided at its start stands.
    steps.apply(Reply::Drain(Drain::Calls), bench.facts());
    perform(&bench, &mut steps, &mut VecDeque::new(), usize::MAX);
    assert_eq!(settled(&bench).len(), 1);
    check::at_rest(&bench);
}

#[test]
fn a_session_has_a_bounded_number_of_them() {
    let bench = Bench::with(asking);
    for turn in 1..=DOUBTS_OPEN_MAX + 1 {
        bench.say("go");
        let mut run = bench.run();
        run.model(calls(&["pay"]));
        let call = run.calls_out().remove(0);
        run.comes_back(&call, Err(ToolError::Lost("the line went dead".into())));
        run.model(text("it may be paid"));
        assert_eq!(bench.pending().len(), turn.min(DOUBTS_OPEN_MAX));
    }
}

/// Performs at most `most` actions of a run. Returns their number, and true if the run is over.
fn perform(
    bench: &Bench,
    steps: &mut StepIterator,
    replies: &mut VecDeque<Reply>,
    most: usize,
) -> (usize, bool) {
    for done in 0..most {
        let fence = steps.fence().clone();
        let reply = match steps.next_action() {
            Action::Await { .. } => {
                let reply = replies.pop_front().expect("something is out");
                steps.apply(reply, bench.facts());
                continue;
            }
            Action::Exit(_) => return (done, true),
            read @ Action::Read { .. } => Run::reads(bench, &fence, read),
            Action::Commit { id, commit } => {
                let outcome = now(bench.store.commit(&fence, *commit)).unwrap();
                check::invariants(bench);
                Reply::Committed { id, outcome: Ok(outcome) }
            }
            Action::StageResult { id, staging } => {
                Reply::Staged { id, outcome: Ok(now(bench.store.stage_result(&fence, staging)).unwrap()) }
            }
            Action::Consult { id, questions } => {
                let rulings = questions.iter().map(|asked| (asked.call.clone(), ruling(asked)));
                Reply::Consulted { id, rulings: rulings.collect() }
            }
            Action::CallModel { id, .. } => {
                let results = bench.results().len();
                let answer = if results == 0 { calls(&["pay"]) } else { text("it may be paid") };
                Reply::ModelAnswered { id, result: Ok(answer) }
            }
            Action::RunCalls { calls, .. } => {
                let call = calls[0].id.clone();
                let result = Err(ToolError::Lost("the line went dead".into()));
                Reply::CallEnded { call, result, duration_ms: 1 }
            }
            other => panic!("not expected here: {other:?}"),
        };
        replies.push_back(reply);
    }
    (most, false)
}

/// Plays a turn whose call ends in doubt, its settlement, and another turn. The run dies after `stop` actions. Returns
/// the number of actions.
fn played(stop: usize) -> usize {
    let bench = Bench::with(asking);
    let (mut left, mut total, mut deeds) = (Some(stop), 0, 0);
    loop {
        while let Some(claim) = bench.claim() {
            let mut steps = StepIterator::start(claim, bench.agent.clone(), bench.facts()).unwrap();
            let most = left.unwrap_or(usize::MAX);
            let (done, over) = perform(&bench, &mut steps, &mut VecDeque::new(), most);
            total += done;
            left = left.map(|left| left - done).filter(|_| over);
            drop(steps);
            if !over {
                bench.clock.pass(LEASE + Duration::from_secs(1));
            }
            // The pending call is there exactly while the call has ended in doubt and is not settled.
            let doubts = bench.statuses().iter().filter(|status| **status == ResultStatus::InDoubt).count();
            let open = bench.pending();
            assert!(open.iter().all(|pending| pending.kind == PendingKind::InDoubt));
            assert_eq!(open.len(), doubts - settled(&bench).len(), "stopped after {stop}");
        }
        match deeds {
            0 => bench.say("go"),
            1 => assert!(settle(&bench, &bench.asked(), &paid()).is_in()),
            2 => bench.say("and?"),
            _ => break,
        }
        deeds += 1;
    }
    assert_eq!((bench.statuses(), settled(&bench).len()), (vec![ResultStatus::InDoubt], 1), "after {stop}");
    assert_eq!(bench.dones(), [DoneReason::ModelStop, DoneReason::ModelStop]);
    check::at_rest(&bench);
    total
}

/// INV-11: wherever a run dies, the call is asked about once and settled once.
#[test]
fn inv_11_a_call_in_doubt_is_asked_about_and_settled_once_wherever_a_run_dies() {
    let actions = played(usize::MAX);
    assert!(actions > 15, "{actions}");
    for stop in 1..actions {
        played(stop);
    }
}
