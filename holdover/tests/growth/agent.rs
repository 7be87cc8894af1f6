//! An agent that does the same at every step, and answers at once.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use holdover::{
    Access, Agent, Agents, AnswerPart, EffectClass, Execute, Limits, Model, ModelAnswer, ModelError,
    ModelEvent, ModelRequest, ModelStream, OutcomeKind, ResourceProfile, RunsOn, Runtime, RuntimeOptions,
    SessionId, SessionKey, SqliteOptions, SqliteStore, StateStore, StopReason, TenantId, TokenUsage, Tool,
    ToolCall, ToolError, ToolName, ToolOutput, ToolReturn, ToolSpec,
};
use serde_json::{Value, json};

/// What every tool answers: 4 KB.
pub(crate) const RESULT_BYTES: usize = 4096;

/// What the model asks for at each step, by the names of [`tools`].
pub(crate) type Calls = fn(step: u64) -> &'static [&'static str];

/// Asks for the calls of each step up to the last, then says one sentence.
struct Scripted {
    calls: Calls,
    steps: u64,
    first: Before,
}

/// What happens before each answer.
pub(crate) type Before = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

#[async_trait]
impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted:growth"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        (self.first)().await;
        let call = |tool: &&str| AnswerPart::Call {
            tool: (*tool).into(),
            arguments: "{\"about\":\"growth\"}".into(),
        };
        let (parts, stop) = if request.step <= self.steps {
            ((self.calls)(request.step).iter().map(call).collect(), StopReason::ToolUse)
        } else {
            (vec![AnswerPart::Text("All of it is done.".into())], StopReason::EndTurn)
        };
        let usage = TokenUsage { input: 1000 * request.step, output: 100, ..TokenUsage::default() };
        let answer = ModelAnswer { parts, stop, usage };
        Ok(Box::pin(futures::stream::iter([Ok(ModelEvent::Finished(answer))])))
    }
}

/// A tool of one class whose calls run side by side.
struct Answering {
    spec: ToolSpec,
}

impl Answering {
    fn new(name: &str, effect: EffectClass) -> Self {
        let parameters = json!({ "type": "object", "properties": { "about": { "type": "string" } } });
        let spec = ToolSpec {
            name: ToolName::new(name).unwrap(),
            description: "Answers with 4 KB".into(),
            parameters,
            effect,
            dangerous: false,
            runs_on: RunsOn::Server,
            timeout_ms: None,
        };
        Self { spec }
    }
}

#[async_trait]
impl Tool for Answering {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        ResourceProfile::key(format!("tool:{}", self.spec.name), Access::Read)
    }

    async fn call(&self, _call: ToolCall) -> Result<ToolReturn, ToolError> {
        Ok(ToolOutput::text("x".repeat(RESULT_BYTES)).into())
    }
}

/// An agent that asks for `calls` at each of `steps` steps; before each answer, `first` is awaited.
pub(crate) fn agent(calls: Calls, steps: u64, first: Before) -> Arc<Agent> {
    let limits = Limits { max_steps: u32::MAX, max_run_ms: None, ..Limits::default() };
    let agent = Agent::builder("grower")
        .model(Scripted { calls, steps, first })
        .tool(Answering::new("send", EffectClass::AtMostOnce))
        .tool(Answering::new("put", EffectClass::Idempotent))
        .tool(Answering::new("look", EffectClass::ReadOnly))
        .limits(limits);
    Arc::new(agent.build().unwrap())
}

/// Syncs each commit, as by default. The log is not written back in between: that belongs to no step.
pub(crate) async fn open(folder: &Path) -> SqliteStore {
    let options = SqliteOptions::new(folder.join("holdover.db")).wal_bytes_max(u64::MAX);
    SqliteStore::open(options).await.unwrap()
}

/// Runs one turn of `agent` to its end.
pub(crate) async fn run(store: Arc<dyn StateStore>, agent: Arc<Agent>) -> SessionKey {
    let agents = Agents::new().with(Arc::clone(&agent));
    let options = RuntimeOptions { lease: Duration::from_secs(3600), ..RuntimeOptions::default() };
    let runtime = Runtime::new(store, Arc::new(agents), options);
    let request = Execute::new(TenantId::new("acme").unwrap(), agent, "Do it, step by step.")
        .in_session(SessionId::new("growing").unwrap());
    let run = runtime.execute(request).await.unwrap();
    let key = run.key().clone();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.kind(), OutcomeKind::Completed, "{outcome:?}");
    key
}
