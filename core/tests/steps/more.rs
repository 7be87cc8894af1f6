//! Turns that have reached their step limit, and whose agent asks a person for more steps.
//!
//! Requirements: C42, U12.

use std::time::Duration;

use holdover_core::agent::AtMax;
use holdover_core::ids::MessageSeq;
use holdover_core::machine::DoneReason;
use holdover_core::mailbox::QueueChange;
use holdover_core::message::{CallSignal, Message, PendingBody, WhileAsking};
use holdover_core::store::{InterruptKind, OutcomeKind, PendingKind, SessionStatus};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

fn asking(max_steps: u32) -> Bench {
    Bench::with(|agent| {
        agent.limits.max_steps = max_steps;
        agent.at_max = AtMax::Ask;
    })
}

/// Plays the steps from `from` to `to`, each with one call.
fn steps(run: &mut Run<'_>, from: u32, to: u32) {
    for step in from..=to {
        run.model(calls(&["note"]));
        run.returns(&format!("c{step}-0"), "noted");
    }
}

/// Creates a session that has taken two steps and asks for more.
fn asked() -> Bench {
    let bench = asking(2);
    bench.say("go on and on");
    let mut run = bench.run();
    steps(&mut run, 1, 2);
    assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedClientTool);
    assert_eq!((bench.status(), bench.dones()), (SessionStatus::Suspended, vec![]));
    bench
}

fn last_notice(bench: &Bench) -> String {
    let notices = bench.transcript().into_iter().filter_map(|message| match message {
        Message::Notice(notice) => Some(notice.text),
        _ => None,
    });
    notices.last().expect("a notice")
}

/// Checks that the turn ended as it would have without asking, with no further results.
fn ended(bench: &Bench) {
    assert_eq!((bench.status(), bench.dones()), (SessionStatus::Idle, vec![DoneReason::MaxTurns]));
    assert_eq!(last_notice(bench), "stopped after 2 steps");
    assert_eq!(bench.results().len(), 2);
    check::at_rest(bench);
}

