//! Rules and standing approvals that name arguments, and a model that sends the same name twice.
//!
//! Requirements: A50, C31, U06.

use std::sync::Arc;

use futures::TryStreamExt;
use holdover_core::gate::{ApprovalRule, RuleAction, RuleGate};
use holdover_core::message::ResultStatus;
use holdover_core::store::{EventCursor, OutcomeKind};
use holdover_runtime_local::{Approval, Follow};

use crate::bench::{agent, asking_for, completes, finish, only_pending, only_result, runtime, say, store};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

const PLAIN: &str = r#"{"order":{"amount":1}}"#;
/// Arguments from which the tool reads the amount 9999, because it does not know the name `order.amount`.
const SHADOWED: &str = r#"{"order.amount":"1","order":{"amount":9999}}"#;
const TWICE: &str = r#"{"order":{"amount":1,"amount":9999}}"#;

#[tokio::test(start_paused = true)]
async fn c31_an_argument_that_shadows_another_is_not_let_through_and_evades_no_denial() {
    let rule = |action, pattern| ApprovalRule::new("pay", action).where_argument("order.amount", pattern);
    let small =
        || RuleGate::new(vec![rule(RuleAction::Allow, "1*"), ApprovalRule::new("pay", RuleAction::Deny)]);
    let large = || RuleGate::new(vec![rule(RuleAction::Deny, "9*")]);
    for (gate, arguments, status) in [
        (small(), PLAIN, ResultStatus::Done),
        (small(), SHADOWED, ResultStatus::Denied),
        (small(), TWICE, ResultStatus::Error),
        (large(), PLAIN, ResultStatus::Done),
        (large(), SHADOWED, ResultStatus::Denied),
        (large(), TWICE, ResultStatus::Error),
    ] {
        let tool = Fake::echo("pay");
        let model = Script::calling(vec![("pay", arguments)]);
        let agent = Arc::new(agent(&model).tool(tool.clone()).gate(gate).build().unwrap());
        let runtime = runtime(&store(), &agent);
        let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        assert_eq!(only_result(&runtime, &key).await.0, status, "{arguments}");
        assert_eq!(tool.calls().len(), usize::from(status == ResultStatus::Done), "{arguments}");
    }
}

#[tokio::test(start_paused = true)]
async fn u06_a_standing_approval_covers_no_argument_that_shadows_another() {
    let tool = Fake::echo("pay");
    let model = Script::new(|request| match results(request).len() {
        0 => Say::Calls(vec![("pay", PLAIN)]),
        1 => Say::Calls(vec![("pay", SHADOWED)]),
        _ => Say::Text("done"),
    });
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let only = [("order.amount", "1*")].into_iter().collect();
    let always = Approval::default().always_where(only);
    runtime.approve(&key, &only_pending(&runtime, &key).await, always).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::SuspendedClientTool);
    let asked = runtime.pending(&key).await.unwrap().remove(0);
    assert_eq!((asked.body.arguments.as_str(), tool.calls().len()), (SHADOWED, 1));
}

#[tokio::test(start_paused = true)]
async fn a50_the_pattern_of_a_standing_approval_shows_no_secret() {
    const SECRET: &str = r#"{"api_key":"hunter2"}"#;
    let tool = Fake::echo("pay");
    let model = Script::new(|request| match results(request).len() {
        0 | 1 => Say::Calls(vec![("pay", SECRET)]),
        _ => Say::Text("done"),
    });
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let only = [("api_key", "hunter*")].into_iter().collect();
    let always = Approval::default().always_where(only);
    runtime.approve(&key, &only_pending(&runtime, &key).await, always).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool.calls().len(), 2, "the pattern decides as it was given");

    let events: Vec<_> =
        runtime.events(&key, EventCursor::START, Follow::Available).try_collect().await.unwrap();
    let shown: Vec<_> =
        runtime.follow(&key, EventCursor::START, Follow::Available).try_collect().await.unwrap();
    let moves = runtime.moves(&key).await.unwrap();
    for told in [json(&events), json(&shown), json(&moves)] {
        assert!(told.contains(r#""api_key":"[redacted]""#) && !told.contains("hunter"), "{told}");
    }
    let replayed = runtime.replay(&key).await.unwrap();
    assert!(replayed.rebuilt.is_ok() && replayed.differences.is_empty(), "{replayed:?}");
}

fn json(shown: &impl serde::Serialize) -> String {
    serde_json::to_string(shown).unwrap()
}
