//! Turns: how they begin, what their state holds, and how they call the model.
//!
//! Requirements: B01, B08, B09, B13, C05.

use std::time::Duration;

use holdover_core::agent::Limits;
use holdover_core::engine::{Action, Reply};
use holdover_core::event::Event;
use holdover_core::ids::{StepNumber, TurnNumber};
use holdover_core::machine::{AgentState, CallState, DoneReason, StateKind};
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{InterruptKind, SessionStatus};
use holdover_core::time::Clock;

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, overloaded, text};

/// Returns the state in which each history row of a session begins. Leaves out the first `after` rows.
fn passed(bench: &Bench, after: usize) -> Vec<StateKind> {
    let events = check::events(bench).into_iter();
    let rows = events.filter_map(|event| match event {
        Event::History { rows } => Some(rows),
        _ => None,
    });
    rows.flatten().skip(after).map(|row| row.from).collect()
}

#[test]
fn b01_nothing_of_a_session_is_taken_before_a_run_has_claimed_it() {
    let bench = Bench::new();
    bench.say("one");
    bench.say("two");
    let session = bench.session();
    assert_eq!((session.status, session.unread, session.state), (SessionStatus::Idle, 2, None));
    assert_eq!((bench.transcript(), check::events(&bench)), (vec![], vec![]));

    // The claim makes the session active. The next commit takes the messages.
    let claim = bench.claim().unwrap();
    assert_eq!((claim.found, bench.status()), (SessionStatus::Idle, SessionStatus::Active));
    assert!(bench.claim().is_none(), "it is in the hands of one run");
    let mut run = Run::holding(&bench, claim, &["commit"]);
    assert_eq!((bench.session().unread, bench.transcript()), (2, vec![]));
    assert!(run.is_out("commit"));
    run.perform("commit");
    assert_eq!((bench.session().unread, bench.roles()), (0, vec!["user", "user"]));
    let began = check::events(&bench).into_iter().nth(1);
    assert!(matches!(began, Some(Event::RunStarted { found: SessionStatus::Idle, .. })), "{began:?}");
}

