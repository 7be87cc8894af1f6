//! Handoffs: a new session begins from a goal, with an extract of the old one.
//!
//! Requirements: B03, B04, B50.

use holdover_core::agent::Fallback;
use holdover_core::compaction::EXTRACT_MARKER;
use holdover_core::engine::{ATTEMPTS_MAX, Action};
use holdover_core::event::{Event, SummaryCause};
use holdover_core::handoff::{GOAL_BYTES_MAX, Goal, InvalidGoal};
use holdover_core::ids::MessageSeq;
use holdover_core::letter::{Letter, LetterCause};
use holdover_core::machine::glance::{Inference, Interaction};
use holdover_core::machine::{AgentState, DoneReason, Glance, StopCause};
use holdover_core::message::{Message, SignalBody};
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{InterruptKind, SessionStatus};

use crate::bench::Bench;
use crate::check;
use crate::letters::replay;
use crate::run::{Run, kind_of};
use crate::world::{calls, overloaded, text};

const GOAL: &str = "paint the door";
const EXTRACT: &str = "the blue paint is in the shed";

/// Creates a session with two finished turns. Its newest message has number 6.
fn old() -> Bench {
    old_with(Bench::new())
}

fn old_with(bench: Bench) -> Bench {
    bench.say("what paint is there?");
    let mut run = bench.run();
    run.model(calls(&["look"]));
    run.returns("c1-0", "red in the house, blue in the shed");
    run.model(text("red and blue"));
    drop(run);
    bench.say("thanks");
    bench.run().model(text("welcome"));
    bench
}

fn interaction(bench: &Bench) -> Interaction {
    Glance::of(&bench.session(), &bench.machine(), None).interaction
}

fn resume(bench: &Bench) {
    bench.signal(&SignalBody::Resume);
}

/// Returns the text of each user message and the role of each other message.
fn words(messages: &[Message]) -> Vec<String> {
    let word = |message: &Message| match message {
        Message::User(said) => said.text.clone(),
        other => other.role().to_owned(),
    };
    messages.iter().map(word).collect()
}

fn seen(run: &Run<'_>) -> Vec<String> {
    words(&run.model_sees().0)
}

fn extract() -> String {
    format!("{EXTRACT_MARKER}\n\n{EXTRACT}")
}

/// Requirements: B03, B04.
#[test]
fn b50_a_new_session_works_on_a_goal_with_what_of_the_old_one_matters_for_it() {
    let source = old();
    let before = (source.session(), source.roles(), check::events(&source));
    let bench = source.hand_off(GOAL, false);
    assert_eq!((bench.status(), bench.is_due()), (SessionStatus::Interrupted, false), "it rests");
    assert_eq!(interaction(&bench), Interaction::Handoff);
    resume(&bench);
    let mut run = bench.run();
    assert!(run.is_out("summarise") && !run.is_out("call_model"), "{:?}", run.out);
    assert!(matches!(run.steps.machine().state, AgentState::Compacting { .. }));
    assert_eq!(interaction(&bench), Interaction::Handoff, "B04: before all else");
    let shown = run.summarise(EXTRACT).expect("there is something old");
    assert_eq!(
        words(&shown),
        ["what paint is there?", "assistant", "tool", "assistant", "thanks", "assistant"],
        "all of the old conversation, and not the goal"
    );
    assert_eq!(seen(&run), [extract(), GOAL.to_owned()]);
    assert_eq!(interaction(&bench), Interaction::Nothing, "the extract exists, the model is at work");
    run.model(text("it is blue"));
    assert_eq!((bench.status(), interaction(&bench)), (SessionStatus::Idle, Interaction::UserMessageReply));
    assert_eq!(bench.dones(), [DoneReason::ModelStop; 3]);
    check::at_rest(&bench);
    // Later turns see the extract too, and none of the old messages is deleted.
    bench.say("and the frame?");
    let run = bench.run();
    assert_eq!(seen(&run), [&*extract(), GOAL, "assistant", "and the frame?"]);
    assert_eq!(bench.roles()[..6], source.roles()[..6]);
    assert_eq!((source.session(), source.roles(), check::events(&source)), before, "the source is as it was");
}

