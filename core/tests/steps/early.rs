//! Reads that begin while the model is still writing its answer.
//!
//! Requirements: A40, A41.

use std::time::Duration;

use holdover_core::agent::{AgentSpec, Durability, EARLY_READS_MAX, Fallback, LoopDetection};
use holdover_core::engine::{Action, CallOut, Reply, Ruling};
use holdover_core::event::Event;
use holdover_core::hook::HookPoint;
use holdover_core::ids::{CallId, ToolName};
use holdover_core::message::{Message, ResultStatus};
use holdover_core::model::{AnswerPart, ModelError, ModelErrorKind, StopReason};
use holdover_core::store::InterruptKind;
use holdover_core::tool::{Access, EffectClass, ResourceProfile, RunsOn, ToolOutput};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{answer, calls, overloaded, text};

/// Creates a session whose agent begins reads early, with further changes to the agent.
fn early(change: impl FnOnce(&mut AgentSpec)) -> Bench {
    Bench::with(|agent| {
        agent.early_reads = true;
        change(agent);
    })
}

/// Starts a run whose model has written these calls and is still writing.
fn writing<'b>(bench: &'b Bench, tools: &[&str]) -> Run<'b> {
    bench.say("go");
    let mut run = bench.run();
    if run.is_out("provision") {
        run.perform("provision");
    }
    run.model_writes(tools);
    run
}

/// Returns the calls that were dropped since the last call of this function.
fn dropped(run: &mut Run<'_>) -> Vec<String> {
    let mut all = Vec::new();
    while run.is_out("drop_early") {
        let Action::DropEarly { calls, .. } = run.take("drop_early") else { unreachable!() };
        all.extend(calls.iter().map(ToString::to_string));
    }
    all
}

fn begun_call(run: &mut Run<'_>) -> CallOut {
    let Action::RunEarly { call } = run.take("run_early") else { unreachable!() };
    call
}

fn results(bench: &Bench) -> Vec<(String, ResultStatus, String)> {
    let results = bench.transcript().into_iter().filter_map(|message| match message {
        Message::Tool(result) => Some((result.call.to_string(), result.status, result.content)),
        _ => None,
    });
    results.collect()
}

#[test]
fn a40_a_read_begins_while_the_model_writes_and_is_asked_for_once_the_answer_is_there() {
    let bench = early(|_| {});
    let mut run = writing(&bench, &[]);
    let (written, machine) = (bench.writes.borrow().len(), run.steps.machine().clone());
    run.model_writes(&["look"]);
    let begun = begun_call(&mut run);
    assert_eq!((begun.tool.as_str(), begun.arguments.as_str()), ("look", "{\"place\": 0}"));
    assert_eq!(bench.writes.borrow().len(), written, "nothing of it is written");
    assert_eq!(*run.steps.machine(), machine, "nor does it move the machine");
    run.model(calls(&["look", "peep"]));
    assert_eq!(run.calls_out(), ["c1-0", "c1-1"]);
    let Some(Action::RunCalls { calls: sent, .. }) =
        run.out.iter().find(|action| matches!(action, Action::RunCalls { .. }))
    else {
        panic!("{:?}", run.out)
    };
    assert_eq!(sent[0], begun, "the runtime knows by this that it has begun");
    assert_eq!((run.begun(), dropped(&mut run)), (vec![], vec![]));
    run.returns("c1-1", "second");
    run.returns("c1-0", "first");
    run.model(text("done"));
    let told: Vec<String> = results(&bench).into_iter().map(|(.., content)| content).collect();
    assert_eq!(told, ["first", "second"]);
    check::at_rest(&bench);
}

#[test]
fn a40_what_is_told_and_stored_is_the_same_as_if_nothing_had_begun_early() {
    let story = |early_reads: bool| {
        let bench = Bench::with(|agent| agent.early_reads = early_reads);
        let all = ["look", "peep", "pay", "look"];
        let mut run = writing(&bench, &all);
        assert_eq!(run.begun().len(), if early_reads { 2 } else { 0 });
        run.model(calls(&all));
        for call in ["c1-1", "c1-0", "c1-2"] {
            run.returns(call, call);
        }
        if run.calls_out() == ["c1-3"] {
            run.returns("c1-3", "c1-3");
        }
        run.model(text("done"));
        check::at_rest(&bench);
        (bench.transcript(), check::events(&bench), bench.machine())
    };
    assert_eq!(story(true), story(false));
}

