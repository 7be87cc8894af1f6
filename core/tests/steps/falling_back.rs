//! Calls that could not be run or gave no result, and go on as the fallback of their tool.
//!
//! Requirements: C53.

use std::time::Duration;

use holdover_core::agent::{AgentSpec, Retries, TOOL_FALLBACKS_MAX};
use holdover_core::event::Event;
use holdover_core::ids::ToolName;
use holdover_core::machine::CallState;
use holdover_core::message::ResultStatus;
use holdover_core::store::{InterruptKind, OutcomeKind, PendingKind};
use holdover_core::tool::{ToolError, ToolReturn};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

fn not_run() -> Result<ToolReturn, ToolError> {
    Err(ToolError::NotRun("no such host".into()))
}

fn lost() -> Result<ToolReturn, ToolError> {
    Err(ToolError::Lost("connection reset".into()))
}

fn named(tool: &str) -> ToolName {
    ToolName::new(tool).unwrap()
}

fn falling_back(agent: &mut AgentSpec, pairs: &[(&str, &str)]) {
    agent.tool_fallbacks = pairs.iter().map(|(from, to)| (named(from), named(to))).collect();
}

/// Creates a session whose calls are not retried, with these fallbacks.
fn at_once(pairs: &[(&str, &str)]) -> Bench {
    Bench::with(|agent| {
        agent.retries = Retries::default().tool_waits_ms(Vec::new());
        falling_back(agent, pairs);
    })
}

fn go(bench: &Bench) -> Run<'_> {
    bench.say("go");
    bench.run()
}

/// Returns the fallbacks that the events report, as (from, to).
fn told(bench: &Bench) -> Vec<(String, String)> {
    let fell_back = |event| match event {
        Event::CallFellBack { from, to, .. } => Some((from, to)),
        _ => None,
    };
    check::events(bench).into_iter().filter_map(fell_back).collect()
}

fn tools_sent(bench: &Bench) -> Vec<String> {
    bench.sends.borrow().iter().map(|send| send.tool.to_string()).collect()
}

#[test]
fn c53_a_call_that_could_not_be_run_is_retried_then_goes_on_as_the_fallback_with_the_same_arguments() {
    let bench = Bench::with(|agent| falling_back(agent, &[("note", "put")]));
    let mut run = go(&bench);
    run.model(calls(&["note"]));
    for seconds in [2, 4] {
        run.comes_back("c1-0", not_run());
        assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedUntil);
        bench.clock.pass(Duration::from_secs(seconds));
        run = bench.run();
    }
    assert!(told(&bench).is_empty(), "retries come first");
    run.comes_back("c1-0", not_run());
    // The fallback has retries of its own.
    run.comes_back("c1-0", not_run());
    bench.clock.pass(Duration::from_secs(2));
    let mut run = bench.run();
    run.returns("c1-0", "put away");
    run.model(text("done"));
    assert_eq!(tools_sent(&bench), ["note", "note", "note", "put", "put"]);
    let sends = bench.sends.borrow();
    assert!(sends.iter().all(|send| send.arguments == sends[0].arguments));
    assert_eq!(sends[3].idempotency_key, sends[4].idempotency_key, "INV-14");
    assert_ne!(sends[3].idempotency_key, sends[0].idempotency_key, "the key of another tool is another key");
    let result = &bench.results()[0];
    assert_eq!((result.status, result.tool.as_str(), result.broken), (ResultStatus::Done, "put", false));
    let [before] = result.instead_of.as_slice() else { panic!("{result:?}") };
    assert_eq!((before.tool.as_str(), before.why.as_str()), ("note", "no such host"));
    let (line, rest) = result.content.split_once('\n').unwrap();
    assert!(line.contains("note could not be run") && line.contains("put stands in for it"), "{line}");
    assert_eq!(rest, "put away");
    assert_eq!(told(&bench), [("note".to_owned(), "put".to_owned())]);
    assert_eq!(bench.machine().usage.tool_calls, 2, "one call of each tool");
    drop(sends);
    check::at_rest(&bench);
}

