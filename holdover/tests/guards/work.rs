//! The workload W: a session of a given number of steps.

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream;
use holdover::agent::{Compaction, Limits, LoopDetection};
use holdover::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, TokenUsage,
};
use holdover::prelude::*;
use holdover::session::OutcomeKind;
use holdover::store::StateStore;
use holdover::tools::{Access, ResourceProfile, RunsOn, Tool, ToolReturn, ToolSpec};
use serde_json::{Value, json};

const BYTES: usize = 200;

/// A model that makes one call in each of this many steps.
struct Scripted(u64);

#[async_trait]
impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted:w"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let (parts, stop) = if request.step <= self.0 {
            let call = AnswerPart::Call { tool: "send".into(), arguments: "{}".into() };
            (vec![AnswerPart::Text("w".repeat(BYTES)), call], StopReason::ToolUse)
        } else {
            (vec![AnswerPart::Text("All of it is done.".into())], StopReason::EndTurn)
        };
        let answer = ModelAnswer {
            parts,
            stop,
            usage: TokenUsage { input: 1000, output: 100, ..TokenUsage::default() },
        };
        Ok(Box::pin(stream::iter([Ok(ModelEvent::Finished(answer))])))
    }
}

struct Send(ToolSpec);

#[async_trait]
impl Tool for Send {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        ResourceProfile::key("letters", Access::Write)
    }

    async fn call(&self, _call: ToolCall) -> Result<ToolReturn, ToolError> {
        Ok(ToolOutput::text("r".repeat(BYTES)).into())
    }
}

/// Runs a new session of `steps` steps to its end.
pub(crate) async fn session(store: &Arc<dyn StateStore>, steps: u64) {
    let send = ToolSpec {
        name: ToolName::new("send").unwrap(),
        description: "Sends a letter".into(),
        parameters: json!({ "type": "object" }),
        effect: EffectClass::AtMostOnce,
        dangerous: false,
        runs_on: RunsOn::Server,
        timeout_ms: None,
    };
    let agent = Agent::builder("w")
        .tool(Send(send))
        .model(Scripted(steps))
        .limits(Limits::default().max_steps(u32::MAX).max_run_ms(None))
        .loops(LoopDetection::OFF)
        .compaction(Compaction::OFF)
        .build();
    let agent = Arc::new(agent.unwrap());
    let agents = Agents::new().with(Arc::clone(&agent));
    // A store in memory survives nothing, but no effect here needs it to.
    let options = RuntimeOptions::default().effects_override(Some("memory".into()));
    let runtime = Runtime::new(Arc::clone(store), agents, options);
    let run = runtime.execute(Execute::new(TenantId::new("acme").unwrap(), agent, "go")).await.unwrap();
    assert_eq!(run.outcome().await.unwrap().kind(), OutcomeKind::Completed);
}