#[test]
fn c42_u12_at_the_limit_a_person_is_asked_and_grants_as_many_steps_again() {
    let bench = asked();
    let pending = bench.asked();
    let body: PendingBody = pending.body.parse().unwrap();
    assert_eq!(
        (&pending.kind, body.tool.as_str(), body.arguments.as_str()),
        (&PendingKind::Approval, "more_steps", r#"{"steps":2}"#)
    );
    let why = "the turn has taken as many steps as it may (2): may it take 2 more?";
    assert_eq!((body.prompt.as_deref(), last_notice(&bench)), (Some(why), why.to_owned()));
    assert!(bench.approve(&pending).is_in());
    let mut run = bench.run();
    steps(&mut run, 3, 4);
    // The first two steps count too, so the limit of four is reached.
    let pending = bench.asked();
    assert!(last_notice(&bench).ends_with("(4): may it take 2 more?"));
    assert!(bench.edit(&pending, r#"{"steps":1}"#).is_in());
    let mut run = bench.run();
    steps(&mut run, 5, 5);
    assert!(bench.approve(&bench.asked()).is_in());
    bench.run().model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
    check::at_rest(&bench);

    // The next turn has only the steps of its agent's limit.
    bench.say("again");
    let mut run = bench.run();
    steps(&mut run, 7, 8);
    assert_eq!(bench.pending().len(), 1);
}

#[test]
fn c42_a_refusal_silence_or_a_stop_of_the_asking_ends_the_turn_as_the_limit_does() {
    let refused = asked();
    assert!(refused.deny(&refused.asked()).is_in());
    assert!(refused.run().is_over());
    ended(&refused);

    let silent = asked();
    assert_eq!(silent.alarm_in(), Some(Duration::from_secs(30 * 60)));
    silent.clock.pass(Duration::from_secs(30 * 60));
    assert!(silent.run().is_over());
    ended(&silent);

    let stopped = asked();
    stopped.signal(&CallSignal::StopCall { call: stopped.asked().call });
    assert!(stopped.run().is_over());
    ended(&stopped);
}

#[test]
fn c42_the_asking_outlives_its_run_and_a_number_that_makes_no_sense_is_asked_again() {
    let bench = asked();
    for wrong in [r#"{"steps":0}"#, r#"{"steps":1001}"#, r#"{"place":1}"#, "bad"] {
        let pending = bench.asked();
        assert!(bench.edit(&pending, wrong).is_in());
        // The run that reads the answer dies before its commit. The next run reads it too.
        let claim = bench.claim().expect("it is due");
        let run = Run::holding(&bench, claim, &["read", "commit"]);
        bench.crash(run);
        let _run = bench.run();
        assert_ne!(bench.asked().id, pending.id, "{wrong}");
        assert_eq!(bench.status(), SessionStatus::Suspended);
    }
    assert!(bench.edit(&bench.asked(), r#"{"steps":1000}"#).is_in());
    let run = Run::holding(&bench, bench.claim().expect("it is due"), &["commit"]);
    bench.crash(run);
    let mut run = bench.run();
    steps(&mut run, 3, 6);
    run.model(text("done"));
    assert_eq!(bench.machine().turn.granted, 1000);
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn c42_a_stop_of_the_turn_takes_the_asking_back_and_a_message_waits_for_it_or_answers_it() {
    let stopped = asked();
    stopped.interrupt(InterruptKind::Soft);
    assert!(stopped.run().is_over());
    assert_eq!((stopped.dones(), stopped.results().len()), (vec![DoneReason::UserAbort], 2));
    check::at_rest(&stopped);

    let waits = asked();
    waits.say("and be quick");
    assert!(waits.run().is_over());
    assert!(waits.approve(&waits.asked()).is_in());
    let mut run = waits.run();
    let (seen, _) = run.model_sees();
    assert!(matches!(seen.last(), Some(Message::User(said)) if said.text == "and be quick"), "{seen:?}");
    run.model(text("done"));
    check::at_rest(&waits);

    let answers = Bench::with(|agent| {
        agent.limits.max_steps = 1;
        agent.at_max = AtMax::Ask;
        agent.on_message_while_asking = WhileAsking::Deny;
    });
    answers.say("go");
    steps(&mut answers.run(), 1, 1);
    answers.say("no, something else");
    assert!(answers.run().is_over());
    assert_eq!(answers.dones(), [DoneReason::MaxTurns]);
    answers.run().model(text("done"));
    assert_eq!(answers.dones(), [DoneReason::MaxTurns, DoneReason::ModelStop]);
    check::at_rest(&answers);
}

#[test]
fn c42_who_answered_at_the_limit_is_asked_once_more_only_for_what_still_stands() {
    for withdrawn in [false, true] {
        let bench = asking(1);
        bench.say("go");
        let mut run = bench.run();
        run.hold("read");
        bench.say("and be quick");
        run.news();
        run.model(text("so far"));
        run.let_go("read");
        assert_eq!(bench.pending().len(), 1, "it would go on, for somebody spoke");
        if withdrawn {
            let (of, _) = bench.queued().remove(0);
            bench.signal(&QueueChange::Withdrawn { of });
        }
        assert!(bench.approve(&bench.asked()).is_in());
        let mut run = bench.run();
        if !withdrawn {
            run.model(text("done"));
        }
        assert_eq!(bench.dones(), [DoneReason::ModelStop]);
        assert_eq!(bench.results().len(), 0);
        check::at_rest(&bench);
    }
}

#[test]
fn c42_a_turn_that_ends_by_itself_at_its_last_step_asks_for_nothing() {
    let bench = asking(1);
    bench.say("go");
    bench.run().model(text("done"));
    assert_eq!((bench.dones(), bench.pending()), (vec![DoneReason::ModelStop], vec![]));
    assert_eq!(bench.session().last_message, MessageSeq(2));
}
