//! The HTTP front of Holdover: sessions for browsers, and for programs in other languages.
//!
//! [`router`] returns an `axum` router, which a service mounts under any path and behind its own layers. The router
//! answers requests from the store; [workers](holdover_runtime_local::Worker), here or in other processes, run the
//! sessions. Any number of processes may serve the same sessions.
//!
//! | path | content |
//! |---|---|
//! | `/v1/…` | the API: sessions, messages, pending calls, events |
//! | `/api/chat` | sessions for pages that use the AI SDK (`useChat`) |
//! | `/api/ag-ui/{agent}` | sessions for pages that speak AG-UI |
//! | `/v1/health`, `/v1/ready` | for load balancers; they need no token |
//! | `/openapi.json` | the description of the API, in OpenAPI 3.1 |
//! | `/mcp` | the same sessions over the Model Context Protocol, with the feature `mcp` |
//!
//! Errors are problem documents (RFC 9457) with a `code` to branch on.

mod access;
mod agui;
mod api;
mod body;
mod chat;
mod desk;
mod guard;
#[cfg(feature = "mcp")]
mod mcp;
mod openapi;
mod options;
mod problem;
mod router;
mod seats;
mod server;
mod tails;
mod ui;
mod wire;

pub use access::{
    Access, Caller, May, NoTokens, OneTimeLink, StoredTokens, TokenError, TokenInfo, Tokens, UnknownMay,
};
pub use guard::{Guard, InvalidOrigin};
#[cfg(feature = "mcp")]
pub use mcp::{McpEnded, serve_mcp};
pub use openapi::openapi;
pub use options::FrontOptions;
pub use router::router;
pub use server::Server;
