//! The moments at which data becomes durable: commits, stagings and start marks.
//!
//! Requirements: A57, A58, C34, C54, D14.

use std::time::Duration;

use holdover_core::agent::Durability;
use holdover_core::engine::Action;
use holdover_core::event::Event;
use holdover_core::machine::{CallState, Machine};
use holdover_core::message::ResultStatus;
use holdover_core::store::{NewMessage, StateStore};

use crate::bench::{Bench, Write, now};
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

/// Describes the writes since `from`: a commit with the calls that it stages, promotes and marks, or a staging.
fn told(bench: &Bench, from: usize) -> Vec<String> {
    let write = |write: &Write| match write {
        Write::Stage(staging) => {
            let results: Vec<&str> = staging.results.iter().map(|result| result.call.as_str()).collect();
            let starts: Vec<&str> = staging.starts.iter().map(|call| call.as_str()).collect();
            format!("stage {} start {}", results.join(","), starts.join(","))
        }
        Write::Commit(commit) => {
            let mut words = vec!["commit".to_owned()];
            let inline = commit.messages.iter().filter(|message| matches!(message, NewMessage::Inline(_)));
            words.push(format!("{} inline", inline.count()));
            for message in &commit.messages {
                if let NewMessage::Promote(call) = message {
                    words.push(format!("promotes {call}"));
                }
            }
            words.extend(commit.stage.iter().map(|result| format!("stages {}", result.call)));
            let machine: Option<Machine> = commit.state.as_ref().map(|state| state.payload.parse().unwrap());
            for call in
                machine.iter().filter_map(|machine| machine.state.batch()).flat_map(|batch| &batch.calls)
            {
                if call.state == CallState::Preparing {
                    words.push(format!("marks {}", call.id));
                }
            }
            words.join(" ")
        }
    };
    bench.writes.borrow()[from..].iter().map(write).collect()
}

fn count(bench: &Bench) -> usize {
    bench.writes.borrow().len()
}

/// Starts a run in which the model is called for the first time. Also returns the number of writes so far.
fn asked(bench: &Bench) -> (Run<'_>, usize) {
    bench.say("go");
    let run = bench.run();
    (run, count(bench))
}

#[test]
fn a_step_of_reads_is_one_commit() {
    let bench = Bench::new();
    let (mut run, from) = asked(&bench);
    run.model(calls(&["look", "peep"]));
    assert_eq!(run.calls_out(), ["c1-0", "c1-1"], "they start before anything is durable");
    run.returns("c1-1", "seen");
    run.returns("c1-0", "seen");
    assert_eq!(told(&bench, from), ["commit 3 inline"], "answer, results and steering together");
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn reads_that_take_longer_than_a_second_are_two_commits() {
    let bench = Bench::new();
    let (mut run, from) = asked(&bench);
    run.model(calls(&["look", "peep"]));
    run.returns("c1-1", "seen");
    assert_eq!(told(&bench, from).len(), 0);
    run.wait();
    assert_eq!(told(&bench, from), ["commit 1 inline stages c1-1"]);
    bench.clock.pass(Duration::from_secs(60));
    run.returns("c1-0", "seen");
    assert_eq!(told(&bench, from)[1..], ["commit 1 inline promotes c1-1"]);
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done; 2]);
    check::at_rest(&bench);
}

