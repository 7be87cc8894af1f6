//! Refused calls: what the model is told, and what programs are.
//!
//! Requirements: A56, C23, C25, C32.

use holdover_core::gate::{DENIAL_SCHEMA, DenialRecord, DeniedBy};
use holdover_core::ids::ToolName;
use holdover_core::message::{Message, ResultStatus, ToolResult};

use crate::bench::Bench;
use crate::check;
use crate::world::{calls, text};

/// The only result.
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
    check::at_rest(&bench);
}

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
