//! The views of a session: its events in order, its record of runs, and summaries of its machine.
//!
//! Requirements: A06, A11, A13, A14, A50, B03, B05, C45, C60, D06, H04, H23, U11.

use std::time::Duration;

use holdover_core::engine::{Action, Reply, RunDetail, RunKind};
use holdover_core::error::ErrorInfo;
use holdover_core::event::Event;
use holdover_core::machine::glance::{Classic, Ended, Glance, Inference, Interaction, Seven};
use holdover_core::machine::{
    AgentState, DoneReason, Facts, Input, InputKind, StateKind, StopCause, table, transition,
};
use holdover_core::message::SignalBody;
use holdover_core::model::{ModelError, ModelErrorKind, TokenUsage};
use holdover_core::store::{InterruptKind, RunRecord, SessionStatus};

use crate::bench::Bench;
use crate::check;
use crate::world::{calls, text};

/// Returns the names of the events of a session, in order, without the history rows.
fn told(bench: &Bench) -> Vec<String> {
    let name = |event: &Event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned();
    check::events(bench).iter().map(name).filter(|name| name != "history").collect()
}

fn glance(bench: &Bench) -> Glance {
    Glance::of(&bench.session(), &bench.machine(), Some(bench.agent.limits.max_steps))
}

/// Returns the kind of each run: from its record, else from its `RunStarted` event, else from the status in which it
/// found the session.
fn kinds(bench: &Bench) -> Vec<RunKind> {
    let events = check::events(bench);
    let told = |epoch| {
        events.iter().find_map(|event| match event {
            Event::RunStarted { run, kind, .. } if *run == epoch => *kind,
            _ => None,
        })
    };
    let kind =
        |run: &RunRecord| RunKind::of(run).or(told(run.epoch)).unwrap_or(RunKind::by_status(run.found));
    bench.runs().iter().map(kind).collect()
}

#[test]
fn a14_c60_init_is_the_first_word_and_done_the_last_and_steps_begin_and_end_between() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["pay"]));
    run.returns("c1-0", "paid");
    run.model(text("done"));
    let expected = [
        "init",
        "run_started",
        "message",
        "step_started",
        "message",
        "call",
        "call",
        "message",
        "step_ended",
        "step_started",
        "message",
        "step_ended",
        "agent_end",
        "done",
    ];
    assert_eq!(told(&bench), expected);
    let events = check::events(&bench);
    let Some(Event::Init { session, .. }) = events.first() else { panic!("{events:?}") };
    assert_eq!(session.as_ref(), Some(&bench.key.id));
    assert!(matches!(events.last(), Some(Event::Done { .. })), "also behind the rows: {events:?}");
    let steps: Vec<u64> = events
        .iter()
        .filter_map(|event| match event {
            Event::StepStarted { step } => Some(step.0),
            _ => None,
        })
        .collect();
    assert_eq!(steps, [1, 2]);
    bench.say("again");
    bench.run().model(text("hello"));
    let again =
        ["init", "run_started", "message", "step_started", "message", "step_ended", "agent_end", "done"];
    assert_eq!(told(&bench)[expected.len()..], again);
}

#[test]
fn a06_c45_a_turn_that_fails_says_why_before_it_is_done_and_agent_end_says_how() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model_fails(ModelError::new(ModelErrorKind::Auth, "no such key"));
    assert_eq!(told(&bench)[3..], ["step_started", "step_ended", "error", "agent_end", "done"]);
    for event in check::events(&bench) {
        match event {
            Event::Error { error } => assert!(error.detail.contains("no such key"), "{error}"),
            Event::AgentEnd { turn, session, steps, reason } => {
                assert_eq!((turn.0, steps, reason), (1, 0, Some(DoneReason::Error)));
                assert_eq!(session.as_ref(), Some(&bench.key.id));
            }
            _ => {}
        }
    }
    let glance = glance(&bench);
    assert_eq!((glance.ended, glance.classic), (Some(Ended::Failed), Classic::Error));
    assert!(glance.error.is_some());
}

#[test]
fn c45_a_run_that_dies_while_it_frees_says_agent_end_once() {
    let bench = Bench::with(|agent| agent.provisions = true);
    bench.say("go");
    let mut run = bench.run();
    run.perform("provision");
    run.model(text("done"));
    assert!(run.is_out("tear_down"), "{:?}", run.out);
    bench.crash(run);
    let mut run = bench.run();
    run.perform("tear_down");
    let ends = told(&bench).iter().filter(|name| *name == "agent_end").count();
    assert_eq!((ends, told(&bench).last().map(String::as_str)), (1, Some("done")));
    assert_eq!(kinds(&bench), [RunKind::Execute, RunKind::Recovery]);
}