#[test]
fn b50_the_events_tell_from_where_and_why() {
    let source = old();
    let bench = source.hand_off(GOAL, false);
    let goal = MessageSeq(7);
    let told = |wanted: &dyn Fn(&Event) -> bool| check::events(&bench).iter().any(wanted);
    assert!(told(&|event| matches!(
        event,
        Event::Forked { from, goal: Some(at), .. } if *from == source.key && *at == goal
    )));
    resume(&bench);
    let mut run = bench.run();
    run.summarise(EXTRACT);
    run.model(text("done"));
    let handoff = SummaryCause::Handoff;
    assert!(told(&|event| matches!(event, Event::CompactionStarted { cause, .. } if *cause == handoff)));
    assert!(told(&|event| matches!(
        event,
        Event::CompactionEnded { cause, error: None, before, after, .. } if *cause == handoff && after < before
    )));
    assert_eq!(bench.transcript()[goal.0 as usize - 1].role(), "user");
}

#[test]
fn b50_a_draft_waits_once_its_extract_exists() {
    let bench = old().hand_off(GOAL, true);
    assert_eq!(interaction(&bench), Interaction::Handoff);
    resume(&bench);
    let mut run = bench.run();
    run.summarise(EXTRACT).expect("old");
    assert!(run.is_over() && !run.is_out("call_model"), "{:?}", run.out);
    drop(run);
    let glance = Glance::of(&bench.session(), &bench.machine(), None);
    assert_eq!(glance.interaction, Interaction::UserMessageInitial);
    assert_eq!((glance.inference, glance.status), (Inference::Idle, SessionStatus::Interrupted));
    let AgentState::Done { ending, .. } = bench.machine().state else { panic!("it rests") };
    assert_eq!(ending.cause, StopCause::HandedOff);
    assert!(!bench.is_due());
    check::at_rest(&bench);
    resume(&bench);
    let mut run = bench.run();
    assert_eq!(seen(&run), [extract(), GOAL.to_owned()], "the draft is what is worked on");
    run.model(text("done"));
    assert_eq!(bench.status(), SessionStatus::Idle);
    check::at_rest(&bench);
}

