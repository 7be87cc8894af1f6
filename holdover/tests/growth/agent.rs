//! An agent that repeats the same steps, and answers at once or word by word.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use holdover::agent::{Compaction, Limits, LoopDetection};
use holdover::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
    SharedList, StopReason, TokenUsage,
};
use holdover::prelude::*;
use holdover::session::{Message, OutcomeKind};
use holdover::store::{SqliteOptions, StateStore};
use holdover::tools::{Access, ResourceProfile, RunsOn, Tool, ToolReturn, ToolSpec};
use serde_json::{Value, json};

/// The size of every tool's result: 4 KB.
pub(crate) const RESULT_BYTES: usize = 4096;

/// The interval at which streamed text is written as deltas.
pub(crate) const DELTA_INTERVAL: Duration = Duration::from_millis(20);

/// The time between two streamed words.
const WORDS_APART: Duration = Duration::from_millis(5);

/// The model's answer in one step.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    /// The names of the tools that it calls.
    pub(crate) asks: &'static [&'static str],
    /// The number of words that it streams first. If 0, the whole answer comes at once.
    pub(crate) words: usize,
}

/// The model's answers by step.
pub(crate) type Answers = fn(step: u64) -> Answer;

/// A model that gives its answer in each of `steps` steps, and then says one sentence.
struct Scripted {
    answers: Answers,
    steps: u64,
    hooks: Hooks,
    shown: Mutex<SharedList<Arc<Message>>>,
}

/// A function whose future the model awaits.
pub(crate) type Hook = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// The points at which the model waits.
#[derive(Clone)]
pub(crate) struct Hooks {
    /// Awaited before each answer.
    pub(crate) before: Hook,
    /// Awaited after the last streamed word.
    pub(crate) said: Hook,
}

impl Scripted {
    /// Fails unless all messages that were shown before are shown again from the same allocations: a run makes no
    /// message twice.
    fn see(&self, messages: SharedList<Arc<Message>>) -> Result<(), ModelError> {
        let mut shown = self.shown.lock().unwrap();
        let same = shown.iter().zip(&messages).filter(|(before, now)| Arc::ptr_eq(before, now)).count();
        if same < shown.len() {
            let detail =
                format!("of {} messages that the model knows, {same} came as they were", shown.len());
            // This kind of error is not retried.
            return Err(ModelError::new(ModelErrorKind::Configuration, detail));
        }
        *shown = messages;
        Ok(())
    }
}

#[async_trait]
impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted:growth"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.see(request.messages)?;
        (self.hooks.before)().await;
        let (text, asks, words, stop) = if request.step <= self.steps {
            let Answer { asks, words } = (self.answers)(request.step);
            ("word ".repeat(words), asks, words, StopReason::ToolUse)
        } else {
            ("All of it is done.".to_owned(), [].as_slice(), 0, StopReason::EndTurn)
        };
        let text = Some(text).filter(|text| !text.is_empty()).map(AnswerPart::Text);
        let call = |tool: &&str| AnswerPart::Call {
            tool: (*tool).into(),
            arguments: "{\"about\":\"growth\"}".into(),
        };
        let parts = text.into_iter().chain(asks.iter().map(call)).collect();
        let usage = TokenUsage { input: 1000 * request.step, output: 100, ..TokenUsage::default() };
        let answer = ModelAnswer { parts, stop, usage };
        let said = Arc::clone(&self.hooks.said);
        let one_by_one = words > 0;
        let words = stream::iter(0..words).then(|_| async {
            tokio::time::sleep(WORDS_APART).await;
            Ok(ModelEvent::Text("word ".to_owned()))
        });
        let finished = stream::once(async move {
            if one_by_one {
                said().await;
            }
            Ok(ModelEvent::Finished(answer))
        });
        Ok(Box::pin(words.chain(finished)))
    }
}

/// A tool of one effect class whose calls run side by side.
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

/// Returns an agent whose model gives `answers` for `steps` steps.
pub(crate) fn agent(answers: Answers, steps: u64, hooks: Hooks) -> Arc<Agent> {
    let limits = Limits::default().max_steps(u32::MAX).max_run_ms(None);
    let agent = Agent::builder("grower")
        .model(Scripted { answers, steps, hooks, shown: Mutex::default() })
        .tool(Answering::new("send", EffectClass::AtMostOnce))
        .tool(Answering::new("put", EffectClass::Idempotent))
        .tool(Answering::new("look", EffectClass::ReadOnly))
        .limits(limits)
        // The model repeats its calls, and must be shown all of the transcript.
        .loops(LoopDetection::OFF)
        .compaction(Compaction::OFF);
    Arc::new(agent.build().unwrap())
}

/// Opens a store that syncs each commit, which is the default, and starts to record its statements. The log is not
/// written back meanwhile, since that belongs to no step.
pub(crate) async fn open(folder: &Path) -> SqliteStore {
    crate::watch::listen();
    let options = SqliteOptions::new(folder.join("holdover.db")).wal_bytes_max(u64::MAX);
    SqliteStore::open(options).await.unwrap()
}

/// Runs one turn of `agent` to its end.
pub(crate) async fn run(store: Arc<dyn StateStore>, agent: Arc<Agent>) -> SessionKey {
    let agents = Agents::new().with(Arc::clone(&agent));
    let options =
        RuntimeOptions::default().lease(Duration::from_secs(3600)).delta_interval(Some(DELTA_INTERVAL));
    let runtime = Runtime::new(store, Arc::new(agents), options);
    let request = Execute::new(TenantId::new("acme").unwrap(), agent, "Do it, step by step.")
        .in_session(SessionId::new("growing").unwrap());
    let run = runtime.execute(request).await.unwrap();
    let key = run.key().clone();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.kind(), OutcomeKind::Completed, "{outcome:?}");
    key
}