#[test]
fn c53_the_gate_decides_on_the_fallback_as_on_a_call_of_that_tool() {
    for approves in [true, false] {
        // An approval of the first tool, even for the rest of the session, does not count for the second.
        let bench = at_once(&[("edit", "wipe")]);
        let mut run = go(&bench);
        run.model(calls(&["edit"]));
        bench.approve_always(&bench.asked());
        let mut run = bench.run();
        run.comes_back("c1-0", not_run());
        let asked = bench.asked();
        assert_eq!(
            (asked.kind.clone(), tools_sent(&bench)),
            (PendingKind::Approval, vec!["edit".to_owned()])
        );
        if approves {
            bench.approve(&asked)
        } else {
            bench.deny(&asked)
        };
        let mut run = bench.run();
        if approves {
            assert_eq!(run.calls_out(), ["c1-0"]);
            run.returns("c1-0", "wiped");
        }
        run.model(text("done"));
        let status = if approves { ResultStatus::Done } else { ResultStatus::RejectedByUser };
        assert_eq!((bench.statuses(), bench.results()[0].tool.as_str()), (vec![status], "wipe"));
        assert_eq!(tools_sent(&bench).len(), if approves { 2 } else { 1 });
        check::at_rest(&bench);
    }
}

/// Nobody could answer a question about the arguments of a call that a client runs.
#[test]
fn c53_edited_arguments_that_do_not_fit_the_client_that_stands_in_are_an_error() {
    let bench = at_once(&[("edit", "ask")]);
    let mut run = go(&bench);
    run.model(calls(&["edit"]));
    bench.edit(&bench.asked(), r#"{"n":"odd for a client"}"#);
    let mut run = bench.run();
    run.comes_back("c1-0", not_run());
    run.model(text("a pity"));
    let result = &bench.results()[0];
    assert_eq!((result.status, result.tool.as_str()), (ResultStatus::Error, "ask"));
    assert!(result.content.ends_with("the arguments do not fit: it is odd"), "{result:?}");
    check::at_rest(&bench);
}

#[test]
fn c53_a_fallback_that_only_people_may_use_does_not_run_and_the_result_names_both_tools() {
    let bench = Bench::with(|agent| {
        agent.retries = Retries::default().tool_waits_ms(Vec::new());
        agent.human_only.insert(named("put"));
        falling_back(agent, &[("note", "put"), ("put", "look")]);
    });
    let mut run = go(&bench);
    run.model(calls(&["note"]));
    run.comes_back("c1-0", not_run());
    run.model(text("a pity"));
    let result = &bench.results()[0];
    assert_eq!((result.status, tools_sent(&bench)), (ResultStatus::Denied, vec!["note".to_owned()]));
    assert!(result.content.contains("note could not be run: no such host"), "{result:?}");
    assert!(result.content.ends_with("denied: put is for people alone"), "{result:?}");
    check::at_rest(&bench);
}

#[test]
fn c53_only_a_call_that_did_not_act_falls_back() {
    let failed = || Err(ToolError::Failed("no paper".into()));
    for (tool, fails, falls_back, status) in [
        ("note", not_run as fn() -> _, true, ResultStatus::Done),
        ("put", not_run, true, ResultStatus::Done),
        // A read does no harm, whether it took place or not.
        ("look", lost, true, ResultStatus::Done),
        ("put", lost, false, ResultStatus::InDoubt),
        ("note", lost, false, ResultStatus::InDoubt),
        ("note", failed, false, ResultStatus::Error),
        ("look", failed, false, ResultStatus::Error),
    ] {
        let bench = at_once(&[("note", "serial"), ("put", "serial"), ("look", "serial")]);
        let mut run = go(&bench);
        run.model(calls(&[tool]));
        run.comes_back("c1-0", fails());
        if falls_back {
            run.returns("c1-0", "done");
        }
        run.model(text("done"));
        assert_eq!((bench.statuses(), told(&bench).len()), (vec![status], usize::from(falls_back)), "{tool}");
        check::at_rest(&bench);
    }
}

#[test]
fn c53_a_dangerous_call_is_never_sent_again_but_falls_back_if_it_was_never_sent() {
    let bench = Bench::with(|agent| falling_back(agent, &[("wipe", "note")]));
    let mut run = go(&bench);
    run.model(calls(&["wipe"]));
    bench.approve(&bench.asked());
    let mut run = bench.run();
    run.comes_back("c1-0", not_run());
    run.returns("c1-0", "noted");
    run.model(text("done"));
    assert_eq!(
        (tools_sent(&bench), bench.statuses()),
        (vec!["wipe".into(), "note".into()], vec![ResultStatus::Done])
    );
    check::at_rest(&bench);
}

#[test]
fn c53_a_fallback_survives_the_death_of_its_run_before_and_while_the_gate_is_asked() {
    // The tool is `at_most_once`, so without the record of the fallback the first call would be in doubt.
    let bench = at_once(&[("note", "pay")]);
    let mut run = go(&bench);
    run.model(calls(&["note", "look"]));
    run.hold("consult");
    run.comes_back("c1-0", not_run());
    let stored = bench.machine();
    let call = &stored.state.batch().unwrap().calls[0];
    assert_eq!(
        (call.tool.as_str(), &call.state),
        ("pay", &CallState::Gating),
        "durable before the gate has answered"
    );
    bench.crash(run);
    let mut run = bench.run();
    assert!(run.calls_out().contains(&"c1-0".to_owned()), "{:?}", run.calls_out());
    run.returns("c1-0", "paid");
    run.returns("c1-1", "seen");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done; 2]);
    assert_eq!(bench.sends.borrow().iter().filter(|send| send.tool.as_str() == "note").count(), 1);
    check::at_rest(&bench);
}

