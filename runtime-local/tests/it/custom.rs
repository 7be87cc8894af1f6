//! The custom state of sessions.
//!
//! Requirements: H18.

use std::sync::Arc;

use futures::StreamExt;
use holdover_core::custom::StateRules;
use holdover_core::event::Event;
use holdover_core::message::{ClientAnswer, ResultStatus};
use holdover_core::store::{EventCursor, OutcomeKind, PageRequest};
use holdover_core::tool::{EffectClass, ToolOutput};
use holdover_runtime_local::{Agent, AgentError, Approval, Delivered, Follow, Fork, RuntimeError};
use serde_json::{Value, json};

use crate::bench::{
    agent, agentless, asking_for, completes, finish, only_pending, runtime, say, store, tool_results,
};
use crate::script::{Say, Script, results};
use crate::tools::{Fake, spec};

/// Returns a tool that stores its `n` and returns the custom state as it was when the step began.
fn remember(name: &str) -> Fake {
    Fake::new(name, |call| async move {
        let n = call.arguments["n"].clone();
        let told = ToolOutput::text(call.state.to_value().to_string());
        Ok(told.append("all", n.clone()).set("last", n).into())
    })
}

fn rules(schema: Value) -> StateRules {
    StateRules { schema: Some(schema), ..StateRules::default() }
}

/// Returns an agent that makes two calls at once, then one that the schema refuses, then one beside a call that needs
/// approval.
fn clerk() -> Arc<Agent> {
    let model = Script::new(|request| match results(request).len() {
        0 => Say::Calls(vec![("note", r#"{"n":1}"#), ("look", r#"{"n":2}"#)]),
        2 => Say::Calls(vec![("note", r#"{"n":3}"#)]),
        3 => Say::Calls(vec![("look", r#"{"n":4}"#), ("pay", r#"{"n":5}"#)]),
        _ => Say::Text("done"),
    });
    let numbers = json!({ "properties": { "all": { "items": { "not": { "const": 3 } } } } });
    let agent = agent(&model).tool(remember("note").effect(EffectClass::AtMostOnce));
    let agent = agent.tool(remember("look").effect(EffectClass::ReadOnly)).tool(remember("pay"));
    Arc::new(agent.gate(asking_for("pay")).state(rules(numbers)).build().unwrap())
}

#[tokio::test(start_paused = true)]
async fn h18_tools_read_and_change_the_state_of_their_session_and_forks_have_that_of_their_checkpoint() {
    let (agent, store) = (clerk(), store());
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    // Another process, without the agent, reads the state. Changes of the open step are not in it yet.
    let elsewhere = agentless(&store);
    let remembered = || async { elsewhere.custom_state(&key).await.unwrap().to_value() };
    assert_eq!(remembered().await, json!({ "all": [1, 2], "last": 2 }));

    let parked = runtime.checkpoints(&key, PageRequest::default()).await.unwrap().items;
    let newest = parked.first().expect("where it parked, newest first").checkpoint.id;
    let fork = runtime.fork(&key, Fork::at(newest)).await.unwrap().key;
    let forked = runtime.custom_state(&fork).await.unwrap();
    assert_eq!(
        forked.to_value(),
        json!({ "all": [1, 2, 4], "last": 4 }),
        "its done call counts, the open one does not"
    );

    let pending = only_pending(&runtime, &key).await;
    runtime.approve(&key, &pending, Approval::default()).await.unwrap();
    completes(runtime.resume(&key).await.unwrap()).await;
    assert_eq!(remembered().await, json!({ "all": [1, 2, 4, 5], "last": 5 }));

    let told = tool_results(&runtime, &key).await;
    let shown: Vec<&str> = told.iter().map(|result| result.content.as_str()).collect();
    assert_eq!((shown[0], shown[1]), ("{}", "{}"));
    assert_eq!(told[2].status, ResultStatus::Error);
    assert!(shown[2].contains("/all/2") && shown[2].contains("left as it was"), "{}", shown[2]);
    assert_eq!((shown[3], shown[4]), (r#"{"all":[1,2],"last":2}"#, r#"{"all":[1,2],"last":2}"#));
    let events: Vec<_> = runtime.events(&key, EventCursor::START, Follow::Available).collect().await;
    let clashes: Vec<String> = events
        .into_iter()
        .filter_map(|entry| {
            let Event::StateConflict { key, calls } = entry.unwrap().event else { return None };
            Some(format!("{key}: {} of {calls:?}", calls.len()))
        })
        .collect();
    assert_eq!(clashes.len(), 2, "both set the last one: {clashes:?}");
    assert!(clashes.iter().all(|clash| clash.starts_with("last: 2 of ")), "{clashes:?}");
}

#[tokio::test(start_paused = true)]
async fn h18_a_schema_that_is_none_and_a_bound_of_nothing_make_no_agent() {
    let model = Script::new(|_| Say::Text("done"));
    let refused = agent(&model).state(rules(json!({ "type": "nothing" }))).build().unwrap_err();
    assert!(matches!(&refused, AgentError::State { .. }), "{refused:?}");
    let refused =
        agent(&model).state(StateRules { bytes_max: 0, ..StateRules::default() }).build().unwrap_err();
    assert!(matches!(&refused, AgentError::Bound { .. }), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn h18_a_client_changes_the_state_with_its_answer_and_what_is_too_large_is_not_delivered() {
    let model = Script::calling(vec![("scan", r#"{"n":1}"#)]);
    let small = StateRules { bytes_max: 80, ..StateRules::default() };
    let agent = Arc::new(agent(&model).client_tool(spec("scan")).state(small).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let pending = only_pending(&runtime, &key).await;
    // This process knows no agent.
    let elsewhere = agentless(&store);
    let before = runtime.session(&key).await.unwrap();
    let large = ClientAnswer::done("r-7").set("receipt", "x".repeat(60));
    let refused = elsewhere.answer(&key, &pending, large).await.unwrap_err();
    assert!(
        matches!(refused, RuntimeError::TooLong { what: "changes", bytes: 103, bytes_max: 80, .. }),
        "{refused}"
    );
    assert_eq!(runtime.session(&key).await.unwrap(), before, "nothing was delivered");
    let answer = ClientAnswer::done("r-7").append("receipts", "r-7");
    assert_eq!(elsewhere.answer(&key, &pending, answer.clone()).await.unwrap(), Delivered::Accepted);
    assert_eq!(elsewhere.answer(&key, &pending, answer.clone()).await.unwrap(), Delivered::Duplicate);
    let other = elsewhere.answer(&key, &pending, ClientAnswer::done("r-7")).await;
    assert!(matches!(other, Err(RuntimeError::AlreadyAnswered { .. })), "{other:?}");
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(elsewhere.answer(&key, &pending, answer).await.unwrap(), Delivered::Duplicate);
    assert_eq!(runtime.custom_state(&key).await.unwrap().to_value(), json!({ "receipts": ["r-7"] }));
}
