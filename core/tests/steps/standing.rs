//! Approvals of a tool for the rest of the session: the person is asked only once.
//!
//! Requirements: A60, C19.

use holdover_core::ids::ToolName;
use holdover_core::machine::{Input, STANDING_APPROVALS_MAX, transition};
use holdover_core::message::{Decision, DecisionRecord, Message, PendingBody, ResultStatus};
use holdover_core::store::{OutcomeKind, PendingCall, SessionStatus};

use crate::bench::Bench;
use crate::check;
use crate::world::{calls, text};

/// Creates a session at rest in which a person approved `edit` for the rest of the session.
fn trusting() -> Bench {
    let bench = Bench::new();
    bench.say("edit it");
    bench.run().model(calls(&["edit"]));
    assert!(bench.approve_always(&bench.asked()).is_in());
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(text("done"));
    check::at_rest(&bench);
    bench
}

fn trusted(bench: &Bench) -> Vec<String> {
    bench.machine().always.iter().map(ToString::to_string).collect()
}

fn decisions(bench: &Bench) -> Vec<DecisionRecord> {
    let decision = |message| match message {
        Message::Decision(record) => Some(record),
        _ => None,
    };
    bench.transcript().into_iter().filter_map(decision).collect()
}

fn tool_of(asked: &PendingCall) -> String {
    asked.body.parse::<PendingBody>().unwrap().tool.to_string()
}

#[test]
fn the_second_call_runs_unasked_in_this_turn_and_in_the_next() {
    let bench = Bench::new();
    bench.say("edit it twice");
    bench.run().model(calls(&["edit"]));
    bench.approve_always(&bench.asked());
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(calls(&["edit"]));
    assert_eq!(run.calls_out(), ["c2-0"], "nobody is asked");
    run.returns("c2-0", "edited");
    run.model(text("done"));
    bench.say("once more");
    let mut run = bench.run();
    run.model(calls(&["edit"]));
    run.returns("c4-0", "edited");
    run.model(text("done"));
    assert_eq!((bench.statuses(), trusted(&bench)), (vec![ResultStatus::Done; 3], vec!["edit".to_owned()]));
    let [record] = decisions(&bench).try_into().expect("one decision");
    assert!(record.decision.always && record.decision.by.as_deref() == Some("ann"), "who said so is kept");
    assert_eq!(record.note, None);
    check::at_rest(&bench);
}

/// Requirements: A60.
#[test]
fn an_ordinary_approval_is_for_one_call_alone() {
    let bench = Bench::new();
    bench.say("edit it twice");
    bench.run().model(calls(&["edit"]));
    bench.approve(&bench.asked());
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(calls(&["edit"]));
    assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedClientTool);
    assert!(trusted(&bench).is_empty());
}

#[test]
fn another_tool_is_still_asked_about() {
    let bench = trusting();
    bench.say("edit it and wipe it");
    let mut run = bench.run();
    run.model(calls(&["edit", "wipe"]));
    assert_eq!((run.calls_out(), tool_of(&bench.asked())), (vec!["c3-0".to_owned()], "wipe".to_owned()));
}

/// Requirements: C19.
#[test]
fn the_deny_of_the_policy_and_its_schema_still_win() {
    let bench = trusting();
    bench.say("edit what must not be edited");
    let mut run = bench.run();
    run.model(calls(&["edit:{\"place\": \"forbidden\"}", "edit:{\"place\": \"bad\"}"]));
    run.model(text("a pity"));
    assert_eq!(bench.statuses()[1..], [ResultStatus::Denied, ResultStatus::Error]);
    assert_eq!((bench.sent("c3-0"), bench.sent("c3-1")), (0, 0));
    check::at_rest(&bench);
}

#[test]
fn a_sibling_that_waits_already_still_waits() {
    let bench = Bench::new();
    bench.say("edit it twice at once");
    bench.run().model(calls(&["edit", "edit"]));
    bench.approve_always(&bench.pending()[0]);
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedClientTool);
    assert_eq!(bench.asked().call.as_str(), "c1-1", "it was asked about, and its answer is owed");
}

#[test]
fn it_survives_the_death_of_its_run() {
    let bench = Bench::new();
    bench.say("edit it");
    bench.run().model(calls(&["edit"]));
    bench.approve_always(&bench.asked());
    // The run dies while the approved call is in flight. The decision is durable.
    let run = bench.run();
    assert_eq!(run.calls_out(), ["c1-0"]);
    bench.crash(run);
    let mut run = bench.run();
    run.model(calls(&["edit"]));
    assert_eq!(run.calls_out(), ["c2-0"]);
    run.returns("c2-0", "edited");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::InDoubt, ResultStatus::Done]);
    check::at_rest(&bench);
}

