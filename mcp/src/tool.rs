//! A tool of a server, in the form that an agent uses.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::tool::{
    Access, EffectClass, ResourceProfile, Tool, ToolCall, ToolError, ToolReturn, ToolSpec,
};
use serde_json::Value;

use crate::client::McpClient;

/// A tool of an MCP server. Within a step, read-only calls run in parallel. Any other call does not run in parallel
/// with another call to the same server.
pub(crate) struct McpTool {
    client: Arc<McpClient>,
    spec: ToolSpec,
}

impl McpTool {
    pub(crate) fn new(client: Arc<McpClient>, spec: ToolSpec) -> Self {
        Self { client, spec }
    }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        let access = match self.spec.effect {
            EffectClass::ReadOnly => Access::Read,
            EffectClass::Idempotent | EffectClass::AtMostOnce => Access::Write,
        };
        ResourceProfile::key(format!("mcp:{}", self.client.server().name), access)
    }

    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError> {
        self.client.call(&self.spec, call).await
    }
}
