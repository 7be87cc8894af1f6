//! What is measured: an agent as a service would embed it, with a model that answers at once.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use holdover::{
    Access, Agent, AgentError, Agents, AnswerPart, EffectClass, Execute, Limits, Model, ModelAnswer,
    ModelError, ModelEvent, ModelRequest, ModelStream, OutcomeKind, ResourceProfile, RunsOn, Runtime,
    RuntimeOptions, SessionId, SqliteOptions, SqliteStore, StateStore, StopReason, TenantId, TokenUsage,
    Tool, ToolCall, ToolError, ToolName, ToolOutput, ToolReturn, ToolSpec,
};
use serde_json::{Value, json};

use crate::Failed;

/// What the tool answers: 4 KB.
pub(crate) const RESULT_BYTES: usize = 4096;

/// Called when the model is asked for a step.
pub(crate) type OnStep = Arc<dyn Fn(u64) -> BoxFuture<'static, ()> + Send + Sync>;

/// Asks for one tool call at each step up to the last, then says one sentence.
struct AtOnce {
    steps: u64,
    on_step: Option<OnStep>,
}

#[async_trait]
impl Model for AtOnce {
    fn name(&self) -> &str {
        "scripted:at-once"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        if let Some(on_step) = &self.on_step {
            on_step(request.step).await;
        }
        let (part, stop) = if request.step <= self.steps {
            let arguments = json!({ "about": "growth", "step": request.step }).to_string();
            (AnswerPart::Call { tool: "send".into(), arguments }, StopReason::ToolUse)
        } else {
            (AnswerPart::Text("All of it is done.".into()), StopReason::EndTurn)
        };
        let usage = TokenUsage { input: 1000, output: 100, ..TokenUsage::default() };
        let answer = ModelAnswer { parts: vec![part], stop, usage };
        Ok(Box::pin(futures::stream::iter([Ok(ModelEvent::Finished(answer))])))
    }
}

/// A tool with an effect, so that each step has its two durable points.
struct Letters {
    spec: ToolSpec,
    answer: String,
}

impl Letters {
    fn new() -> Result<Self, Failed> {
        let parameters = json!({
            "type": "object",
            "properties": { "about": { "type": "string" }, "step": { "type": "integer" } },
        });
        let spec = ToolSpec {
            name: ToolName::new("send")?,
            description: "Sends a letter and answers with 4 KB".into(),
            parameters,
            effect: EffectClass::AtMostOnce,
            dangerous: false,
            runs_on: RunsOn::Server,
            timeout_ms: None,
        };
        // Not one letter over and over: what is stored may be compressed by the file system.
        let answer =
            (0..RESULT_BYTES).map(|at| char::from(b'a' + u8::try_from(at * at * 7 % 26).unwrap_or(0)));
        Ok(Self { spec, answer: answer.collect() })
    }
}

#[async_trait]
impl Tool for Letters {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        ResourceProfile::key("letters", Access::Write)
    }

    async fn call(&self, _call: ToolCall) -> Result<ToolReturn, ToolError> {
        Ok(ToolOutput::text(self.answer.clone()).into())
    }
}

/// An agent whose turns have so many steps with a call, and one more that ends them.
pub(crate) fn agent(steps: u64, on_step: Option<OnStep>) -> Result<Arc<Agent>, Failed> {
    let limits = Limits { max_steps: u32::MAX, max_run_ms: None, ..Limits::default() };
    let agent: Result<Agent, AgentError> = Agent::builder("benchmark")
        .instructions("Send one letter at a time.")
        .model(AtOnce { steps, on_step })
        .tool(Letters::new()?)
        .limits(limits)
        .build();
    Ok(Arc::new(agent?))
}

/// The default settings: the write-ahead log, and a sync for each transaction.
pub(crate) async fn open(folder: &Path) -> Result<SqliteStore, Failed> {
    Ok(SqliteStore::open(SqliteOptions::new(folder.join("holdover.db"))).await?)
}

pub(crate) fn runtime(store: Arc<dyn StateStore>, agent: &Arc<Agent>) -> Runtime {
    let agents = Agents::new().with(Arc::clone(agent));
    Runtime::new(store, Arc::new(agents), RuntimeOptions::default())
}

/// One turn in a session of its own.
pub(crate) async fn turn(runtime: &Runtime, agent: &Arc<Agent>, session: usize) -> Result<(), Failed> {
    let request = Execute::new(TenantId::new("acme")?, Arc::clone(agent), "Begin.")
        .in_session(SessionId::new(format!("s{session}"))?);
    let outcome = runtime.execute(request).await?.outcome().await?;
    if outcome.kind() == OutcomeKind::Completed {
        Ok(())
    } else {
        Err(format!("session s{session}: the turn ended otherwise: {outcome:?}").into())
    }
}
