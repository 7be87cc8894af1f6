//! An agent with a procedure: a machine of the user's own over its sessions.
//!
//! Requirements: D01.

use std::time::Duration;

use holdover_core::agent::AgentSpec;
use holdover_core::engine::{STATE_FORMAT_ALONE, STATE_FORMAT_LED};
use holdover_core::ids::ToolName;
use holdover_core::machine::DoneReason;
use holdover_core::message::{Message, MessagePolicy, PendingBody, ResultStatus, Said};
use holdover_core::procedure::{Procedure, ProcedureNature, ProcedureState, Source};
use holdover_core::store::{InterruptKind, OutcomeKind, PendingKind, SessionStatus};
use holdover_core::tool::ToolError;

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn tool(name: &str) -> ToolName {
    ToolName::new(name).unwrap()
}

/// An order: draft, then the payment that somebody outside reports or that is overdue, then shipping, then done.
fn order() -> Procedure {
    let state = ProcedureState::new;
    let draft = state(ProcedureNature::Working).tool(tool("look")).tool(tool("put")).tool(tool("pay"));
    let draft = draft.say("Collect the order.").on("ordered", "payment").unwrap();
    let payment = state(ProcedureNature::Parked).after_ms(3 * 86_400_000);
    let payment = payment.on("paid", "shipping").unwrap().on("overdue", "cancelled").unwrap();
    let shipping = state(ProcedureNature::Working).tool(tool("note")).tool(tool("look")).say("Send it.");
    let shipping = shipping.on("sent", "done").unwrap().on("broken", "cancelled").unwrap();
    let done = state(ProcedureNature::Rest).tool(tool("look")).on("again", "draft").unwrap();
    let cancelled = state(ProcedureNature::Rest).say("Tell the customer.").on("again", "draft").unwrap();
    let inputs = [
        ("ordered", Source::Done(tool("put"))),
        ("paid", Source::Outside),
        ("overdue", Source::Deadline),
        ("sent", Source::Done(tool("note"))),
        ("broken", Source::Failed(tool("note"))),
        ("again", Source::Message),
    ];
    let states = [
        ("draft", draft),
        ("payment", payment.on("refused", "draft").unwrap()),
        ("shipping", shipping),
        ("done", done),
        ("cancelled", cancelled),
    ];
    let mut order = Procedure::new("draft").unwrap().input("refused", Source::Outside).unwrap();
    for (name, source) in inputs {
        order = order.input(name, source).unwrap();
    }
    for (name, rules) in states {
        order = order.state(name, rules).unwrap();
    }
    order
}

fn ordering() -> Bench {
    Bench::with(|agent: &mut AgentSpec| agent.procedure = Some(Box::new(order())))
}

fn stands(bench: &Bench) -> Option<String> {
    bench.machine().procedure.map(|state| state.to_string())
}

/// Returns what the engine told the model about the procedure, oldest first.
fn told(bench: &Bench) -> Vec<String> {
    let texts = bench.transcript().into_iter().filter_map(|message| match message {
        Message::Notice(notice) if notice.told => Some(notice.text),
        Message::User(said) if said.by_engine => Some(said.text),
        _ => None,
    });
    texts.collect()
}

/// Plays the first step of an order, after which the payment is awaited.
fn awaiting() -> Bench {
    let bench = ordering();
    bench.say("two chairs");
    let mut run = bench.run();
    run.model(calls(&["put"]));
    run.returns("c1-0", "ordered");
    assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedClientTool);
    bench
}

/// Returns the tools that the model may call in the step for which it is asked.
fn admitted(bench: &Bench, run: &Run<'_>) -> Vec<String> {
    let (_, call) = run.model_sees();
    let tools = bench.agent.tools.iter().map(|tool| tool.name.to_string());
    tools.filter(|tool| !call.withheld.contains(tool)).collect()
}

