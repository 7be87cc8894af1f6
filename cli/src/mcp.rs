//! The tools of an agent's MCP servers.

use std::sync::Arc;

use holdover_core::tool::{Tool, ToolSpec};
use holdover_mcp::{McpClient, McpServer};

/// Asks `server` for its tools.
pub(crate) async fn discover(server: &McpServer) -> Result<Vec<ToolSpec>, String> {
    let client = McpClient::new(server.clone()).map_err(|error| error.to_string())?;
    client.discover().await.map_err(|error| error.to_string())
}

/// Returns the tools of `server` with these specs. They share one client.
pub(crate) fn tools<'a>(
    server: &McpServer,
    specs: impl Iterator<Item = &'a ToolSpec>,
) -> Result<Vec<Arc<dyn Tool>>, String> {
    let client = Arc::new(McpClient::new(server.clone()).map_err(|error| error.to_string())?);
    Ok(specs.map(|spec| client.tool(spec.clone())).collect())
}
