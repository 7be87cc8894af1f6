//! The agent of the tests. Its model does what the message says, and its tools note their calls.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::agent::Durability;
use holdover_core::gate::{ApprovalRule, ApprovalTerms, RuleAction, RuleGate};
use holdover_core::ids::ToolName;
use holdover_core::message::Message;
use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
    StopReason, TokenUsage,
};
use holdover_core::tool::{
    Bound, EffectClass, ResourceProfile, Tool, ToolCall, ToolError, ToolOutput, ToolReturn, ToolSpec,
};
use holdover_runtime_local::{Agent, AgentBuilder};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// The time after which a request for approval of `hurry` expires, and after which a model that failed is asked again.
pub(crate) const SOON: Duration = Duration::from_millis(1500);

/// A word that each message contains, to look for it elsewhere.
pub(crate) const SECRET: &str = "xyzzy";

/// The exit code of a process that its session has killed.
pub(crate) const DEADLY: i32 = 70;

/// What the tools of a test have done. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Desk {
    /// Each call, with the name of its tool.
    sent: Arc<Mutex<Vec<(String, ToolCall)>>>,
    /// The number of pictures in each request to the model.
    pictures: Arc<Mutex<Vec<usize>>>,
    /// True if each request to the model ends the process, with the exit code [`DEADLY`].
    deadly: bool,
    /// Each permit lets one call of a tool return.
    gate: Arc<Semaphore>,
}

impl Desk {
    /// The calls of tools return at once.
    pub(crate) fn open() -> Self {
        let (sent, pictures) = (Arc::default(), Arc::default());
        Self { sent, pictures, deadly: false, gate: Arc::new(Semaphore::new(1000)) }
    }

    /// The calls of tools do not return before [`release`](Self::release).
    pub(crate) fn shut() -> Self {
        Self { gate: Arc::new(Semaphore::new(0)), ..Self::open() }
    }

    /// Each session kills the process that runs it.
    pub(crate) fn deadly() -> Self {
        Self { deadly: true, ..Self::open() }
    }

    pub(crate) fn release(&self) {
        self.gate.add_permits(1000);
    }

    /// Returns the names of the tools that were called.
    pub(crate) fn sent(&self) -> Vec<String> {
        self.sent.lock().unwrap().iter().map(|(tool, _)| tool.clone()).collect()
    }

    /// Returns the calls of tools.
    pub(crate) fn calls(&self) -> Vec<ToolCall> {
        self.sent.lock().unwrap().iter().map(|(_, call)| call.clone()).collect()
    }

    /// Returns the number of pictures in each request to the model.
    pub(crate) fn pictures(&self) -> Vec<usize> {
        self.pictures.lock().unwrap().clone()
    }

    /// Returns the agent. Messages: `say`, `send`, `pay` (needs an approval), `hurry` (the approval expires soon), `later`
    /// (the model fails at first), `fail`.
    pub(crate) fn clerk(&self) -> AgentBuilder {
        let soon = ApprovalTerms::default().expires_after_ms(Bound::of(SOON));
        let gate = RuleGate::new(vec![
            ApprovalRule::new("pay", RuleAction::Ask),
            ApprovalRule::new("hurry", RuleAction::Ask).on_terms(soon),
        ]);
        let tools = ["send", "pay", "hurry"].map(|name| Act::new(name, self));
        let agent = Agent::builder("clerk").instructions("Test.").model(Script(self.clone())).gate(gate);
        // A first commit that lands in a later process than its own is progress: one more death would be needed.
        let durability = if self.deadly { Durability::Sync } else { Durability::default() };
        tools.into_iter().fold(agent, AgentBuilder::tool).durability(durability)
    }
}

/// A tool that sends something at most once.
struct Act {
    spec: ToolSpec,
    desk: Desk,
}

impl Act {
    fn new(name: &str, desk: &Desk) -> Self {
        let spec = ToolSpec {
            name: ToolName::new(name).unwrap(),
            description: format!("the tool {name}"),
            parameters: json!({ "type": "object" }),
            effect: EffectClass::AtMostOnce,
            dangerous: false,
            runs_on: Default::default(),
            timeout_ms: None,
        };
        Self { spec, desk: desk.clone() }
    }
}

#[async_trait]
impl Tool for Act {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        ResourceProfile::Keys(Vec::new())
    }

    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError> {
        self.desk.sent.lock().unwrap().push((self.spec.name.to_string(), call));
        self.desk.gate.acquire().await.unwrap().forget();
        Ok(ToolOutput::text(format!("done: {SECRET}")).into())
    }
}

/// A model that calls the tool that the message names, and then ends the turn.
struct Script(Desk);

#[async_trait]
impl Model for Script {
    fn name(&self) -> &str {
        "test:script"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        if self.0.deadly {
            std::process::exit(DEADLY);
        }
        let pictures = request.messages.iter().map(|message| message.images().iter().count()).sum();
        self.0.pictures.lock().unwrap().push(pictures);
        let Some(Message::User(said)) = request
            .messages
            .iter()
            .rev()
            .map(|message| &**message)
            .find(|message| matches!(message, Message::User(_)))
        else {
            panic!("a message")
        };
        let has_result = request.messages.iter().any(|message| matches!(&**message, Message::Tool(_)));
        let text = |text: &str| (AnswerPart::Text(text.to_owned()), StopReason::EndTurn);
        let (part, stop) = match said.text.split_whitespace().next().unwrap() {
            "later" if request.attempt == 0 => return Err(ModelError::transient("not yet", Some(SOON))),
            "fail" => return Err(ModelError::new(ModelErrorKind::Quota, "no")),
            "say" | "later" => text("said"),
            _ if has_result => text("done"),
            tool => {
                let call = AnswerPart::Call { tool: tool.into(), arguments: "{}".into() };
                (call, StopReason::ToolUse)
            }
        };
        let usage = TokenUsage { input: 1, output: 1, ..TokenUsage::default() };
        let answer = ModelAnswer { parts: vec![part], stop, usage };
        Ok(Box::pin(futures::stream::iter([Ok(ModelEvent::Finished(answer))])))
    }
}