#[test]
fn c53_a_fallback_that_dies_with_its_run_is_handled_by_its_own_class() {
    for (to, sent, status) in [("put", 2, ResultStatus::Done), ("pay", 1, ResultStatus::InDoubt)] {
        let bench = at_once(&[("look", to)]);
        let mut run = go(&bench);
        run.model(calls(&["look"]));
        run.comes_back("c1-0", not_run());
        assert_eq!(run.calls_out(), ["c1-0"]);
        bench.crash(run);
        let mut run = bench.run();
        if sent == 2 {
            run.returns("c1-0", "done");
        }
        run.model(text("done"));
        let sends = tools_sent(&bench).into_iter().filter(|tool| tool == to).count();
        assert_eq!((sends, bench.statuses()), (sent, vec![status]), "{to}");
        check::at_rest(&bench);
    }
}

#[test]
fn c53_a_read_that_stands_in_for_a_call_with_an_effect_starts_after_the_record_of_it() {
    let bench = at_once(&[("note", "look")]);
    let mut run = go(&bench);
    run.model(calls(&["note"]));
    run.hold("commit");
    run.hold("stage");
    run.comes_back("c1-0", not_run());
    assert!(run.calls_out().is_empty(), "{:?}", run.calls_out());
    run.let_go("commit");
    run.let_go("stage");
    assert_eq!(run.calls_out(), ["c1-0"]);
    run.returns("c1-0", "seen");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done]);
    check::at_rest(&bench);
}

#[test]
fn c53_a_chain_of_fallbacks_is_followed_to_its_end_then_the_call_fails_as_one() {
    let bench = at_once(&[("note", "put"), ("put", "pay"), ("pay", "bill"), ("bill", "look")]);
    let mut run = go(&bench);
    run.model(calls(&["note"]));
    for _ in 0..=TOOL_FALLBACKS_MAX {
        run.comes_back("c1-0", not_run());
    }
    assert_eq!(run.steps.machine().turn.broken, 1, "one call");
    run.model(text("a pity"));
    assert_eq!(tools_sent(&bench), ["note", "put", "pay", "bill"]);
    let result = &bench.results()[0];
    assert_eq!((result.status, result.broken, result.instead_of.len()), (ResultStatus::Error, true, 3));
    assert!(result.content.contains("nor could put: no such host"), "{result:?}");
    check::at_rest(&bench);
}

#[test]
fn c53_a_turn_that_is_stopped_starts_no_fallback() {
    let bench = at_once(&[("note", "put")]);
    let mut run = go(&bench);
    run.model(calls(&["note"]));
    bench.interrupt(InterruptKind::Soft);
    run.news();
    run.comes_back("c1-0", not_run());
    assert_eq!((bench.statuses(), told(&bench)), (vec![ResultStatus::Cancelled], Vec::new()));
    assert_eq!(tools_sent(&bench), ["note"]);
    check::at_rest(&bench);
}

#[test]
fn c53_fallbacks_of_an_agent_are_checked() {
    let fault = |pairs: &[(&str, &str)]| {
        let mut agent = crate::world::agent();
        falling_back(&mut agent, pairs);
        agent.fault_of_fallbacks().map(|(tool, why)| format!("{tool}: {why}"))
    };
    assert_eq!(fault(&[("note", "put"), ("put", "ask")]), None);
    assert_eq!(fault(&[("note", "put"), ("put", "pay"), ("pay", "bill")]), None);
    for (pairs, why) in [
        (&[("note", "fly")][..], "note: the agent has no tool fly"),
        (&[("fly", "note")], "fly: the agent has no such tool"),
        (&[("note", "note")], "note: the fallbacks lead back to note"),
        (&[("note", "put"), ("put", "note")], "note: the fallbacks lead back to note"),
        (&[("ask", "note")], "ask: a client runs this tool, so its calls are never sent again"),
        (
            &[("note", "put"), ("put", "pay"), ("pay", "bill"), ("bill", "look")],
            "note: more than 3 fallbacks follow it",
        ),
    ] {
        assert_eq!(fault(pairs).as_deref(), Some(why));
    }
}
