//! Tools that run outside of the engine.

use async_trait::async_trait;
use holdover_core::tool::{ResourceProfile, RunsOn, Tool, ToolCall, ToolError, ToolReturn, ToolSpec};
use serde_json::Value;

/// A tool that a client runs while it follows the session. The engine asks the gate and then parks; it never
/// calls the tool.
#[derive(Debug, Clone)]
pub struct ClientTool {
    spec: ToolSpec,
    profile: ResourceProfile,
}

impl ClientTool {
    /// Creates a tool with this spec. A client runs it, whatever [`runs_on`](ToolSpec::runs_on) says. By default, its
    /// calls conflict with nothing.
    pub fn new(spec: ToolSpec) -> Self {
        let spec = ToolSpec { runs_on: RunsOn::Client, ..spec };
        Self { spec, profile: ResourceProfile::Keys(Vec::new()) }
    }

    /// Sets the resources that the tool's calls touch.
    #[must_use]
    pub fn touches(self, profile: ResourceProfile) -> Self {
        Self { profile, ..self }
    }
}

#[async_trait]
impl Tool for ClientTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        self.profile.clone()
    }

    async fn call(&self, _call: ToolCall) -> Result<ToolReturn, ToolError> {
        Err(ToolError::NotRun(format!("{} runs at the client", self.spec.name)))
    }
}