#[test]
fn b08_what_is_asked_for_is_asked_in_the_state_that_takes_its_answer() {
    let bench = Bench::new();
    bench.say("go");
    let claim = bench.claim().unwrap();
    let mut run = Run::holding(&bench, claim, &["consult"]);
    // The machine is in its next state before any following action is handed out. A reply may therefore be applied at
    // once, by the code that performs the action.
    assert!(run.is_out("call_model"));
    assert_eq!(run.steps.machine().state.kind(), StateKind::Streaming);
    run.model(calls(&["look", "look"]));
    assert!(run.is_out("consult"));
    let stands: Vec<_> =
        run.steps.machine().state.batch().unwrap().calls.iter().map(|call| &call.state).collect();
    assert_eq!(stands, [&CallState::Gating, &CallState::Gating]);
    run.perform("consult");
    // Both replies are applied before any action that follows from the first is performed.
    let replies = ["c1-0", "c1-1"]
        .map(|call| run.come_back(call, Ok(holdover_core::tool::ToolOutput::text("seen").into())));
    for reply in replies {
        run.steps.apply(reply, bench.facts());
    }
    assert_ne!(run.steps.machine().state.kind(), StateKind::Executing, "the step is closed");
    run.apply(Reply::TimePassed);
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn b09_a_message_after_failed_attempts_begins_a_turn_at_its_first_attempt() {
    let bench = Bench::new();
    bench.say("go");
    bench.run().model_fails(overloaded(None));
    bench.clock.pass(Duration::from_secs(5));
    bench.run().model_fails(ModelError::new(ModelErrorKind::Auth, "the key is wrong"));
    assert_eq!((bench.status(), bench.machine().turn.number), (SessionStatus::Failed, TurnNumber(1)));
    let rows = passed(&bench, 0).len();

    bench.clock.pass(Duration::from_secs(90));
    let spoken = bench.clock.now();
    bench.say("again");
    let mut run = bench.run();
    let (_, asked) = run.model_sees();
    assert_eq!(asked.attempt, 0);
    let turn = run.steps.machine().turn.clone();
    assert_eq!((turn.number, turn.claimed_at, turn.worked_ms), (TurnNumber(2), spoken, 0));
    run.model(text("done"));
    let through = passed(&bench, rows);
    let expected = [StateKind::Done, StateKind::Provisioning, StateKind::Thinking, StateKind::Streaming];
    assert_eq!(through[..4], expected, "nobody steers between a message and the model");
}

#[test]
fn b13_after_a_stop_the_model_is_asked_afresh_and_the_old_answer_is_nobodys() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    let Action::CallModel { id: old, .. } = run.take("call_model") else { unreachable!() };
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert!(run.out.iter().any(|action| matches!(action, Action::StopModel { of } if *of == old)));
    assert!(run.is_over());
    run.apply(Reply::ModelAnswered { id: old, result: Ok(text("too late")) });
    assert_eq!((bench.status(), bench.roles()), (SessionStatus::Interrupted, vec!["user"]));

    bench.retry();
    let mut run = bench.run();
    assert_eq!(
        run.steps.machine().state.kind(),
        StateKind::Streaming,
        "what stopped the last turn stops no other"
    );
    assert!(!run.is_out("stop_model"));
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::UserAbort, DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn b13_a_run_that_asks_again_has_stopped_what_it_asked_before() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    let Action::CallModel { id: first, call } = run.take("call_model") else { unreachable!() };
    run.apply(Reply::ModelAnswered { id: first, result: Err(overloaded(Some(Duration::from_millis(300)))) });
    run.perform("sleep");
    let Action::CallModel { id: second, call: again } = run.take("call_model") else { unreachable!() };
    assert_ne!(first, second);
    assert_eq!((call.attempt, again.attempt), (0, 1));
    assert!(again.stream > call.stream, "a stream of its own");
    // The first model call answers after all, and the answer is ignored.
    run.apply(Reply::ModelAnswered { id: first, result: Ok(text("I was first")) });
    assert_eq!(run.steps.machine().state.kind(), StateKind::Streaming);
    run.apply(Reply::ModelAnswered { id: second, result: Ok(text("done")) });
    assert_eq!(bench.roles(), ["user", "assistant"]);
    check::at_rest(&bench);
}

#[test]
fn c05_what_is_stored_of_a_parked_turn_says_all_of_it() {
    assert_eq!(Limits::default().max_steps, 50);
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["look"]));
    run.returns("c1-0", "seen");
    run.model(calls(&["edit", "note"]));
    run.returns("c2-1", "noted");
    drop(run);

    // The state is read from the store alone, as any process would read it.
    let (session, machine) = (bench.session(), bench.machine());
    assert_eq!(
        (session.key.to_string().as_str(), machine.turn.number),
        ("t/s", TurnNumber(1)),
        "which session and turn"
    );
    assert!(machine.turn.open);
    let AgentState::Confirming { batch } = &machine.state else { panic!("{:?}", machine.state) };
    let stand: Vec<_> = batch.calls.iter().map(|call| (call.id.as_str(), call.state.name())).collect();
    assert_eq!(stand, [("c2-0", "blocked_on_user"), ("c2-1", "done")], "each call and its state");
    let results: Vec<_> = session.staged.results.iter().map(|staged| staged.call.as_str()).collect();
    assert_eq!(results, ["c2-1"], "what has come back");
    assert_eq!((machine.turn.steps, machine.turn.calls, machine.step), (2, 3, StepNumber(2)));
    assert_eq!(machine.usage.model_calls, 2);
    let asked = bench.asked();
    assert_eq!(asked.call.as_str(), "c2-0", "who owes an answer");

    // The state also holds the error of a back-off.
    let bench = Bench::new();
    bench.say("go");
    bench.run().model_fails(overloaded(None));
    let AgentState::BackingOff { error, attempt: 1, .. } = bench.machine().state else {
        panic!("{:?}", bench.machine())
    };
    assert!(error.to_string().contains("slow down"), "{error}");
}