#[test]
fn d01_a_procedure_admits_tools_by_state_and_parks_until_somebody_outside_answers() {
    let bench = ordering();
    bench.say("two chairs");
    let mut run = bench.run();
    assert_eq!(
        (stands(&bench).as_deref(), admitted(&bench, &run).join(" ")),
        (Some("draft"), "look put pay".into())
    );
    assert_eq!(bench.session().format, STATE_FORMAT_LED, "an older version would withhold nothing");
    // A call that the state does not admit is not run, and a turn does not end in a working state.
    run.model(calls(&["note"]));
    let refused = bench.results().remove(0);
    assert_eq!(
        (refused.status, refused.content.as_str()),
        (
            ResultStatus::Error,
            "there is no tool \"note\" now in the state draft of the procedure; there are: look, put, pay"
        )
    );
    run.model(text("done?"));
    assert!(
        told(&bench)[1].ends_with("stands in the state draft and cannot end there: put leads to payment.")
    );
    run.model(calls(&["put", "look"]));
    run.returns("c3-1", "seen");
    assert_eq!(stands(&bench).as_deref(), Some("draft"), "the state changes at the end of the step");
    run.returns("c3-0", "ordered");

    // Nothing runs while the payment is awaited.
    assert!(run.is_over());
    assert_eq!((bench.status(), stands(&bench).as_deref()), (SessionStatus::Suspended, Some("payment")));
    assert_eq!((bench.alarm_in(), bench.is_due()), (Some(3 * DAY), false));
    let pending = bench.asked();
    let body: PendingBody = pending.body.parse().unwrap();
    assert_eq!(
        (&pending.kind, body.tool.as_str(), body.arguments.as_str()),
        (&PendingKind::ClientTool, "procedure", r#"{"state":"payment","inputs":["paid","refused"]}"#)
    );
    assert_eq!(
        body.prompt.as_deref(),
        Some("the procedure waits in the state payment; answer with one of: paid, refused")
    );
    assert!(bench.answer(&pending, r#"{"input":"paid","words":"by card"}"#).is_in());
    let mut run = bench.run();
    assert_eq!(
        told(&bench).last().map(String::as_str),
        Some(
            "[procedure, not said by the user] payment -> shipping on paid. The answer says: by card\nSend it.\n\
             Tools in this state: look, note."
        )
    );
    assert_eq!(admitted(&bench, &run).join(" "), "look note");
    run.model(calls(&["note"]));
    run.returns("c4-0", "sent");
    run.model(text("It is on its way."));
    assert_eq!((bench.dones(), stands(&bench).as_deref()), (vec![DoneReason::ModelStop], Some("done")));
    check::at_rest(&bench);

    // A message of the user is an input of this state. A correction from outside is not.
    bench.say_as(Said { correction_by: Some("ann".into()), ..Said::new("be polite") });
    bench.run().model(text("I am."));
    assert_eq!(stands(&bench).as_deref(), Some("done"));
    bench.say("and a table");
    let run = bench.run();
    assert_eq!(
        (stands(&bench).as_deref(), admitted(&bench, &run).join(" ")),
        (Some("draft"), "look put pay".into())
    );
}

#[test]
fn d01_an_answer_that_a_parked_state_does_not_wait_for_is_asked_for_again() {
    let bench = awaiting();
    for wrong in ["sent", "overdue", r#"{"input":"paid","by":"ann"}"#, "no such thing!"] {
        let pending = bench.asked();
        assert!(bench.answer(&pending, wrong).is_in());
        // The run that reads the answer dies before its commit. The next one reads it too.
        let claim = bench.claim().expect("it is due");
        let run = Run::holding(&bench, claim, &["read", "commit"]);
        bench.crash(run);
        let _run = bench.run();
        assert_ne!(bench.asked().id, pending.id, "{wrong}");
        assert_eq!((bench.status(), stands(&bench).as_deref()), (SessionStatus::Suspended, Some("payment")));
    }
    assert!(bench.answer(&bench.asked(), "refused").is_in());
    let run = Run::holding(&bench, bench.claim().expect("it is due"), &["commit"]);
    bench.crash(run);
    let run = bench.run();
    assert_eq!(
        (stands(&bench).as_deref(), admitted(&bench, &run).join(" ")),
        (Some("draft"), "look put pay".into())
    );
}

#[test]
fn d01_the_deadline_of_a_parked_state_brings_its_input_and_the_model_is_told() {
    let bench = awaiting();
    bench.clock.pass(3 * DAY);
    let mut run = bench.run();
    assert_eq!(stands(&bench).as_deref(), Some("cancelled"));
    assert_eq!(bench.pending().len(), 0);
    let last = told(&bench).pop().unwrap();
    assert!(
        last.contains("payment -> cancelled on overdue.\nTell the customer.\nTools in this state: none."),
        "{last}"
    );
    run.model(text("It was not paid."));
    assert_eq!((bench.dones(), bench.status()), (vec![DoneReason::ModelStop], SessionStatus::Idle));
    check::at_rest(&bench);
}

#[test]
fn d01_a_stop_takes_the_wait_back_and_the_next_turn_waits_before_the_model_is_asked() {
    let bench = awaiting();
    bench.interrupt(InterruptKind::Soft);
    assert!(bench.run().is_over());
    assert_eq!((bench.dones(), bench.pending().len()), (vec![DoneReason::UserAbort], 0));
    assert_eq!(stands(&bench).as_deref(), Some("payment"));
    check::at_rest(&bench);

    bench.say("is it paid?");
    assert_eq!(bench.run().outcome().kind(), OutcomeKind::SuspendedClientTool);
    // A message that comes while it waits is read with the answer.
    bench.say("hello?");
    assert!(bench.run().is_over());
    assert_eq!(bench.pending().len(), 1);
    assert!(bench.answer(&bench.asked(), "paid").is_in());
    let run = bench.run();
    let (seen, _) = run.model_sees();
    let said: Vec<_> = seen
        .iter()
        .filter_map(|message| match message {
            Message::User(said) if !said.text.starts_with("[procedure") => Some(said.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["two chairs", "is it paid?", "hello?"]);
    assert_eq!(stands(&bench).as_deref(), Some("shipping"));
}

#[test]
fn d01_only_a_call_that_ran_is_an_input_and_the_calls_of_a_step_count_in_their_order() {
    let bench = awaiting();
    assert!(bench.answer(&bench.asked(), "paid").is_in());
    let mut run = bench.run();
    // The gate refuses the first call, and the second one is not valid. Both are errors, and neither ran.
    run.model(calls(&["note:{\"a\":\"forbidden\"}", "note:bad"]));
    assert_eq!(stands(&bench).as_deref(), Some("shipping"));
    // The second call fails after the first has succeeded. The state done has no row for a failure.
    run.model(calls(&["note", "note"]));
    run.returns("c3-0", "sent");
    run.comes_back("c3-1", Err(ToolError::Failed("no stamps".into())));
    assert_eq!(stands(&bench).as_deref(), Some("done"));
    run.model(text("sent"));
    check::at_rest(&bench);

    let bench = awaiting();
    assert!(bench.answer(&bench.asked(), "paid").is_in());
    let mut run = bench.run();
    run.model(calls(&["note", "note"]));
    run.comes_back("c2-0", Err(ToolError::Failed("no stamps".into())));
    run.returns("c2-1", "sent");
    assert_eq!(stands(&bench).as_deref(), Some("cancelled"));
}

#[test]
fn d01_a_call_that_succeeded_counts_although_its_turn_is_stopped() {
    let bench = ordering();
    bench.say("two chairs");
    let mut run = bench.run();
    run.model(calls(&["put"]));
    bench.interrupt(InterruptKind::Soft);
    run.renew();
    run.news();
    run.returns("c1-0", "ordered");
    assert_eq!((bench.dones(), stands(&bench).as_deref()), (vec![DoneReason::UserAbort], Some("payment")));
    check::at_rest(&bench);
}

#[test]
fn d01_what_is_taken_back_takes_the_state_back() {
    let bench = awaiting();
    assert!(bench.answer(&bench.asked(), "paid").is_in());
    let mut run = bench.run();
    run.model(calls(&["note"]));
    run.returns("c2-0", "sent");
    run.model(text("sent"));
    assert_eq!(stands(&bench).as_deref(), Some("done"));
    bench.say("thanks");
    bench.run().model(calls(&["put"]));
    bench.interrupt(InterruptKind::Soft);
    drop(bench.claim());
    bench.clock.pass(crate::bench::LEASE);
    assert!(bench.run().is_over());
    assert_eq!(stands(&bench).as_deref(), Some("draft"));
    let place = |text: &str| {
        let said = |message: &Message| matches!(message, Message::User(said) if said.text == text);
        bench.transcript().iter().position(said).unwrap() as u64 + 1
    };
    bench.say_instead(place("thanks"), "no, wait");
    let run = bench.run();
    assert_eq!(stands(&bench).as_deref(), Some("draft"), "the new message is an input as well");
    drop(run);
    bench.clock.pass(crate::bench::LEASE);
    bench.run().model(calls(&["put"]));
    bench.interrupt(InterruptKind::Soft);
    bench.clock.pass(crate::bench::LEASE);
    assert!(bench.run().is_over());
    bench.say_instead(1, "one chair");
    let run = bench.run();
    assert_eq!(
        (stands(&bench).as_deref(), admitted(&bench, &run).join(" ")),
        (Some("draft"), "look put pay".into())
    );
    let first = told(&bench).into_iter().filter(|told| told.contains("begins in draft")).count();
    assert_eq!(first, 2, "the work begins again");
}

#[test]
fn d01_the_step_limit_bounds_a_working_state_and_an_agent_without_a_procedure_has_no_state() {
    let bench = Bench::with(|agent| {
        agent.procedure = Some(Box::new(order()));
        agent.limits.max_steps = 3;
    });
    bench.say("go");
    let mut run = bench.run();
    (0..3).for_each(|_| run.model(text("done")));
    assert_eq!((bench.dones(), stands(&bench).as_deref()), (vec![DoneReason::MaxTurns], Some("draft")));

    let without = Bench::new();
    without.say("go");
    without.run().model(text("done"));
    assert_eq!((without.machine().procedure, without.session().format), (None, STATE_FORMAT_ALONE));
}

#[test]
fn d01_a_state_that_the_procedure_of_a_newer_agent_does_not_know_ends_the_turn_with_an_error() {
    let mut bench = awaiting();
    let mut changed = order();
    let payment =
        changed.states.iter().find(|(name, _)| name.as_str() == "payment").map(|(name, _)| name.clone());
    changed.states.remove(&payment.unwrap());
    bench.agent = std::sync::Arc::new(AgentSpec {
        procedure: Some(Box::new(changed)),
        ..AgentSpec::clone(&bench.agent)
    });
    assert!(bench.answer(&bench.asked(), "paid").is_in());
    assert!(bench.run().is_over());
    assert_eq!((bench.dones(), bench.status()), (vec![DoneReason::Error], SessionStatus::Failed));
    check::at_rest(&bench);
}

#[test]
fn d01_a_fork_in_the_middle_of_a_step_follows_the_calls_that_had_ended() {
    let mut procedure = order();
    let draft = procedure.states.iter_mut().find(|(name, _)| name.as_str() == "draft");
    draft.unwrap().1.tools.insert(tool("edit"));
    let bench = Bench::with(|agent| agent.procedure = Some(Box::new(procedure)));
    bench.say("two chairs");
    let mut run = bench.run();
    run.model(calls(&["put", "edit"]));
    run.returns("c1-0", "ordered");
    // The other call waits for a person, so the step is open.
    assert_eq!((bench.status(), stands(&bench).as_deref()), (SessionStatus::Suspended, Some("draft")));
    let handed = bench.hand_off("finish it", false);
    assert_eq!(stands(&handed).as_deref(), Some("payment"));
    assert!(told(&handed).last().is_some_and(|told| told.contains("draft -> payment on ordered")));
}

#[test]
fn d01_a_call_that_was_told_to_stop_or_could_not_be_run_is_no_input() {
    for stopped in [true, false] {
        let bench = awaiting();
        assert!(bench.answer(&bench.asked(), "paid").is_in());
        let mut run = bench.run();
        run.model(calls(&["note"]));
        if stopped {
            bench.interrupt(InterruptKind::Soft);
            run.renew();
            run.news();
            run.comes_back("c2-0", Err(ToolError::Failed("stopped".into())));
            assert_eq!(bench.dones(), [DoneReason::UserAbort]);
        } else {
            run.comes_back("c2-0", Err(ToolError::NotRun("the server is away".into())));
            while !run.is_out("call_model") {
                drop(run);
                bench.clock.pass(Duration::from_secs(60));
                run = bench.run();
                run.comes_back("c2-0", Err(ToolError::NotRun("the server is away".into())));
            }
            assert_eq!(bench.statuses().last(), Some(&ResultStatus::Error));
        }
        assert_eq!(stands(&bench).as_deref(), Some("shipping"), "stopped: {stopped}");
    }
}

#[test]
fn d01_an_input_that_was_accepted_counts_although_the_turn_is_stopped() {
    let bench = awaiting();
    assert!(bench.answer(&bench.asked(), "paid").is_in());
    bench.interrupt(InterruptKind::Soft);
    assert!(bench.run().is_over());
    assert_eq!((bench.dones(), stands(&bench).as_deref()), (vec![DoneReason::UserAbort], Some("shipping")));
    check::at_rest(&bench);

    // A message that interrupts comes after the answer, and before any run.
    let bench = awaiting();
    assert!(bench.answer(&bench.asked(), "paid").is_in());
    bench.say_under(MessagePolicy::Interrupt, "hello?");
    let run = bench.run();
    assert_eq!(
        (stands(&bench).as_deref(), admitted(&bench, &run).join(" ")),
        (Some("shipping"), "look note".into())
    );
}

#[test]
fn d01_the_words_of_an_answer_are_kept_if_a_newer_procedure_has_no_row_for_it() {
    let mut bench = awaiting();
    let mut changed = order();
    let payment = changed.states.iter_mut().find(|(name, _)| name.as_str() == "payment").unwrap().1;
    payment.on.retain(|input, _| input.as_str() != "paid");
    bench.agent = std::sync::Arc::new(AgentSpec {
        procedure: Some(Box::new(changed)),
        ..AgentSpec::clone(&bench.agent)
    });
    assert!(bench.answer(&bench.asked(), r#"{"input":"paid","words":"by card"}"#).is_in());
    assert!(bench.run().is_over());
    assert_eq!((bench.dones(), stands(&bench).as_deref()), (vec![DoneReason::Error], Some("payment")));
    let last = told(&bench).pop().unwrap();
    assert_eq!(last, "[procedure, not said by the user] The answer paid says: by card");
    check::at_rest(&bench);
}

#[test]
fn d01_messages_that_are_taken_back_lead_to_no_state_that_the_procedure_does_not_know() {
    let mut bench = awaiting();
    bench.interrupt(InterruptKind::Soft);
    assert!(bench.run().is_over());
    bench.say("is it paid?");
    assert_eq!(bench.run().outcome().kind(), OutcomeKind::SuspendedClientTool);
    assert!(bench.answer(&bench.asked(), "paid").is_in());
    let mut run = bench.run();
    run.model(calls(&["note"]));
    run.returns("c2-0", "sent");
    run.model(text("sent"));
    assert_eq!(stands(&bench).as_deref(), Some("done"));
    let said = |message: &Message| matches!(message, Message::User(said) if said.text == "is it paid?");
    let place = bench.transcript().iter().position(said).unwrap() as u64 + 1;
    // Another agent has taken over. It has no state of the name payment.
    let begun = ProcedureState::new(ProcedureNature::Rest).tool(tool("look"));
    bench.agent = std::sync::Arc::new(AgentSpec {
        procedure: Some(Box::new(Procedure::new("begun").unwrap().state("begun", begun).unwrap())),
        ..AgentSpec::clone(&bench.agent)
    });
    bench.say_instead(place, "no, wait");
    let run = bench.run();
    assert_eq!((stands(&bench).as_deref(), admitted(&bench, &run).join(" ")), (Some("begun"), "look".into()));
}
