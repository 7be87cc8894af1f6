//! Denied calls: the results that the model gets, and the records that programs get.
//!
//! Requirements: A56, B29, C23, C25, C30, C32, C35, H10, U06.

use holdover_core::agent::OnDenial;
use holdover_core::ending::CancelReason;
use holdover_core::engine::Action;
use holdover_core::gate::{DENIAL_SCHEMA, DenialRecord, DeniedBy};
use holdover_core::ids::ToolName;
use holdover_core::message::{Message, ResultStatus, ToolResult};
use holdover_core::tool::ToolError;

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

/// Returns the only result in the transcript.
fn result(bench: &Bench) -> ToolResult {
    let result = |message| match message {
        Message::Tool(result) => Some(result),
        _ => None,
    };
    let [result] = bench.transcript().into_iter().filter_map(result).collect::<Vec<_>>().try_into().unwrap();
    result
}

fn denial(bench: &Bench) -> DenialRecord {
    result(bench).denial.expect("a denial")
}

/// Requirements: C23.
#[test]
fn c32_the_policys_denial_names_the_tool_the_reason_and_the_arguments() {
    let bench = Bench::new();
    bench.say("do it");
    let mut run = bench.run();
    run.model(calls(&[r#"look:{"what": "forbidden", "token": "s3cret"}"#]));
    run.model(text("a pity"));
    let denied = denial(&bench);
    assert_eq!((denied.schema, denied.denied_by), (DENIAL_SCHEMA, DeniedBy::Permissions));
    assert_eq!((denied.tool.as_str(), denied.reason.as_str()), ("look", "it is forbidden"));
    assert_eq!(denied.rule.as_deref(), Some("the rule of the stories"));
    assert_eq!(denied.arguments, r#"{"token":"***","what":"forbidden"}"#);
    assert_eq!(result(&bench).content, "denied: it is forbidden");
    check::at_rest(&bench);
}

/// Requirements: A56, C25.
#[test]
fn c32_a_persons_denial_says_so() {
    let bench = Bench::new();
    bench.say("edit it");
    bench.run().model(calls(&["edit"]));
    bench.decide(&bench.asked(), |decision| {
        decision.approve = false;
        decision.reason = Some("not today".into());
    });
    bench.run().model(text("a pity"));
    let denied = denial(&bench);
    assert_eq!((denied.denied_by, denied.tool.as_str()), (DeniedBy::User, "edit"));
    assert_eq!(denied.reason, "Permission denied by user: not today");
    assert_eq!(result(&bench).status, ResultStatus::Error);
    check::at_rest(&bench);
}

/// Requirements: C32, U06.
#[test]
fn c30_a_tool_for_people_alone_is_refused_without_asking_the_gate() {
    let bench = Bench::with(|agent| {
        agent.human_only.insert(ToolName::new("look").unwrap());
    });
    bench.say("look");
    let mut run = bench.run();
    run.model(calls(&["look"]));
    run.model(text("a pity"));
    assert_eq!(bench.statuses(), [ResultStatus::Denied]);
    assert_eq!(denial(&bench).denied_by, DeniedBy::HumanOnly);
    assert_eq!(result(&bench).content, "denied: look is for people alone");
    check::at_rest(&bench);
}

#[test]
fn what_nobody_refused_has_no_denial() {
    let bench = Bench::new();
    bench.say("look");
    let mut run = bench.run();
    run.model(calls(&["look"]));
    run.returns("c1-0", "seen");
    run.model(text("done"));
    assert_eq!(result(&bench).denial, None);
    check::at_rest(&bench);
}

#[test]
fn b29_feedback_is_an_error_for_the_model_and_without_it_the_refusal_says_what_to_allow() {
    for (feedback, status, told) in [
        (Some("use the blue one"), ResultStatus::Error, "Permission denied by user: use the blue one"),
        (
            None,
            ResultStatus::RejectedByUser,
            "Permission denied by user. Do not retry without asking. To let it run, ",
        ),
        (
            Some("  "),
            ResultStatus::RejectedByUser,
            "Permission denied by user. Do not retry without asking. To let ",
        ),
    ] {
        let bench = Bench::new();
        bench.say("edit it");
        bench.run().model(calls(&["edit"]));
        bench.decide(&bench.asked(), |decision| {
            (decision.approve, decision.reason) = (false, feedback.map(str::to_owned));
        });
        bench.run().model(text("a pity"));
        let result = result(&bench);
        assert_eq!(result.status, status);
        assert!(result.content.starts_with(told), "{}", result.content);
        assert_eq!(
            status == ResultStatus::RejectedByUser,
            result.content.contains("allow edit for the rest of the session")
        );
        check::at_rest(&bench);
    }
}

#[test]
fn c35_a_call_that_names_no_tool_gets_a_result_with_a_hint() {
    let bench = Bench::new();
    bench.say("do it");
    let mut run = bench.run();
    run.model(calls(&[""]));
    run.model(text("I see"));
    let result = result(&bench);
    assert_eq!(result.status, ResultStatus::Error);
    assert!(result.content.starts_with("the call names no tool; name one; there are: look, put, "));
    check::at_rest(&bench);
}

#[test]
fn h10_a_tool_that_a_client_runs_is_denied_where_the_policy_wants_approval_first() {
    let bench = Bench::new();
    bench.say("ask");
    let mut run = bench.run();
    run.model(calls(&[r#"ask:{"first": "approve first"}"#]));
    assert_eq!(bench.pending(), [], "nobody is asked, neither for approval nor for a result");
    run.model(text("a pity"));
    assert_eq!(bench.statuses(), [ResultStatus::Denied]);
    assert_eq!(denial(&bench).reason, "a tool that a client runs cannot ask for approval");
    check::at_rest(&bench);
}

/// Requirements: A57.
#[test]
fn c25_an_abort_ends_the_batch_with_its_text_whatever_the_agent_does_at_a_denial() {
    for (on_denial, feedback, told, asked_again) in [
        (OnDenial::GoOn, None, "Function call aborted", true),
        (OnDenial::GoOn, Some("wrong customer"), "Function call aborted: wrong customer", true),
        (OnDenial::CancelRest, Some("wrong customer"), "Function call aborted: wrong customer", true),
        (OnDenial::EndTurn, Some("wrong customer"), "Function call aborted: wrong customer", false),
    ] {
        let bench = Bench::with(|agent| agent.on_denial = on_denial);
        bench.say("edit all");
        let mut run = bench.run();
        // The first call was sent; the third has not been asked about yet, or waits like the second.
        run.model(calls(&["look", "edit", "edit"]));
        run.returns("c1-0", "seen");
        let asked = bench.pending().into_iter().next().unwrap();
        bench.decide(&asked, |decision| {
            (decision.approve, decision.aborts) = (false, true);
            decision.reason = feedback.map(str::to_owned);
        });
        let mut run = bench.run();
        assert_eq!(run.is_out("call_model"), asked_again, "{on_denial:?}");
        if asked_again {
            run.model(text("a pity"));
        }
        use ResultStatus::{Cancelled, Done, RejectedByUser};
        assert_eq!(bench.statuses(), [Done, RejectedByUser, Cancelled], "{on_denial:?}");
        assert_eq!(bench.results()[1].content, told);
        assert!(bench.pending().is_empty());
        check::at_rest(&bench);
    }
}

/// Refuses the call and ends its step with it.
fn abort(bench: &Bench) {
    bench.decide(&bench.asked(), |decision| {
        (decision.approve, decision.aborts) = (false, true);
    });
}

/// Returns the calls that were asked to stop, and the reason.
fn asked_to_stop(run: &Run<'_>) -> Vec<(String, CancelReason)> {
    let asked = run.out.iter().filter_map(|action| match action {
        Action::StopCalls { calls, reason, .. } => Some(calls.iter().map(|id| (id.to_string(), *reason))),
        _ => None,
    });
    asked.flatten().collect()
}

#[test]
fn c25_an_abort_stops_the_calls_of_the_batch_that_are_out_and_the_turn_goes_on() {
    use ResultStatus::{Cancelled, Done, InDoubt, RejectedByUser};
    let bench = Bench::new();
    bench.say("do all");
    let mut run = bench.run();
    run.model(calls(&["edit", "note", "put", "pay", "bill"]));
    assert_eq!(run.calls_out(), ["c1-1", "c1-2", "c1-3"], "the bill waits for the payment");
    abort(&bench);
    run.news();
    let reason = CancelReason::UserRejected;
    let expected = ["c1-1", "c1-2", "c1-3"].map(|call| (call.to_owned(), reason));
    assert_eq!(asked_to_stop(&run), expected);
    assert!(!run.is_out("call_model"), "each call says itself what became of it");
    // One had not begun, one returns in time, and of one nobody knows.
    run.comes_back("c1-1", Err(ToolError::NotRun("stopped in time".into())));
    run.returns("c1-2", "put");
    run.comes_back("c1-3", Err(ToolError::Lost("it was on its way".into())));
    assert!(run.is_out("call_model"), "the turn goes on");
    run.model(text("a pity"));
    assert_eq!(bench.statuses(), [RejectedByUser, Cancelled, Done, InDoubt, Cancelled]);
    assert_eq!(bench.sent("c1-4"), 0);
    for cancelled in [1, 4] {
        let told = &bench.results()[cancelled].content;
        assert!(told.starts_with("cancelled (user:rejected): the user refused another call"), "{told}");
    }
    check::at_rest(&bench);
}

#[test]
fn c25_a_run_that_dies_after_an_abort_sends_no_call_of_the_batch_again() {
    let bench = Bench::new();
    bench.say("do all");
    let mut run = bench.run();
    run.model(calls(&["edit", "note", "put"]));
    abort(&bench);
    run.news();
    assert_eq!(asked_to_stop(&run).len(), 2);
    bench.crash(run);
    let mut run = bench.run();
    run.model(text("a pity"));
    use ResultStatus::{InDoubt, RejectedByUser};
    assert_eq!(bench.statuses(), [RejectedByUser, InDoubt, InDoubt]);
    assert_eq!((bench.sent("c1-1"), bench.sent("c1-2")), (1, 1));
    check::at_rest(&bench);
}

#[test]
fn c25_a_call_whose_start_mark_is_on_its_way_at_an_abort_is_not_sent() {
    let bench = Bench::new();
    bench.say("do all");
    let mut run = bench.run();
    run.model(calls(&["edit", "pay", "bill"]));
    assert_eq!(run.calls_out(), ["c1-1"], "the bill waits for the payment");
    for write in ["stage", "commit"] {
        run.hold(write);
    }
    run.returns("c1-1", "paid");
    assert!(
        run.calls_out().is_empty() && (run.is_out("stage") || run.is_out("commit")),
        "the mark is on its way"
    );
    abort(&bench);
    run.news();
    for write in ["stage", "commit"] {
        run.let_go(write);
    }
    run.model(text("a pity"));
    use ResultStatus::{Cancelled, Done, RejectedByUser};
    assert_eq!((bench.statuses(), bench.sent("c1-2")), (vec![RejectedByUser, Done, Cancelled], 0));
    check::at_rest(&bench);
}

#[test]
fn c25_a_plain_refusal_lets_the_calls_that_are_out_go_on() {
    for on_denial in [OnDenial::GoOn, OnDenial::CancelRest] {
        let bench = Bench::with(|agent| agent.on_denial = on_denial);
        bench.say("do all");
        let mut run = bench.run();
        run.model(calls(&["edit", "note"]));
        bench.deny(&bench.asked());
        run.news();
        assert_eq!(asked_to_stop(&run), []);
        run.returns("c1-1", "noted");
        run.model(text("a pity"));
        assert_eq!(bench.statuses(), [ResultStatus::RejectedByUser, ResultStatus::Done]);
        check::at_rest(&bench);
    }
}