#[test]
fn a50_a_call_says_with_what_it_was_sent_and_how_long_it_took_and_shows_no_secret() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&[r#"pay:{"to": "ann", "api_key": "hunter2"}"#]));
    run.returns_after("c1-0", "paid", 321);
    run.model(text("done"));
    let told: Vec<(String, String, Option<u64>)> = check::events(&bench)
        .iter()
        .filter_map(|event| match event {
            Event::Call { is, parameters, duration_ms, .. } => {
                Some((is.clone(), serde_json::to_string(parameters).unwrap(), *duration_ms))
            }
            _ => None,
        })
        .collect();
    let sent = r#"{"api_key":"[redacted]","to":"ann"}"#;
    assert_eq!(
        told,
        [("executing".to_owned(), sent.to_owned(), None), ("done".to_owned(), "{}".to_owned(), Some(321))]
    );
    let all = serde_json::to_string(&check::events(&bench)).unwrap();
    assert!(!all.contains("hunter2"), "{all}");
}

#[test]
fn a11_done_carries_what_was_used_and_takes_no_input_again_that_led_to_it() {
    let bench = Bench::new();
    bench.say("go");
    bench.run().model(text("hello"));
    let machine = bench.machine();
    let events = check::events(&bench);
    let Some(Event::Done { usage, ending, .. }) = events.last() else { panic!("{events:?}") };
    assert_eq!((*usage, ending.reason), (machine.usage, DoneReason::ModelStop));
    assert!(usage.model_calls == 1 && usage.tokens.total() > 0, "{usage:?}");
    for input in [Input::TornDown, Input::Interrupted { kind: InterruptKind::Soft, cause: StopCause::Asked }]
    {
        let again = transition(&machine, &input, &Facts { now: bench.facts().now }).unwrap();
        assert_eq!((again.next, again.effects.len(), again.moved), (machine.clone(), 0, false), "{input:?}");
    }
}

#[test]
fn a13_b03_b05_d06_a_session_in_the_hands_of_a_run_is_seen_from_outside() {
    let bench = Bench::new();
    let before = glance(&bench);
    assert_eq!((before.interaction, before.seven), (Interaction::UserMessageInitial, Seven::Done));
    bench.say("go");
    assert_eq!(glance(&bench).interaction, Interaction::Nothing, "the first word is said");
    let mut run = bench.run();
    assert_eq!(glance(&bench).inference, Inference::Running);
    run.model(calls(&["pay", "edit"]));
    let now = glance(&bench);
    assert_eq!(
        (now.status, now.state, now.classic),
        (SessionStatus::Active, StateKind::Executing, Classic::Acting)
    );
    assert_eq!((now.calls.running, now.calls.blocked, now.calls.waiting), (1, 1, 0));
    assert_eq!(now.approvals.iter().map(ToString::to_string).collect::<Vec<_>>(), ["c1-1"]);
    assert_eq!((now.inference, now.interaction), (Inference::Idle, Interaction::UserToolApproval));
    assert_eq!((now.step.map(|step| step.0), now.steps), (Some(1), 1));
    assert!(now.takes().contains(&InputKind::Call) && !now.takes().contains(&InputKind::Steered));
    for kind in InputKind::ALL {
        let named = now.takes().contains(&kind);
        if matches!(kind, InputKind::Planned | InputKind::Diverged) {
            assert!(!named, "a model plans this session");
            continue;
        }
        assert_eq!(named, table::ROWS.iter().any(|row| (row.from, row.on) == (now.state, kind)));
    }
    run.returns("c1-0", "paid");
    assert_eq!((glance(&bench).calls.running, glance(&bench).seven), (0, Seven::Confirming));
    assert!(bench.approve(&bench.asked()).is_in());
    let mut run = bench.run();
    assert_eq!(glance(&bench).interaction, Interaction::ToolRunning);
    run.returns("c1-1", "edited");
    run.model(text("done"));
    let after = glance(&bench);
    assert_eq!((after.interaction, after.ended), (Interaction::UserMessageReply, Some(Ended::Stopped)));
    assert_eq!((after.step, after.calls, after.error), (None, Default::default(), None));
    assert!(matches!(bench.machine().state, AgentState::Done { .. }));
}

#[test]
fn b02_an_interrupted_session_is_cancelled_until_it_is_taken_up_again() {
    let bench = Bench::new();
    bench.say("go");
    let run = bench.run();
    bench.interrupt(InterruptKind::Soft);
    let mut run = run;
    run.news();
    assert_eq!(bench.status(), SessionStatus::Interrupted);
    assert_eq!(
        (glance(&bench).inference, glance(&bench).interaction),
        (Inference::Cancelled, Interaction::Nothing)
    );
    bench.retry();
    let mut run = bench.run();
    assert_eq!(glance(&bench).inference, Inference::Running);
    run.model(text("hello"));
    assert_eq!(
        (glance(&bench).inference, glance(&bench).interaction),
        (Inference::Idle, Interaction::UserMessageReply)
    );
}

