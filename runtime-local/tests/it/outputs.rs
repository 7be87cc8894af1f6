//! Turns that must return a value.
//!
//! Requirements: H07, H08.

use std::sync::Arc;

use holdover_core::message::{Message, ResultStatus};
use holdover_core::store::OutcomeKind;
use holdover_runtime_local::{AgentError, RuntimeError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::bench::{agent, agentless, asking_for, runtime, say, store, tool_results};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bill {
    cents: u32,
}

/// Returns a model that gives these arguments to `finish` one after another, and then repeats the last.
fn saying(values: &'static [&'static str]) -> Script {
    Script::new(move |request| {
        let at = results(request).len().min(values.len() - 1);
        Say::Calls(vec![("finish", values[at])])
    })
}

#[tokio::test(start_paused = true)]
async fn h08_a_value_is_asked_for_until_it_fits_and_comes_back_as_its_type() {
    let model = saying(&[r#"{"cents":"many"}"#, r#"{"cents":1,"cents":2}"#, r#"{"cents":1250}"#]);
    // The gate asks a person about every call, but not about a value, which has no effect.
    let agent = Arc::new(agent(&model).output::<Bill>().gate(asking_for("*")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "what does it cost?")).await.unwrap();
    let key = run.key().clone();
    assert_eq!(run.output::<Bill>().await.unwrap(), Bill { cents: 1250 });

    let told = tool_results(&runtime, &key).await;
    let statuses: Vec<_> = told.iter().map(|result| result.status).collect();
    assert_eq!(statuses, [ResultStatus::Error, ResultStatus::Error, ResultStatus::Done]);
    assert!(told[0].content.contains("/cents"), "names the field: {}", told[0].content);
    let offered = model.asked()[0].tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    assert_eq!(offered, ["finish"]);
    // Another process, without the agent, reads the value.
    let elsewhere = agentless(&store);
    assert_eq!(elsewhere.last_output(&key).await.unwrap(), Some(json!({ "cents": 1250 })));
}

#[tokio::test(start_paused = true)]
async fn h08_who_never_gives_it_fails_the_turn_after_two_more_tries() {
    for model in [saying(&["{}"]), Script::new(|_| Say::Text("it is free"))] {
        let agent = Arc::new(agent(&model).output::<Bill>().build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let run = runtime.execute(say(&agent, "what does it cost?")).await.unwrap();
        let key = run.key().clone();
        let refused = run.output::<Bill>().await.unwrap_err();
        assert!(
            matches!(refused, RuntimeError::Unanswered { outcome: OutcomeKind::Failed, .. }),
            "{refused:?}"
        );
        assert_eq!(model.asked().len(), 3);
        assert_eq!(runtime.last_output(&key).await.unwrap(), None);
        let last = model.asked().pop().unwrap().messages.pop().unwrap();
        let is_told = match &*last {
            Message::Tool(result) => result.content.contains("does not fit"),
            Message::User(said) => said.text.contains("finish"),
            Message::Assistant(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => false,
        };
        assert!(is_told, "{last:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn h08_the_tool_of_the_value_does_not_clash_and_its_schema_is_of_an_object() {
    let model = Script::new(|_| Say::Calls(vec![("finish_2", r#"{"cents":7}"#)]));
    let agent_ = agent(&model).tool(Fake::echo("finish")).output::<Bill>();
    let agent_ = Arc::new(agent_.build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent_);
    let run = runtime.execute(say(&agent_, "go")).await.unwrap();
    assert_eq!(run.output::<Bill>().await.unwrap(), Bill { cents: 7 });

    let refused = agent(&model).output::<Vec<u32>>().build().unwrap_err();
    assert!(matches!(&refused, AgentError::Output { .. }), "{refused:?}");
    let refused =
        agent(&model).output_schema(json!({ "type": "object", "required": 7 })).build().unwrap_err();
    assert!(matches!(&refused, AgentError::Output { .. }), "{refused:?}");
}
