//! Tools that do what a test scripts, and remember their calls.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::future::BoxFuture;
use holdover_core::ids::{CallId, ToolName};
use holdover_core::tool::{
    Bound, EffectClass, ResourceProfile, Stopped, Tool, ToolCall, ToolError, ToolOutput, ToolReturn, ToolSpec,
};
use serde_json::{Value, json};

type Act = dyn Fn(ToolCall) -> BoxFuture<'static, Result<ToolReturn, ToolError>> + Send + Sync;

/// A tool that does what a function says.
#[derive(Clone)]
pub(crate) struct Fake {
    spec: ToolSpec,
    profile: ResourceProfile,
    act: Arc<Act>,
    calls: Arc<Mutex<Vec<ToolCall>>>,
    stopped: Stopped,
}

impl Fake {
    pub(crate) fn new<F>(name: &str, act: impl Fn(ToolCall) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<ToolReturn, ToolError>> + Send + 'static,
    {
        Self {
            spec: spec(name),
            profile: ResourceProfile::Keys(Vec::new()),
            act: Arc::new(move |call| Box::pin(act(call))),
            calls: Arc::default(),
            stopped: Stopped::Unknown,
        }
    }

    /// Returns a tool that answers with its arguments.
    pub(crate) fn echo(name: &str) -> Self {
        Self::new(name, |call| async move { Ok(ToolOutput::text(call.arguments.to_string()).into()) })
    }

    /// Returns a tool that never returns.
    pub(crate) fn stuck(name: &str) -> Self {
        Self::new(name, |_| futures::future::pending())
    }

    pub(crate) fn effect(mut self, effect: EffectClass) -> Self {
        self.spec.effect = effect;
        self
    }

    /// Makes each call of the tool run alone in its step.
    pub(crate) fn serial(mut self) -> Self {
        self.profile = ResourceProfile::Serial;
        self
    }

    pub(crate) fn parameters(mut self, parameters: serde_json::Value) -> Self {
        self.spec.parameters = parameters;
        self
    }

    pub(crate) fn timeout(mut self, timeout: Bound) -> Self {
        self.spec.timeout_ms = Some(timeout);
        self
    }

    pub(crate) fn dangerous(mut self) -> Self {
        self.spec.dangerous = true;
        self
    }

    pub(crate) fn says_it_did_not_act(mut self) -> Self {
        self.stopped = Stopped::DidNotAct;
        self
    }

    /// Returns the calls that the tool has got.
    pub(crate) fn calls(&self) -> Vec<ToolCall> {
        self.calls.lock().unwrap().clone()
    }
}

pub(crate) fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: ToolName::new(name).unwrap(),
        description: format!("the tool {name}"),
        parameters: json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
        effect: EffectClass::Idempotent,
        dangerous: false,
        runs_on: Default::default(),
        timeout_ms: None,
    }
}

#[async_trait]
impl Tool for Fake {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        self.profile.clone()
    }

    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError> {
        self.calls.lock().unwrap().push(call.clone());
        (self.act)(call).await
    }

    async fn stopped(&self, _call: &CallId) -> Stopped {
        self.stopped
    }
}