#[test]
fn h04_each_run_says_what_it_was_begun_for() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["edit"]));
    assert!(bench.approve(&bench.asked()).is_in());
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model_fails(ModelError::new(ModelErrorKind::Auth, "no"));
    bench.retry();
    let run = bench.run();
    bench.crash(run);
    bench.run().model(text("done"));
    assert_eq!(kinds(&bench), [RunKind::Execute, RunKind::Wake, RunKind::Retry, RunKind::Recovery]);
    let runs = bench.runs();
    assert_eq!(runs.iter().map(|run| run.epoch.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(runs.iter().all(|run| run.end.as_ref().is_some_and(|end| end.at >= run.started_at)));
    assert_eq!(RunDetail::of(&runs[2]), None, "it was lost");
}

#[test]
fn h04_a_run_that_was_lost_has_said_with_its_first_commit_what_it_was_begun_for() {
    let failed = || {
        let bench = Bench::new();
        bench.say("go");
        bench.run().model_fails(ModelError::new(ModelErrorKind::Auth, "no"));
        bench
    };
    for (asks, kind) in [(SignalBody::Resume, RunKind::Resume), (SignalBody::Retry, RunKind::Retry)] {
        let bench = failed();
        bench.signal(&asks);
        bench.crash(bench.run());
        assert_eq!(RunKind::of(&bench.runs()[1]), None, "it was lost");
        bench.run().model(text("done"));
        assert_eq!(kinds(&bench), [RunKind::Execute, kind, RunKind::Recovery]);
    }
    let bench = failed();
    bench.say("something else");
    bench.crash(bench.run());
    bench.run().model(text("done"));
    assert_eq!(kinds(&bench), [RunKind::Execute, RunKind::Execute, RunKind::Recovery]);
}

#[test]
fn u11_a_turn_that_fails_names_the_step_in_which_it_did() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["pay"]));
    run.returns("c1-0", "paid");
    run.model_fails(ModelError::new(ModelErrorKind::Auth, "no such key"));
    let failed = |bench: &Bench| match bench.machine().state {
        AgentState::Done { ending, .. } => {
            (ending.step.map(|step| step.0), ending.error.map(|error| error.code))
        }
        state => panic!("{state:?}"),
    };
    assert_eq!(failed(&bench), (Some(2), Some("model.auth".to_owned())));
    bench.retry();
    bench.run().model(text("done"));
    assert_eq!(failed(&bench), (None, None));
    // A turn that fails before its first step names no failed step, even if earlier turns had steps.
    let bench = Bench::with(|agent| agent.provisions = true);
    bench.say("go");
    let mut run = bench.run();
    run.perform("provision");
    run.model(text("done"));
    run.perform("tear_down");
    bench.say("again");
    let mut run = bench.run();
    let Action::Provision { id, .. } = run.take("provision") else { unreachable!() };
    run.apply(Reply::Provisioned { id, result: Err(ErrorInfo::new("provision.full", "no room")) });
    run.perform("tear_down");
    assert_eq!(failed(&bench).0, None);
}

#[test]
fn h04_a_waiting_session_that_is_asked_to_go_on_is_resumed_and_not_woken() {
    let bench = Bench::new();
    bench.say("go");
    bench.run().model(calls(&["edit"]));
    assert!(bench.approve(&bench.asked()).is_in());
    let claim = bench.claim().expect("it is due");
    let steps = holdover_core::engine::StepIterator::resume(claim, bench.agent.clone(), bench.facts());
    let mut run = crate::run::Run::new(&bench, steps.expect("it reads"));
    run.returns("c1-0", "edited");
    run.model(text("done"));
    assert_eq!(kinds(&bench), [RunKind::Execute, RunKind::Resume]);
}

/// Requirements: A39, H04.
#[test]
fn h23_what_was_used_is_counted_by_kind_for_each_run_and_for_the_session() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    let mut first = calls(&["pay", "edit"]);
    first.usage = TokenUsage { input: 100, output: 20, cached: 60, cache_written: 30, reasoning: 7 };
    run.model(first);
    run.returns("c1-0", "paid");
    bench.clock.pass(Duration::from_secs(60));
    assert!(bench.approve(&bench.asked()).is_in());
    let mut run = bench.run();
    run.returns("c1-1", "edited");
    let mut last = text("done");
    last.usage = TokenUsage { input: 200, output: 5, cached: 150, cache_written: 12, reasoning: 1 };
    run.model(last);
    let used: Vec<_> = bench.runs().iter().map(|run| RunDetail::of(run).unwrap().usage).collect();
    let tokens = |at: usize| used[at].tokens;
    assert_eq!(tokens(0), TokenUsage { input: 100, output: 20, cached: 60, cache_written: 30, reasoning: 7 });
    assert_eq!(tokens(1), TokenUsage { input: 200, output: 5, cached: 150, cache_written: 12, reasoning: 1 });
    assert_eq!((used[0].model_calls, used[0].tool_calls), (1, 1));
    assert_eq!((used[1].model_calls, used[1].tool_calls), (1, 1));
    let session = bench.machine().usage.tokens;
    assert_eq!(
        session,
        TokenUsage { input: 300, output: 25, cached: 210, cache_written: 42, reasoning: 8 },
        "each kind is added"
    );
    let mut sum = used[0];
    sum.add(used[1]);
    assert_eq!(sum, bench.machine().usage, "the runs add up to the session");
}