#[test]
fn a41_nothing_begins_behind_a_call_that_may_change_something() {
    for in_front in ["put", "pay", "note", "serial"] {
        let bench = early(|_| {});
        let mut run = writing(&bench, &["peep", in_front, "look", "peep"]);
        assert_eq!(run.begun(), ["c1-0"], "{in_front}");
        run.model(calls(&["peep", in_front, "look", "peep"]));
        // Each read behind that call is sent at most once.
        let sends = bench.sends.borrow().iter().filter(|call| call.id.as_str() == "c1-3").count();
        assert!(sends <= 1, "{in_front}");
        assert_eq!(dropped(&mut run), Vec::<String>::new());
    }
    let bench = early(|_| {});
    let mut run = writing(&bench, &["pay", "peep"]);
    assert!(run.begun().is_empty(), "what it reads is what the call in front of it writes");
    run.model(calls(&["pay", "peep"]));
    assert_eq!(run.calls_out(), ["c1-0"]);
    run.returns("c1-0", "paid");
    assert_eq!(run.calls_out(), ["c1-1"]);
}

#[test]
fn a40_no_read_begins_of_which_it_is_not_certain_that_it_will_run_as_it_stands() {
    let uncertain = ["ask", "fly", "look:bad", "look:forbidden", "look:rewrite", "look:known", "look:fatal"];
    for call in uncertain.into_iter().chain(["edit", "wipe"]) {
        let bench = early(|_| {});
        let run = writing(&bench, &[call, "look"]);
        assert!(run.begun().is_empty(), "{call}: nor does one behind it");
    }
    type Change = fn(&mut AgentSpec);
    let changes: [(&str, Change); 7] = [
        ("the agent does not want it", |agent| agent.early_reads = false),
        ("every commit is awaited", |agent| agent.durability = Durability::Sync),
        ("a hook sees the answer first", |agent| agent.hooks = [HookPoint::AfterModel].into()),
        ("it is for people", |agent| agent.human_only = [ToolName::new("look").unwrap()].into()),
        ("it is dangerous", |agent| agent.tools[0].dangerous = true),
        ("a client runs it", |agent| agent.tools[0].runs_on = RunsOn::Client),
        ("it acts", |agent| agent.tools[0].effect = EffectClass::AtMostOnce),
    ];
    for (why, change) in changes {
        let bench = early(change);
        let run = writing(&bench, &["look"]);
        assert!(run.begun().is_empty(), "{why}");
    }
    // The tool is withheld from a model that repeats the same call too often, so it does not begin early either.
    let bench = early(|agent| {
        agent.loops = LoopDetection::default().stop_at(0).withhold_at(2);
    });
    let mut run = writing(&bench, &[]);
    for (step, begins) in [(1, true), (2, true), (3, false)] {
        run.model_writes(&["look:{}"]);
        assert_eq!(!run.begun().is_empty(), begins, "step {step}");
        run.model(calls(&["look:{}"]));
        if begins {
            run.returns(&format!("c{step}-0"), "the same");
        }
    }
}

#[test]
fn a40_so_many_calls_of_an_answer_begin_early_at_most() {
    let bench = early(|_| {});
    let all = vec!["look"; EARLY_READS_MAX + 2];
    let mut run = writing(&bench, &all);
    assert_eq!(run.begun().len(), EARLY_READS_MAX);
    run.model(calls(&all));
    assert_eq!((run.calls_out().len(), dropped(&mut run)), (all.len(), vec![]), "the others run, too");
    for at in 0..all.len() {
        run.returns(&format!("c1-{at}"), "seen");
    }
    // The limit on early reads applies to each answer separately.
    run.model_writes(&["look"]);
    assert_eq!(run.begun(), ["c2-0"]);
}

#[test]
fn a40_word_of_a_call_that_does_not_follow_the_one_before_begins_nothing() {
    let bench = early(|_| {});
    let mut run = writing(&bench, &[]);
    let told = run.written(&calls(&["look", "look", "look"]));
    // The report of the second call is late: the run does not know what that call would write.
    run.apply(told[0].clone());
    run.apply(told[2].clone());
    run.apply(told[1].clone());
    assert_eq!(run.begun(), ["c1-0"]);
}

#[test]
fn a40_word_of_an_answer_that_was_given_up_begins_nothing() {
    let bench = early(|agent| agent.fallback = vec![Fallback { model: "other".into(), prices: None }]);
    let mut run = writing(&bench, &[]);
    let late = run.written(&calls(&["look"]));
    run.model_fails(ModelError::new(ModelErrorKind::Auth, "the key is wrong"));
    for told in late {
        run.apply(told);
    }
    assert!(run.is_out("call_model") && run.begun().is_empty(), "another model is asked: {:?}", run.out);
    run.model_writes(&["peep"]);
    assert_eq!(run.begun(), ["c1-0"]);
}

#[test]
fn a40_calls_that_would_come_one_after_the_other_do_not_begin_together() {
    let bench = early(|_| {});
    bench.say("go");
    let mut run = bench.run();
    run.hold("foresee");
    run.model_writes(&["look", "look", "look"]);
    let mut ids = Vec::new();
    while run.is_out("foresee") {
        let Action::Foresee { id, .. } = run.take("foresee") else { unreachable!() };
        ids.push(id);
    }
    let key = |key: &str| Some(ResourceProfile::key(key, Access::Read));
    let profiles = [key("a"), Some(ResourceProfile::Serial), key("b")];
    // The answers about later calls arrive first and must wait their turn.
    for (id, profile) in ids.into_iter().zip(profiles).rev() {
        assert!(run.begun().is_empty());
        run.apply(Reply::Foreseen { id, profile });
    }
    assert_eq!(run.begun(), ["c1-0"]);
}

