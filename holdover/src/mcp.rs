//! Tools of [MCP](https://modelcontextprotocol.io) servers. Needs the feature `mcp`.
//!
//! ```
//! use std::sync::Arc;
//!
//! use holdover::mcp::{McpClient, McpServer};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server: McpServer = serde_json::from_str(
//!     r#"{ "name": "files", "command": ["mcp-server-filesystem", "/srv/notes"], "trusted": true }"#,
//! )?;
//! let client = Arc::new(McpClient::new(server)?);
//! // Ask the server once, then give its tools to `Agent::builder(…).tools(…)`:
//! // let tools: Vec<_> = client.discover().await?.into_iter().map(|spec| client.tool(spec)).collect();
//! # let _ = client;
//! # Ok(())
//! # }
//! ```
//!
//! An [`McpServer`] says where a server is, and an [`McpClient`] turns the server's tools into ordinary tools. If
//! you do not trust a server, its hints about the effects of its tools are ignored, and all of its tools are at
//! most once and dangerous.

pub use holdover_mcp::{IDEMPOTENCY_KEY, InvalidServer, McpClient, McpError, McpServer, PREFIX};
