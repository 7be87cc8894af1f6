//! Tools of [MCP](https://modelcontextprotocol.io) servers for Holdover agents.
//!
//! An [`McpServer`] says where a server is: a program that is spoken to over its standard input and output, or an
//! address that speaks streamable HTTP. [`McpClient::discover`] asks it once what tools it has; their
//! [`ToolSpec`](holdover_core::tool::ToolSpec)s are stored with the sessions of the agent, so another process goes on
//! with a session without asking anew. [`McpClient::tool`] makes an ordinary tool of a spec: it connects at its first
//! call, and again when the connection was lost.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use holdover_mcp::{McpClient, McpServer};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let server: McpServer = serde_json::from_str(
//!     r#"{ "name": "files", "command": ["mcp-server-filesystem", "/srv/notes"], "trusted": true }"#,
//! )?;
//! let client = Arc::new(McpClient::new(server)?);
//! let tools: Vec<_> = client.discover().await?.into_iter().map(|spec| client.tool(spec)).collect();
//! # Ok(())
//! # }
//! ```
//!
//! **What a crash means.** A server says of its tools what they do, and an agent believes it only if its maker wrote
//! `trusted`. Then a tool with `readOnlyHint` is read only, one with `idempotentHint` idempotent, and one with
//! `destructiveHint: false` not dangerous. All others, and every tool of a server that is not trusted, are at most once
//! and dangerous: a person is asked unless a rule says otherwise, and a crash never starts or repeats a call. Each request
//! carries the call's idempotency key in its `_meta`, as [`IDEMPOTENCY_KEY`].
//!
//! **What is not there.** A client that asks nothing of people and of models on behalf of a server: sampling, elicitation
//! and roots are not offered. Tasks are not either: a call is answered while its connection is open, or its outcome is
//! unknown. Pictures are shown as far as models read them; sound is named in the result, and not heard.

mod client;
mod connection;
mod failure;
mod names;
mod results;
mod server;
mod tool;

pub use client::{IDEMPOTENCY_KEY, McpClient};
pub use connection::McpError;
pub use names::PREFIX;
pub use server::{InvalidServer, McpServer};
