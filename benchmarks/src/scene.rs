//! What is measured: an agent as a service would embed it, with a model that answers at once or word by word.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use holdover::{
    Access, Agent, AgentError, Agents, AnswerPart, Compaction, EffectClass, Execute, Limits, LoopDetection,
    Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, ModelStream, OutcomeKind, ResourceProfile,
    RunsOn, Runtime, RuntimeOptions, SessionId, SessionKey, SqliteOptions, SqliteStore, StateStore,
    StopReason, TenantId, TokenUsage, Tool, ToolCall, ToolError, ToolName, ToolOutput, ToolReturn, ToolSpec,
};
use serde_json::{Value, json};

use crate::Failed;

/// What the tool answers: 4 KB.
pub(crate) const RESULT_BYTES: usize = 4096;

/// Called when the model is asked for a step.
pub(crate) type OnStep = Arc<dyn Fn(u64) -> BoxFuture<'static, ()> + Send + Sync>;

/// So far lie two words apart that are said one by one.
pub(crate) const WORDS_APART: Duration = Duration::from_millis(20);

/// What an agent does in a turn: so many steps with one call, and one more that says a sentence.
#[derive(Clone, Default)]
pub(crate) struct Turn {
    pub(crate) steps: u64,
    /// Words that are said one by one before each call.
    pub(crate) words: usize,
    pub(crate) on_step: Option<OnStep>,
}

struct Scripted(Turn);

#[async_trait]
impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted:benchmark"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let Turn { steps, words, on_step } = &self.0;
        if let Some(on_step) = on_step {
            on_step(request.step).await;
        }
        let (words, parts, stop) = if request.step <= *steps {
            let text = Some("word ".repeat(*words)).filter(|text| !text.is_empty()).map(AnswerPart::Text);
            let arguments = json!({ "about": "growth", "step": request.step }).to_string();
            let call = AnswerPart::Call { tool: "send".into(), arguments };
            (*words, text.into_iter().chain([call]).collect(), StopReason::ToolUse)
        } else {
            (0, vec![AnswerPart::Text("All of it is done.".into())], StopReason::EndTurn)
        };
        let usage = TokenUsage { input: 1000, output: 100, ..TokenUsage::default() };
        let answer = ModelAnswer { parts, stop, usage };
        let words = stream::iter(0..words).then(|_| async {
            tokio::time::sleep(WORDS_APART).await;
            Ok(ModelEvent::Text("word ".to_owned()))
        });
        Ok(Box::pin(words.chain(stream::iter([Ok(ModelEvent::Finished(answer))]))))
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

/// An agent whose turns are so.
pub(crate) fn agent(turn: Turn) -> Result<Arc<Agent>, Failed> {
    let limits = Limits { max_steps: u32::MAX, max_run_ms: None, ..Limits::default() };
    let agent: Result<Agent, AgentError> = Agent::builder("benchmark")
        .instructions("Send one letter at a time.")
        .model(Scripted(turn))
        .tool(Letters::new()?)
        .limits(limits)
        // It asks for the same again and again, and is shown all of it.
        .loops(LoopDetection::OFF)
        .compaction(Compaction::OFF)
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
pub(crate) async fn turn(
    runtime: &Runtime,
    agent: &Arc<Agent>,
    session: usize,
) -> Result<SessionKey, Failed> {
    let request = Execute::new(TenantId::new("acme")?, Arc::clone(agent), "Begin.")
        .in_session(SessionId::new(format!("s{session}"))?);
    let run = runtime.execute(request).await?;
    let key = run.key().clone();
    let outcome = run.outcome().await?;
    if outcome.kind() == OutcomeKind::Completed {
        Ok(key)
    } else {
        Err(format!("{key}: the turn ended otherwise: {outcome:?}").into())
    }
}
