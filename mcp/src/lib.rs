//! Tools of [MCP](https://modelcontextprotocol.io) servers for Holdover agents.
//!
//! An [`McpServer`] describes a server: a program that is reached over its standard input and output, or a URL that
//! speaks streamable HTTP. [`McpClient::discover`] lists its tools. Their [`ToolSpec`](holdover_core::tool::ToolSpec)s
//! are stored with the sessions of the agent, so another process continues a session without connecting to the server
//! first. [`McpClient::tool`] makes an ordinary tool from a spec. The tool connects at its first call, and reconnects
//! after the connection is lost.
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
//! **Crashes and trust.** A server describes its tools with hints. They count only if the agent's author set `trusted`.
//! Then `readOnlyHint` makes a tool read only and not dangerous, `idempotentHint` makes it idempotent, and
//! `destructiveHint: false` makes it not dangerous. By default, and always on a server that is not trusted, a tool is
//! at most once and dangerous: a person must approve calls unless a rule says otherwise, and recovery after a crash
//! neither starts nor repeats a call. Each request carries the call's idempotency key in its `_meta`, as
//! [`IDEMPOTENCY_KEY`].
//!
//! **Progress and stops.** The progress that a server reports on a call is shown to those who follow the session. If a
//! call should stop and the server does not respond soon, the call is cancelled at the server, with the reason.
//!
//! **Not supported.** The client passes no requests of a server on to people or models: it offers no sampling,
//! elicitation or roots. It does not support tasks either: a call is answered while its connection is open, or its
//! outcome is unknown. Pictures are passed on to the model in the formats that Holdover supports. Sound is only named
//! in the result.

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod connection;
#[cfg(feature = "client")]
mod failure;
mod names;
#[cfg(feature = "client")]
mod request;
#[cfg(feature = "client")]
mod results;
mod server;
#[cfg(feature = "client")]
mod told;
#[cfg(feature = "client")]
mod tool;

#[cfg(feature = "client")]
pub use client::{IDEMPOTENCY_KEY, McpClient};
#[cfg(feature = "client")]
pub use connection::McpError;
pub use names::PREFIX;
pub use server::{InvalidServer, McpServer};