#[test]
fn a_gate_that_thinks_for_long_is_waited_for_without_a_busy_loop() {
    let bench = Bench::with(|agent| agent.limits.max_run_ms = None);
    let (mut run, from) = asked(&bench);
    run.hold("consult");
    run.model(calls(&["look"]));
    bench.clock.pass(Duration::from_millis(4_900));
    run.apply(holdover_core::engine::Reply::TimePassed);
    assert_eq!((run.until(), told(&bench, from).len()), (None, 0), "only the gate moves it");
    run.let_go("consult");
    assert_eq!(told(&bench, from), ["commit 1 inline"], "the second has passed");
    run.returns("c1-0", "seen");
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn a_step_that_is_about_to_park_waits_for_the_news_without_a_busy_loop() {
    let bench = Bench::new();
    let (mut run, _) = asked(&bench);
    run.hold("read");
    bench.say("one thing more");
    run.news();
    run.model(calls(&["ask"]));
    assert!(!run.is_over(), "what is being read may be an answer");
    bench.clock.pass(Duration::from_secs(2));
    run.apply(holdover_core::engine::Reply::TimePassed);
    run.let_go("read");
    assert!(run.is_over());
    assert!(!bench.is_due());
}

#[test]
fn reads_that_are_told_to_stop_are_waited_for_without_a_busy_loop() {
    let bench = Bench::new();
    let (mut run, _) = asked(&bench);
    run.model(calls(&["look"]));
    bench.interrupt(holdover_core::store::InterruptKind::Soft);
    run.news();
    bench.clock.pass(Duration::from_millis(1_900));
    run.apply(holdover_core::engine::Reply::TimePassed);
    assert_eq!(run.until(), None);
    run.returns("c1-0", "seen");
    assert_eq!(bench.statuses(), [ResultStatus::Done]);
    check::at_rest(&bench);
}

/// Requirements: C54.
#[test]
fn intents_allows_and_first_marks_are_one_commit_and_results_another() {
    let bench = Bench::new();
    let (mut run, from) = asked(&bench);
    run.hold("commit");
    run.model(calls(&["put", "look", "pay"]));
    assert_eq!(run.calls_out(), ["c1-1"], "only the read starts before the intents are acknowledged");
    run.let_go("commit");
    assert_eq!(run.calls_out(), ["c1-1", "c1-0", "c1-2"]);
    run.returns("c1-0", "put");
    run.returns("c1-1", "seen");
    run.returns("c1-2", "paid");
    assert_eq!(
        told(&bench, from),
        ["commit 1 inline marks c1-0 marks c1-2", "stage c1-0 start ", "commit 2 inline promotes c1-0",],
        "finished calls are staged, bar reads and the last that is owed"
    );
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn the_result_that_lets_another_group_start_is_staged_with_its_marks() {
    let bench = Bench::new();
    let (mut run, from) = asked(&bench);
    run.model(calls(&["peep", "pay", "bill"]));
    for (call, text) in [("c1-0", "seen"), ("c1-1", "paid"), ("c1-2", "billed")] {
        assert_eq!(run.calls_out(), [call], "one after another");
        run.returns(call, text);
    }
    assert_eq!(
        told(&bench, from),
        [
            "commit 1 inline",
            "stage c1-0 start c1-1",
            "stage c1-1 start c1-2",
            "commit 1 inline promotes c1-0 promotes c1-1",
        ],
        "a read too"
    );
    run.model(text("done"));
    check::at_rest(&bench);
}

/// Requirements: A58.
#[test]
fn a_parking_commit_stages_what_has_ended_and_it_stays_staged() {
    let bench = Bench::new();
    let (mut run, from) = asked(&bench);
    run.model(calls(&["edit", "look"]));
    run.returns("c1-1", "seen");
    assert!(run.is_over());
    assert_eq!(told(&bench, from).last().unwrap(), "commit 0 inline stages c1-1");
    assert_eq!(bench.session().staged.results.len(), 1);
    bench.approve(&bench.asked());
    let mut run = bench.run();
    let from = count(&bench);
    run.returns("c1-0", "edited");
    assert_eq!(told(&bench, from), ["commit 1 inline promotes c1-1"]);
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done; 2]);
    assert_eq!(bench.sent("c1-1"), 1);
    check::at_rest(&bench);
}

/// Requirements: C34, D14.
#[test]
fn results_that_come_while_a_staging_is_on_its_way_are_promoted_in_call_order() {
    let bench = Bench::new();
    let (mut run, from) = asked(&bench);
    run.model(calls(&["note", "pay"]));
    run.hold("stage");
    run.returns("c1-1", "paid");
    run.returns("c1-0", "noted");
    assert!(run.is_out("call_model"), "the model is asked while the results are on their way");
    run.let_go("stage");
    assert_eq!(
        told(&bench, from)[1..],
        ["stage c1-1 start ", "commit 1 inline promotes c1-1"],
        "what was staged meanwhile is not sent twice"
    );
    run.model(text("done"));
    let texts: Vec<String> = bench.results().into_iter().map(|result| result.content).collect();
    assert_eq!(texts, ["noted", "paid"]);
    check::at_rest(&bench);
}

#[test]
fn an_answer_costs_one_commit_before_its_call_starts_also_while_siblings_run() {
    let bench = Bench::new();
    let (mut run, _) = asked(&bench);
    run.model(calls(&["edit", "note"]));
    bench.approve(&bench.asked());
    let from = count(&bench);
    run.hold("commit");
    run.news();
    assert_eq!(run.calls_out(), ["c1-1"]);
    run.let_go("commit");
    assert_eq!(told(&bench, from), ["commit 1 inline marks c1-0"], "decision, allow and mark");
    assert_eq!(run.calls_out(), ["c1-1", "c1-0"]);
    run.returns("c1-0", "edited");
    run.returns("c1-1", "noted");
    run.model(text("done"));
    check::at_rest(&bench);
}