#[test]
fn a40_what_was_begun_for_an_answer_that_does_not_come_is_dropped() {
    type Ends = fn(&mut Run<'_>);
    let fatal = || ModelError::new(ModelErrorKind::Auth, "the key is wrong");
    let ends: [(&str, Ends); 6] = [
        ("it fails for now", |run| run.model_fails(overloaded(Some(Duration::from_secs(60))))),
        ("it fails for good", |run| run.model_fails(ModelError::new(ModelErrorKind::Auth, "no"))),
        ("it is refused", |run| {
            let parts = [AnswerPart::Text("I will not.".into())].into_iter().chain(calls(&["look"]).parts);
            run.model(answer(parts.collect(), StopReason::Refusal));
        }),
        ("it says something else", |run| run.model(text("done"))),
        ("it asks otherwise", |run| run.model(calls(&["look:{\"place\": 7}"]))),
        ("somebody stops it", |run| {
            run.bench.interrupt(InterruptKind::Soft);
            run.news();
        }),
    ];
    for (how, end) in ends {
        let bench = early(|agent| agent.provisions = true);
        let mut run = writing(&bench, &["look"]);
        assert_eq!(run.begun(), ["c1-0"], "{how}");
        end(&mut run);
        assert_eq!(dropped(&mut run), ["c1-0"], "{how}");
        assert_eq!(results(&bench), [], "{how}: nothing of it is kept");
        let told = |event: &Event| matches!(event, Event::Call { .. });
        assert!(!check::events(&bench).iter().any(told) || how == "it asks otherwise", "{how}: nor told");
    }
    // A fallback model is called in the same step and writes the same call.
    let fallback = vec![Fallback { model: "other".into(), prices: None }];
    let bench = early(|agent| agent.fallback = fallback);
    let mut run = writing(&bench, &["look"]);
    let first = begun_call(&mut run);
    run.model_fails(fatal());
    assert_eq!(dropped(&mut run), ["c1-0"]);
    run.model_writes(&["look"]);
    assert_eq!(begun_call(&mut run), first, "it is begun anew");
    run.model(calls(&["look"]));
    assert_eq!(dropped(&mut run), Vec::<String>::new());
}

#[test]
fn a40_a_call_that_is_refused_changed_or_held_in_the_end_does_not_take_what_was_begun() {
    let profile = || ResourceProfile::key("shelf", Access::Read);
    let deny = || Ruling::Deny { reason: "not today".into(), rule: None };
    let hold = || Ruling::NeedsApproval { prompt: None, terms: Box::default(), profile: profile() };
    let rewrite = || Ruling::Rewritten {
        arguments: "{\"place\": \"elsewhere\"}".into(),
        by: "scribe".into(),
        ruling: Box::new(Ruling::Allow { profile: profile() }),
    };
    let answered = || Ruling::Answered {
        output: ToolOutput::text("known"),
        ruling: Box::new(Ruling::Allow { profile: profile() }),
    };
    let failed = || Ruling::Failed { detail: "this must not be".into() };
    for ruling in [deny(), hold(), rewrite(), answered(), failed()] {
        let bench = early(|_| {});
        let mut run = writing(&bench, &["look"]);
        let begun = begun_call(&mut run);
        run.hold("consult");
        run.model(calls(&["look"]));
        assert_eq!(dropped(&mut run), Vec::<String>::new(), "the gate has not spoken");
        let Action::Consult { id, .. } = run.take("consult") else { unreachable!() };
        let rulings = vec![(CallId::new("c1-0").unwrap(), ruling.clone())];
        run.apply(Reply::Consulted { id, rulings });
        assert_eq!(dropped(&mut run), ["c1-0"], "{ruling:?}");
        if matches!(ruling, Ruling::Rewritten { .. }) {
            let sent = bench.sends.borrow().last().cloned().unwrap();
            assert_eq!((&sent.id, sent.arguments.contains("elsewhere")), (&begun.id, true));
        } else {
            assert_eq!(run.calls_out(), Vec::<String>::new(), "{ruling:?}");
        }
    }
}

#[test]
fn a40_a_run_that_dies_leaves_nothing_of_what_it_began() {
    let bench = early(|_| {});
    let run = writing(&bench, &["look"]);
    let before = bench.machine();
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!((bench.machine().state, run.begun()), (before.state, vec![]));
    run.model_writes(&["peep"]);
    assert_eq!(run.begun(), ["c1-0"], "the model is asked again, and may ask for something else");
    run.model(calls(&["peep"]));
    run.returns("c1-0", "seen");
    run.model(text("done"));
    assert_eq!(results(&bench), [("c1-0".into(), ResultStatus::Done, "seen".into())]);
    check::at_rest(&bench);
}