#[test]
fn b50_the_goal_of_a_draft_is_said_otherwise_and_the_extract_stays() {
    let bench = old().hand_off(GOAL, true);
    resume(&bench);
    bench.run().summarise(EXTRACT);
    bench.say_instead(7, "paint the window");
    let mut run = bench.run();
    assert!(!run.is_out("summarise"));
    assert_eq!(seen(&run), [extract(), "paint the window".to_owned()]);
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn b50_what_is_said_to_a_draft_that_is_not_prepared_yet_is_answered() {
    for resumed in [false, true] {
        let bench = old().hand_off(GOAL, true);
        if resumed {
            resume(&bench);
        }
        bench.say("by noon");
        let mut run = bench.run();
        run.summarise(EXTRACT).expect("old");
        assert_eq!(seen(&run), [&*extract(), GOAL, "by noon"]);
        run.model(text("done"));
        drop(run);
        assert_eq!(bench.status(), SessionStatus::Idle);
        check::at_rest(&bench);
    }
    // A message that arrives while the extract is made is worked on as soon as the draft is ready.
    let bench = old().hand_off(GOAL, true);
    resume(&bench);
    let mut run = bench.run();
    bench.say("by noon");
    run.summarise(EXTRACT).expect("old");
    drop(run);
    while bench.is_due() {
        assert!(run_until(&bench, &mut None, true));
    }
    let view = words(&bench.view(bench.session().last_message));
    assert_eq!(view, [&*extract(), GOAL, "by noon", "assistant"]);
    assert_eq!(bench.status(), SessionStatus::Idle);
    check::at_rest(&bench);
}

#[test]
fn b50_what_is_said_to_a_session_that_is_not_prepared_yet_stands_behind_its_goal() {
    let bench = old().hand_off(GOAL, false);
    bench.say("by noon");
    let mut run = bench.run();
    let shown = run.summarise(EXTRACT).expect("old");
    assert_eq!(shown.len(), 6);
    assert_eq!(seen(&run), [&*extract(), GOAL, "by noon"]);
    run.model(text("done"));
    check::at_rest(&bench);
    // An edit of the goal keeps the handoff. An edit of an earlier message ends it.
    let bench = old().hand_off(GOAL, false);
    bench.say_instead(7, "paint the window");
    let mut run = bench.run();
    run.summarise(EXTRACT).expect("old");
    assert_eq!(seen(&run), [extract(), "paint the window".to_owned()]);
    let bench = old().hand_off(GOAL, false);
    bench.say_instead(5, "and glue?");
    let run = bench.run();
    assert!(!run.is_out("summarise"));
    assert_eq!(seen(&run), ["what paint is there?", "assistant", "tool", "assistant", "and glue?"]);
    drop(run);
    assert_eq!(bench.machine().handoff, None);
}

#[test]
fn b50_an_extract_that_cannot_be_made_fails_the_turn_and_is_tried_again_when_somebody_asks() {
    let bench = old().hand_off(GOAL, false);
    resume(&bench);
    let mut run = bench.run();
    run.no_summary(ModelError::new(ModelErrorKind::Auth, "broken"));
    assert!(run.is_over(), "{:?}", run.out);
    drop(run);
    assert_eq!(bench.status(), SessionStatus::Failed);
    assert_eq!(bench.dones().last(), Some(&DoneReason::Error));
    assert_eq!(interaction(&bench), Interaction::Handoff, "it does not exist yet");
    assert_eq!(bench.machine().view.failures, 0, "it says nothing of summaries");
    check::at_rest(&bench);
    bench.retry();
    let mut run = bench.run();
    run.summarise(" \n").expect("an empty one is none");
    assert!(!run.is_out("call_model"));
    drop(run);
    bench.clock.pass(std::time::Duration::from_secs(3_600));
    if bench.status() == SessionStatus::Failed {
        bench.retry();
    }
    let mut run = bench.run();
    run.summarise(EXTRACT).expect("old");
    assert_eq!(seen(&run), [extract(), GOAL.to_owned()]);
    run.model(text("done"));
    assert_eq!(bench.status(), SessionStatus::Idle);
    check::at_rest(&bench);
}

#[test]
fn c52_an_extract_whose_retries_ran_out_leaves_a_letter_and_its_replay_makes_it() {
    let source = Bench::with(|agent| agent.retries.model_waits_ms = vec![60_000]);
    let bench = old_with(source).hand_off(GOAL, false);
    resume(&bench);
    for _ in 0..2 {
        bench.run().no_summary(overloaded(None));
        bench.clock.pass(std::time::Duration::from_secs(60));
    }
    let asked = bench.asked();
    let letter = Letter::of(&asked).unwrap();
    assert_eq!((letter.cause, letter.attempts), (LetterCause::Retries, 2));
    check::at_rest(&bench);
    assert!(replay(&bench, &asked).is_in());
    let mut run = bench.run();
    run.summarise(EXTRACT).expect("old");
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn b50_an_extract_is_tried_again_as_a_step_is_and_asked_of_the_next_model() {
    let source = Bench::with(|agent| {
        agent.fallback = vec![Fallback { model: "other".into(), prices: None }];
        agent.retries.model_waits_ms = vec![60_000];
    });
    let bench = old_with(source).hand_off(GOAL, false);
    resume(&bench);
    let mut run = bench.run();
    run.no_summary(overloaded(None));
    assert!(run.is_over(), "a minute is long: it parks");
    drop(run);
    assert_eq!((bench.status(), interaction(&bench)), (SessionStatus::Suspended, Interaction::Handoff));
    bench.clock.pass(std::time::Duration::from_secs(120));
    let mut run = bench.run();
    let asked = |run: &Run<'_>| {
        run.out.iter().find_map(|action| match action {
            Action::Summarise { model, attempt, .. } => Some((*model, *attempt)),
            _ => None,
        })
    };
    assert_eq!(asked(&run), Some((0, 1)), "the same model, for the second time");
    run.no_summary(overloaded(None));
    assert_eq!(asked(&run), Some((1, 0)), "no wait is left: {:?}", run.out);
    run.summarise(EXTRACT).expect("old");
    assert_eq!(seen(&run), [extract(), GOAL.to_owned()]);
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn b50_a_handoff_is_stopped_and_taken_up_again() {
    let bench = old().hand_off(GOAL, false);
    resume(&bench);
    let mut run = bench.run();
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert!(run.is_over(), "{:?}", run.steps.machine());
    drop(run);
    assert_eq!((bench.status(), interaction(&bench)), (SessionStatus::Interrupted, Interaction::Handoff));
    check::at_rest(&bench);
    // A request for a summary does not make the extract.
    bench.compact();
    assert!(bench.run().is_over());
    resume(&bench);
    let mut run = bench.run();
    run.summarise(EXTRACT).expect("old");
    assert_eq!(seen(&run), [extract(), GOAL.to_owned()]);
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn b50_an_extract_takes_no_longer_than_its_turn_may_and_is_made_for_what_is_said_next() {
    let bench = old().hand_off(GOAL, false);
    resume(&bench);
    let mut run = bench.run();
    assert!(run.is_out("summarise"));
    run.wait();
    run.take("stop_model");
    assert!(run.is_over(), "{:?}", run.steps.machine());
    drop(run);
    assert_eq!(bench.dones().last(), Some(&DoneReason::BudgetExceeded));
    assert_eq!(interaction(&bench), Interaction::Handoff);
    check::at_rest(&bench);
    bench.say("go on");
    let mut run = bench.run();
    run.summarise(EXTRACT).expect("old");
    assert_eq!(seen(&run), [&*extract(), GOAL, "go on"]);
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn b50_a_handoff_that_kills_its_runs_fails_and_can_be_tried_again() {
    let bench = old().hand_off(GOAL, false);
    resume(&bench);
    for _ in 0..=ATTEMPTS_MAX {
        let Some(claim) = bench.claim() else { break };
        let run = bench.start(claim);
        if run.is_over() {
            break;
        }
        assert!(run.is_out("summarise"));
        bench.crash(run);
    }
    assert_eq!(bench.status(), SessionStatus::Failed);
    bench.retry();
    let mut run = bench.run();
    run.summarise(EXTRACT).expect("old");
    run.model(text("done"));
    assert_eq!(bench.status(), SessionStatus::Idle);
    check::at_rest(&bench);
}

#[test]
fn b50_from_the_middle_of_a_turn_what_was_open_stays_behind() {
    let source = Bench::new();
    source.say("pay");
    let mut run = source.run();
    run.model(calls(&["ask"]));
    assert!(run.is_over(), "it waits for its client: {:?}", run.out);
    drop(run);
    let bench = source.hand_off(GOAL, false);
    assert_eq!(source.pending().len(), 1, "only the source is owed an answer");
    resume(&bench);
    let mut run = bench.run();
    let shown = run.summarise(EXTRACT).expect("old");
    assert_eq!(words(&shown), ["pay", "assistant", "tool"]);
    run.model(text("done"));
    assert_eq!((source.status(), bench.status()), (SessionStatus::Suspended, SessionStatus::Idle));
    check::invariants(&bench);
}

/// Plays one run of the session that takes over, in which every action waits its turn. The run dies when the count in
/// `stop` is used up. Returns true if the session was not due, or if the run came to its end.
fn run_until(bench: &Bench, stop: &mut Option<usize>, answered: bool) -> bool {
    let Some(claim) = bench.claim() else { return true };
    let mut run = Run::holding(bench, claim, &["read", "commit", "stage", "consult"]);
    while let Some(next) = run.out.front().map(kind_of) {
        let dies = stop.as_mut().is_some_and(|left| {
            *left = left.saturating_sub(1);
            *left == 0
        });
        match next {
            _ if dies && !answered && ["read", "commit"].contains(&next) => {
                // The action is performed, but the run does not get the reply.
                let _ = run.perform_silently(next);
            }
            "call_model" => run.model(text("done")),
            "summarise" => drop(run.summarise(EXTRACT)),
            other => run.perform(other),
        }
        if dies {
            *stop = None;
            bench.crash(run);
            return false;
        }
    }
    run.is_over()
}

#[test]
fn b50_killed_at_any_action_the_next_run_goes_on() {
    for (draft, answered) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut actions = 0;
        for at in 1.. {
            let bench = old().hand_off(GOAL, draft);
            resume(&bench);
            let mut stop = Some(at);
            let mut runs = 0;
            while bench.is_due() {
                run_until(&bench, &mut stop, answered);
                runs += 1;
                assert!(runs < 9, "it comes to no end: {:?}", bench.machine());
            }
            let summaries = bench.roles().iter().filter(|role| **role == "summary").count();
            assert_eq!(summaries, 1, "draft {draft}, killed after {at}");
            let expected = if draft { SessionStatus::Interrupted } else { SessionStatus::Idle };
            assert_eq!((bench.status(), bench.machine().handoff), (expected, None));
            let view = words(&bench.view(bench.session().last_message));
            assert_eq!(view[..2], [extract(), GOAL.to_owned()], "draft {draft}, killed after {at}");
            check::invariants(&bench);
            check::at_rest(&bench);
            if stop.is_some() {
                actions = at;
                break;
            }
        }
        assert!(actions > 4, "there is something to be killed at: {actions}");
    }
}

#[test]
fn b50_a_goal_says_something_within_bounds() {
    assert_eq!(Goal::new(" \n"), Err(InvalidGoal::Empty));
    assert_eq!(Goal::new("x".repeat(GOAL_BYTES_MAX)).map(drop), Ok(()));
    let bytes = GOAL_BYTES_MAX + 1;
    assert_eq!(Goal::new("x".repeat(bytes)), Err(InvalidGoal::TooLong { bytes }));
}
