//! Sessions over the Model Context Protocol (MCP): for chat programs, editors and other agents.
//!
//! A [`Host`](host::Host) answers the requests of one caller. Over HTTP there is one for each request, because any process may
//! answer the next one; over a pair of streams there is one for the whole connection.

mod asking;
mod host;
mod http;
mod offer;
mod resources;
mod streams;
mod tools;
mod waiting;

pub(crate) use http::routes;
pub use streams::{McpEnded, serve_mcp};
