//! Sessions over HTTP, for browsers and for programs in other languages. Needs the feature `front`.
//!
//! ```
//! use holdover::front::{Access, Caller, FrontOptions, router};
//! use holdover::prelude::*;
//!
//! # fn app(runtime: Runtime, agents: Agents) -> Result<axum::Router, Box<dyn std::error::Error>> {
//! // A layer of the service finds out who sends a request, and names the caller.
//! let options = FrontOptions::new(Access::Given).agents(agents);
//! let app = axum::Router::new().nest("/agents", router(runtime, options));
//! let ann = Caller::of(TenantId::new("acme")?).named("ann");
//! # Ok(app.layer(axum::Extension(ann)))
//! # }
//! ```
//!
//! With the feature `mcp-server`, the router also serves MCP clients at `/mcp`, and `serve_mcp` serves one client over a pair
//! of streams.
//!
//! The router answers from the store. A [`Worker`](crate::runtime::Worker), in this process or another one, runs the sessions.

pub use holdover_front::{
    Access, Caller, FrontOptions, Guard, InvalidOrigin, May, NoTokens, OneTimeLink, Server, StoredTokens,
    TokenError, TokenInfo, Tokens, UnknownMay, openapi, router,
};
#[cfg(feature = "mcp-server")]
pub use holdover_front::{McpEnded, serve_mcp};
