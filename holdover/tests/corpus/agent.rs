//! The agent of the corpus. The last user message tells its model what to do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use holdover::agent::{Compaction, Limits};
use holdover::gates::{ApprovalTerms, Approvers};
use holdover::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
    StopReason, TokenUsage,
};
use holdover::prelude::*;
use holdover::session::Message;
use holdover::tools::{ResourceProfile, Tool, ToolReturn, ToolSpec};
use serde_json::{Value, json};

/// The time at which the agent is built. When leaving, some of its calls and answers never end, and some of its
/// requests to the model fail; when going on, all of them succeed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Leaving,
    GoingOn,
}

/// The names of the tools whose calls were sent, in order.
pub(crate) type Sent = Arc<Mutex<Vec<String>>>;

pub(crate) fn agent(when: When, sent: &Sent) -> Arc<Agent> {
    let two = Approvers::of(Vec::<String>::new(), 2);
    let two = ApprovalTerms::default().approvers(two);
    let rules = vec![
        ApprovalRule::new("pay", RuleAction::Ask),
        ApprovalRule::new("grant", RuleAction::Ask).on_terms(two),
    ];
    let mut agent = Agent::builder("tester")
        .instructions("Test.")
        .model(Told(when))
        .limits(Limits::default().answer_timeout_ms(None))
        .compaction(Compaction::default().kept_turns(1))
        .client_tool(spec("ask", EffectClass::Idempotent))
        .gate(RuleGate::new(rules));
    let tools = [
        ("pay", EffectClass::AtMostOnce),
        ("grant", EffectClass::AtMostOnce),
        ("hold", EffectClass::AtMostOnce),
        ("book", EffectClass::Idempotent),
        ("sleep", EffectClass::Idempotent),
        ("look", EffectClass::ReadOnly),
    ];
    for (name, effect) in tools {
        agent = agent.tool(Does { spec: spec(name, effect), when, sent: Arc::clone(sent) });
    }
    Arc::new(agent.build().unwrap())
}

pub(crate) fn spec(name: &str, effect: EffectClass) -> ToolSpec {
    ToolSpec {
        name: ToolName::new(name).unwrap(),
        description: format!("the tool {name}"),
        parameters: json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
        effect,
        dangerous: false,
        runs_on: Default::default(),
        timeout_ms: None,
    }
}

pub(crate) struct Does {
    pub(crate) spec: ToolSpec,
    pub(crate) when: When,
    pub(crate) sent: Sent,
}

#[async_trait]
impl Tool for Does {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _: &Value) -> ResourceProfile {
        ResourceProfile::Keys(Vec::new())
    }

    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError> {
        let name = self.spec.name.as_str();
        self.sent.lock().unwrap().push(name.to_owned());
        match name {
            "pay" | "grant" | "hold" if self.when == When::Leaving => futures::future::pending().await,
            "sleep" => {
                let delay = Duration::from_secs(5);
                Ok(ToolReturn::After { delay, output: ToolOutput::text("slept") })
            }
            _ => Ok(ToolOutput::text(call.arguments.to_string()).into()),
        }
    }
}

struct Told(When);

#[async_trait]
impl Model for Told {
    fn name(&self) -> &str {
        "test:script"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let mut said = request.messages.iter().rev();
        let (mut told, mut answered) = ("", false);
        let _ = said.find(|message| match &***message {
            Message::User(said) => {
                told = &said.text;
                true
            }
            Message::Tool(_) => {
                answered = true;
                false
            }
            Message::Assistant(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => false,
        });
        let leaving = self.0 == When::Leaving;
        let calls: &[(&str, &str)] = match told {
            _ if answered => &[],
            "approval" | "in-the-middle" | "queued" => &[("look", "{}"), ("pay", r#"{"n":7}"#)],
            "one-of-two" => &[("grant", r#"{"n":2}"#)],
            "client" => &[("ask", "{}")],
            "sleeps" => &[("sleep", "{}")],
            "staged" => &[("book", r#"{"n":1}"#), ("hold", r#"{"n":2}"#)],
            "backs-off" if leaving => return Err(ModelError::new(ModelErrorKind::RateLimited, "slow down")),
            "failed" if leaving => return Err(ModelError::new(ModelErrorKind::Auth, "no key")),
            "interrupted" if leaving => return Ok(futures::stream::pending().boxed()),
            "mid-answer" | "to-abort" if leaving => {
                let begun = ["It ", "is "].map(|piece| Ok(ModelEvent::Text(piece.into())));
                return Ok(futures::stream::iter(begun).chain(futures::stream::pending()).boxed());
            }
            _ => &[],
        };
        let call = |(tool, arguments): &(&str, &str)| AnswerPart::Call {
            tool: (*tool).into(),
            arguments: (*arguments).into(),
        };
        let (parts, stop) = match calls {
            [] => (vec![AnswerPart::Text("done".into())], StopReason::EndTurn),
            calls => (calls.iter().map(call).collect(), StopReason::ToolUse),
        };
        let usage = TokenUsage { input: 1, output: 1, ..TokenUsage::default() };
        let answer = ModelAnswer { parts, stop, usage };
        Ok(futures::stream::iter([Ok(ModelEvent::Finished(answer))]).boxed())
    }
}
