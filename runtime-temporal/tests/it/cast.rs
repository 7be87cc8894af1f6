//! The agent of the tests: a model that calls one tool, and the tool.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::StreamExt;
use holdover_core::agent::Durability;
use holdover_core::gate::{ApprovalRule, RuleGate};
use holdover_core::ids::{SessionKey, ToolName};
use holdover_core::message::Message;
use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
    StopReason, TokenUsage,
};
use holdover_core::tool::{
    EffectClass, ResourceProfile, Tool, ToolCall, ToolError, ToolOutput, ToolReturn, ToolSpec,
};
use holdover_runtime_local::{Agent, AgentBuilder};
use serde_json::json;
use tokio::sync::watch;

/// A word that only messages, calls and results contain.
pub(crate) const SECRET: &str = "xylophone";

/// The exit code of a process that its session has killed.
pub(crate) const DEADLY: i32 = 70;

/// A model that calls the tool `pay` once in each turn, and ends the turn with its result.
#[derive(Clone, Default)]
pub(crate) struct Caller {
    /// The number of first requests of a turn that fail, each with the instruction to wait a second.
    pub(crate) failures: usize,
    /// True if every request fails for good.
    pub(crate) broken: bool,
    /// True if every request ends the process, with the exit code [`DEADLY`].
    pub(crate) deadly: bool,
    pub(crate) asked: Arc<AtomicUsize>,
    /// The number of pictures in each request.
    pub(crate) pictures: Arc<Mutex<Vec<usize>>>,
}

#[async_trait]
impl Model for Caller {
    fn name(&self) -> &str {
        "test:caller"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        if self.asked.fetch_add(1, Ordering::Relaxed) < self.failures {
            let after = std::time::Duration::from_secs(1);
            let events = [Err(ModelError::transient("it is being loaded", Some(after)))];
            return Ok(futures::stream::iter(events).boxed());
        }
        let pictures = request.messages.iter().map(|message| message.images().iter().count()).sum();
        self.pictures.lock().unwrap().push(pictures);
        if self.deadly {
            std::process::exit(DEADLY);
        }
        if self.broken {
            return Err(ModelError::new(ModelErrorKind::Quota, format!("no {SECRET} for you")));
        }
        let has_result = matches!(request.messages.last().map(|last| &**last), Some(Message::Tool(_)));
        let (parts, stop) = if has_result {
            (vec![AnswerPart::Text(format!("paid for the {SECRET}"))], StopReason::EndTurn)
        } else {
            let arguments = json!({ "for": SECRET }).to_string();
            (vec![AnswerPart::Call { tool: "pay".into(), arguments }], StopReason::ToolUse)
        };
        let usage = TokenUsage { input: 1, output: 1, ..TokenUsage::default() };
        let events = [Ok(ModelEvent::Finished(ModelAnswer { parts, stop, usage }))];
        Ok(futures::stream::iter(events).boxed())
    }
}

/// A tool that waits until it is let go.
#[derive(Clone)]
pub(crate) struct Pay {
    spec: ToolSpec,
    calls: Arc<Mutex<Vec<ToolCall>>>,
    begun: watch::Sender<usize>,
    open: watch::Sender<bool>,
    folder: Option<PathBuf>,
}

impl Pay {
    /// Returns a tool that returns at once.
    pub(crate) fn new(effect: EffectClass) -> Self {
        let spec = ToolSpec {
            name: ToolName::new("pay").unwrap(),
            description: "pays".into(),
            parameters: json!({ "type": "object", "properties": { "for": { "type": "string" } } }),
            effect,
            dangerous: false,
            runs_on: Default::default(),
            timeout_ms: None,
        };
        Self {
            spec,
            calls: Arc::default(),
            begun: watch::Sender::new(0),
            open: watch::Sender::new(true),
            folder: None,
        }
    }

    /// Returns a tool that waits for [`let_go`](Self::let_go).
    pub(crate) fn held(effect: EffectClass) -> Self {
        let tool = Self::new(effect);
        tool.open.send_replace(false);
        tool
    }

    /// Returns a tool that adds its process and its call to the file `calls`, and waits for the file `go`.
    pub(crate) fn held_in(folder: &Path, effect: EffectClass) -> Self {
        Self { folder: Some(folder.to_owned()), ..Self::new(effect) }
    }

    pub(crate) fn let_go(&self) {
        self.open.send_replace(true);
    }

    /// Waits until the tool was called so often.
    pub(crate) async fn called(&self, times: usize) {
        self.begun.subscribe().wait_for(|calls| *calls >= times).await.unwrap();
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    /// Returns the argument of each call.
    pub(crate) fn paid_for(&self) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|call| call.arguments["for"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the number of calls for a session.
    pub(crate) fn calls_of(&self, key: &SessionKey) -> usize {
        self.calls.lock().unwrap().iter().filter(|call| call.session == *key).count()
    }
}

#[async_trait]
impl Tool for Pay {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &serde_json::Value) -> ResourceProfile {
        ResourceProfile::Keys(Vec::new())
    }

    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError> {
        if let Some(folder) = &self.folder {
            let mut calls = File::options().create(true).append(true).open(folder.join("calls")).unwrap();
            writeln!(calls, "{} {}", std::process::id(), call.id).unwrap();
            let go = folder.join("go");
            while !go.exists() {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
        self.calls.lock().unwrap().push(call);
        self.begun.send_modify(|begun| *begun += 1);
        self.open.subscribe().wait_for(|open| *open).await.unwrap();
        Ok(ToolOutput::text(format!("one {SECRET}")).into())
    }
}

/// Returns an agent of this name that pays. Its calls need the approvals that the rules ask for.
pub(crate) fn agent(name: &str, model: Caller, tool: &Pay, rules: Vec<ApprovalRule>) -> Arc<Agent> {
    // A first commit that lands in a later process than its own is progress: one more death would be needed.
    let durability = if model.deadly { Durability::Sync } else { Durability::default() };
    let built: AgentBuilder = Agent::builder(name).instructions("Pay.").model(model).tool(tool.clone());
    Arc::new(built.durability(durability).gate(RuleGate::new(rules)).build().unwrap())
}