/// Requirements: A57.
#[test]
fn nothing_starts_while_a_commit_that_closes_is_on_its_way() {
    let bench = Bench::new();
    let (mut run, _) = asked(&bench);
    run.model(calls(&["edit", "pay", "bill"]));
    bench.deny(&bench.asked());
    run.hold("commit");
    run.news();
    run.returns("c1-1", "paid");
    assert_eq!(run.calls_out().len(), 0, "the bill waits for the answer of the store");
    run.let_go("commit");
    assert_eq!(run.calls_out(), ["c1-2"]);
    run.returns("c1-2", "billed");
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn with_sync_durability_nothing_begins_before_every_commit_is_acknowledged() {
    let bench = Bench::with(|agent| agent.durability = Durability::Sync);
    bench.say("go");
    let claim = bench.claim().unwrap();
    let mut run = Run::holding(&bench, claim, &["commit", "stage"]);
    assert!(!run.is_out("call_model"));
    run.perform("commit");
    run.model(calls(&["look", "note"]));
    assert_eq!(run.calls_out().len(), 0, "not even a read");
    run.perform("commit");
    assert_eq!(run.calls_out(), ["c1-1", "c1-0"]);
    run.returns("c1-1", "noted");
    run.perform("stage");
    run.returns("c1-0", "seen");
    assert!(!run.is_out("call_model"));
    run.perform("commit");
    run.model(text("done"));
    run.perform("commit");
    assert!(run.is_over());
    check::at_rest(&bench);
}

#[test]
fn with_sync_durability_a_step_of_reads_is_two_commits() {
    let bench = Bench::with(|agent| agent.durability = Durability::Sync);
    let (mut run, from) = asked(&bench);
    run.model(calls(&["look"]));
    run.returns("c1-0", "seen");
    assert_eq!(told(&bench, from), ["commit 1 inline", "commit 1 inline"]);
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn the_model_is_asked_while_the_commit_before_is_on_its_way() {
    let bench = Bench::new();
    bench.say("go");
    let claim = bench.claim().unwrap();
    let mut run = Run::holding(&bench, claim, &["commit"]);
    assert!(run.is_out("call_model") && run.is_out("commit"));
    run.model(text("done"));
    assert_eq!(run.out.iter().filter(|action| crate::run::kind_of(action) == "commit").count(), 1);
    run.perform("commit");
    run.perform("commit");
    assert!(run.is_over());
    check::at_rest(&bench);
}

#[test]
fn a_repeated_commit_is_answered_once() {
    let bench = Bench::new();
    bench.say("go");
    let claim = bench.claim().unwrap();
    let mut run = Run::holding(&bench, claim, &["commit"]);
    let first = run.out.front().cloned().expect("a commit");
    let holdover_core::engine::Action::Commit { commit, .. } = &first else { panic!("{first:?}") };
    let again = now(bench.store.commit(run.steps.fence(), *commit.clone())).unwrap();
    let holdover_core::engine::Reply::Committed { outcome, .. } = run.perform_silently("commit") else {
        panic!()
    };
    assert_eq!(outcome, Ok(again), "the repeat of a commit whose answer was lost");
}

/// Returns the calls whose start the event log records, in order.
fn told_to_start(bench: &Bench) -> Vec<String> {
    let started = |event: Event| match event {
        Event::Call { call, is, .. } if is == "executing" => Some(call.to_string()),
        _ => None,
    };
    check::events(bench).into_iter().filter_map(started).collect()
}

#[test]
fn whoever_looks_on_is_told_that_a_call_starts_by_the_commit_with_its_start_mark() {
    let bench = Bench::new();
    let (mut run, from) = asked(&bench);
    run.model(calls(&["pay", "put", "look"]));
    assert_eq!(run.calls_out().len(), 3);
    assert_eq!(told_to_start(&bench), ["c1-2", "c1-0", "c1-1"], "before they come back");
    assert_eq!(count(&bench), from + 1, "in no write of its own");
    run.returns("c1-0", "paid");
    run.returns("c1-1", "put");
    run.returns("c1-2", "seen");
    run.model(text("done"));
    assert_eq!(told_to_start(&bench), ["c1-2", "c1-0", "c1-1"], "each is told of once");
    check::at_rest(&bench);
}

#[test]
fn calls_are_shown_in_a_stream_after_that_of_the_answer_which_ends_with_their_step() {
    let stream_of = |run: &Run<'_>| {
        let found = run.out.iter().rev().find_map(|action| match action {
            Action::RunCalls { stream, own, .. } => Some((*stream, *own)),
            _ => None,
        });
        found.expect("calls are out")
    };
    let ended = |bench: &Bench| match bench.writes.borrow().last() {
        Some(Write::Commit(commit)) => commit.streamed,
        other => panic!("{other:?}"),
    };
    let bench = Bench::new();
    let (mut run, _) = asked(&bench);
    // The answer is not durable yet, so its stream is still open.
    run.model(calls(&["look"]));
    assert_eq!(stream_of(&run), (1, 2), "the calls have a stream for the time after");
    run.returns("c1-0", "seen");
    assert_eq!(ended(&bench), Some(2), "that of the answer, and that of the calls");
    // The commit of the answer ends its stream.
    run.model(calls(&["pay", "bill"]));
    assert_eq!((ended(&bench), stream_of(&run)), (Some(3), (4, 4)));
    run.returns("c2-0", "paid");
    assert_eq!(stream_of(&run), (4, 4), "one for all of the step");
    run.returns("c2-1", "billed");
    assert_eq!(ended(&bench), Some(4));
    assert_eq!(run.model_sees().1.stream, 5);
    run.model(text("done"));
    check::at_rest(&bench);
}
