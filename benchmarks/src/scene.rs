//! The measured scene: an agent as a service would embed it, with a model that answers at once or word by word.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use holdover::agent::{AgentError, Compaction, Limits, LoopDetection};
use holdover::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, TokenUsage,
};
use holdover::prelude::*;
use holdover::session::OutcomeKind;
use holdover::store::{SqliteOptions, StateStore};
use holdover::tools::{Access, ResourceProfile, RunsOn, Tool, ToolReturn, ToolSpec};
use serde_json::{Value, json};

use crate::Failed;

/// The default size of the tool's result: 4 KB.
pub(crate) const RESULT_BYTES: usize = 4096;

/// A function that the model calls with the number of the step before it answers. The model waits for its future.
pub(crate) type OnStep = Arc<dyn Fn(u64) -> BoxFuture<'static, ()> + Send + Sync>;

/// The time between two words that are streamed one by one.
pub(crate) const WORDS_APART: Duration = Duration::from_millis(20);

/// A turn of the agent: `steps` steps with one call each, and a last step that says a sentence.
#[derive(Clone)]
pub(crate) struct Turn {
    pub(crate) steps: u64,
    /// The number of words that are streamed before each call.
    pub(crate) words: usize,
    /// The number of bytes of text that are said at once before each call. The text differs in each step.
    pub(crate) text_bytes: usize,
    /// The number of bytes of the tool's result.
    pub(crate) result_bytes: usize,
    /// The time that the model waits before it answers.
    pub(crate) thinks: Duration,
    pub(crate) on_step: Option<OnStep>,
}

impl Default for Turn {
    fn default() -> Self {
        Self {
            steps: 0,
            words: 0,
            text_bytes: 0,
            result_bytes: RESULT_BYTES,
            thinks: Duration::ZERO,
            on_step: None,
        }
    }
}

struct Scripted(Turn);

#[async_trait]
impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted:benchmark"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let Turn { steps, words, text_bytes, thinks, on_step, .. } = &self.0;
        if let Some(on_step) = on_step {
            on_step(request.step).await;
        }
        if !thinks.is_zero() {
            tokio::time::sleep(*thinks).await;
        }
        let (words, parts, stop) = if request.step <= *steps {
            let text = "word ".repeat(*words) + &letters(request.step, *text_bytes);
            let text = Some(text).filter(|text| !text.is_empty()).map(AnswerPart::Text);
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

/// Makes the answers and results of a turn, one after another, and stores none of them. Also makes them for the last
/// step, which has no call in the agent.
pub(crate) async fn plain(turn: &Turn) {
    for step in 1..=turn.steps + 1 {
        if !turn.thinks.is_zero() {
            tokio::time::sleep(turn.thinks).await;
        }
        for bytes in [turn.text_bytes, turn.result_bytes] {
            std::hint::black_box(letters(step, bytes));
        }
    }
}

/// A tool with an effect, so that each step has its two durable points.
struct Letters {
    spec: ToolSpec,
    bytes: usize,
}

/// Returns random letters and digits, different for each seed, so that the file system can hardly compress them.
pub(crate) fn letters(seed: u64, bytes: usize) -> String {
    let mut chance = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| chance.alphanumeric()).take(bytes).collect()
}

impl Letters {
    fn new(bytes: usize) -> Result<Self, Failed> {
        let parameters = json!({
            "type": "object",
            "properties": { "about": { "type": "string" }, "step": { "type": "integer" } },
        });
        let spec = ToolSpec {
            name: ToolName::new("send")?,
            description: "Sends a letter and answers with one".into(),
            parameters,
            effect: EffectClass::AtMostOnce,
            dangerous: false,
            runs_on: RunsOn::Server,
            timeout_ms: None,
        };
        Ok(Self { spec, bytes })
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

    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError> {
        let step = call.arguments.get("step").and_then(Value::as_u64).unwrap_or_default();
        Ok(ToolOutput::text(letters(!step, self.bytes)).into())
    }
}

/// Creates an agent that makes this turn.
pub(crate) fn agent(turn: Turn) -> Result<Arc<Agent>, Failed> {
    let limits = Limits::default().max_steps(u32::MAX).max_run_ms(None);
    let agent: Result<Agent, AgentError> = Agent::builder("benchmark")
        .instructions("Send one letter at a time.")
        .tool(Letters::new(turn.result_bytes)?)
        .model(Scripted(turn))
        .limits(limits)
        // The model calls the same tool in every step, and the transcript must grow uncompacted.
        .loops(LoopDetection::OFF)
        .compaction(Compaction::OFF)
        .build();
    Ok(Arc::new(agent?))
}

/// Opens a store with the default settings: the write-ahead log, and a sync for each transaction.
pub(crate) async fn open(folder: &Path) -> Result<SqliteStore, Failed> {
    Ok(SqliteStore::open(SqliteOptions::new(folder.join("holdover.db"))).await?)
}

pub(crate) fn runtime(store: Arc<dyn StateStore>, agent: &Arc<Agent>) -> Runtime {
    let agents = Agents::new().with(Arc::clone(agent));
    Runtime::new(store, Arc::new(agents), RuntimeOptions::default())
}

/// Runs one turn in a session of its own.
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