#[test]
fn a_decision_whose_commit_never_came_is_taken_again_by_the_next_run() {
    let bench = Bench::new();
    bench.say("edit it");
    bench.run().model(calls(&["edit"]));
    bench.approve_always(&bench.asked());
    let claim = bench.claim().unwrap();
    let run = crate::run::Run::holding(&bench, claim, &["commit"]);
    assert!(run.is_out("commit"), "the decision is on its way");
    bench.crash(run);
    assert!(trusted(&bench).is_empty());
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(text("done"));
    assert_eq!((trusted(&bench), decisions(&bench).len()), (vec!["edit".to_owned()], 1));
    check::at_rest(&bench);
}

#[test]
fn a_refusal_remembers_nothing_and_an_interrupt_forgets_nothing() {
    let bench = trusting();
    bench.say("wipe it");
    let mut run = bench.run();
    run.model(calls(&["wipe"]));
    drop(run);
    bench.deny_always(&bench.asked());
    bench.run().model(text("a pity"));
    assert_eq!(trusted(&bench), ["edit"]);
    bench.say("wipe it");
    bench.run().model(calls(&["wipe"]));
    bench.interrupt(holdover_core::store::InterruptKind::Soft);
    bench.run();
    assert_eq!((bench.status(), trusted(&bench)), (SessionStatus::Interrupted, vec!["edit".to_owned()]));
    check::at_rest(&bench);
}

#[test]
fn no_more_tools_are_remembered_than_there_is_room_for() {
    let tools: Vec<String> = (0..=STANDING_APPROVALS_MAX).map(|at| format!("edit_{at:02}")).collect();
    let bench = Bench::with(|agent| {
        let edit = agent.tool("edit").unwrap().clone();
        for tool in &tools {
            let mut spec = edit.clone();
            spec.name = ToolName::new(tool).unwrap();
            agent.tools.push(spec);
        }
        agent.limits.max_steps = 1_000;
    });
    bench.say("edit everything");
    let mut step = 0;
    for tool in tools.iter().chain(tools.last()) {
        let mut run = bench.run();
        if step > 0 {
            run.returns(&format!("c{step}-0"), "edited");
        }
        run.model(calls(&[tool]));
        drop(run);
        bench.approve_always(&bench.asked());
        step += 1;
    }
    let mut run = bench.run();
    run.returns(&format!("c{step}-0"), "edited");
    run.model(text("done"));
    assert_eq!(trusted(&bench), tools[..STANDING_APPROVALS_MAX], "the one too many is asked about each time");
    let notes: Vec<bool> = decisions(&bench).iter().map(|record| record.note.is_some()).collect();
    assert_eq!(notes.iter().filter(|noted| **noted).count(), 2);
    assert!(notes[STANDING_APPROVALS_MAX], "and its record says so");
    check::at_rest(&bench);
}

/// Approves a call of `edit` for the rest of the session, as Ann, for paths among the notes only.
fn approve_notes(bench: &Bench) {
    let among_notes = |decision: &mut Decision| {
        decision.always = true;
        decision.only = [("path", "notes/*")].into_iter().collect();
    };
    assert!(bench.decide(&bench.asked(), among_notes).is_in());
}

#[test]
fn u06_it_may_be_for_some_arguments_only() {
    let bench = Bench::new();
    bench.say("edit the notes");
    bench.run().model(calls(&[r#"edit:{"path": "notes/a"}"#]));
    approve_notes(&bench);
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(calls(&[r#"edit:{"path": "notes/b"}"#]));
    assert_eq!(run.calls_out(), ["c2-0"], "nobody is asked");
    run.returns("c2-0", "edited");
    for elsewhere in [r#"edit:{"path": "other"}"#, r#"edit:{"path": "notes/../other"}"#, "edit:{}"] {
        run.model(calls(&[elsewhere]));
        drop(run);
        bench.deny(&bench.asked());
        run = bench.run();
    }
    run.model(text("done"));
    assert_eq!(trusted(&bench), ["edit where path=notes/*"]);
    check::at_rest(&bench);
}

#[test]
fn u06_a_word_that_does_not_fit_the_call_itself_is_for_this_once() {
    let bench = Bench::new();
    bench.say("edit something");
    bench.run().model(calls(&[r#"edit:{"path": "other"}"#]));
    approve_notes(&bench);
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(text("done"));
    assert_eq!(trusted(&bench), Vec::<String>::new());
    let [record] = decisions(&bench).try_into().expect("one decision");
    let note = record.note.expect("its record says so");
    assert_eq!(note, "approved this once: its arguments do not fit path=notes/*");
    check::at_rest(&bench);
}

#[test]
fn a_fork_asks_again() {
    let bench = trusting();
    let machine = bench.machine();
    assert!(machine.always.cover("edit", "{}"));
    let fork = transition(&machine, &Input::Forked, &bench.facts()).unwrap().next;
    assert!(fork.always.is_empty());
}
