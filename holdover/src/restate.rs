//! Sessions on [Restate](https://restate.dev): Restate decides when and where a session is served, the store remembers it.
//!
//! A program gives its runtime a [`RestateEngine`], which wakes Restate after writes, and runs a [`RestateWorker`], which
//! serves the sessions that Restate asks for:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use holdover::prelude::*;
//! use holdover::restate::{RestateEngine, RestateOptions, RestateWorker};
//! # use holdover::store::StateStore;
//! # async fn program(store: Arc<dyn StateStore>, agents: Agents) -> Result<(), Box<dyn std::error::Error>> {
//!
//! let restate = RestateOptions::default().ingress_url("http://restate:8080").admin_url("http://restate:9070");
//! let engine = RestateEngine::new(&restate)?;
//! let options = RuntimeOptions::default().engine(Some(Arc::new(engine))).run_here(false);
//! let runtime = Runtime::new(store, agents, options);
//! RestateWorker::new(runtime, &restate)?.run(CancellationToken::new()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The how-to guide `docs/how-to/restate.md` says what Restate shows, and what holds when a part dies.

pub use holdover_runtime_restate::{
    DEFAULT_ADMIN_URL, DEFAULT_INGRESS_URL, DEFAULT_SERVICE, RestateEngine, RestateError, RestateOptions,
    RestateWorker, object_key, service_name, session_key,
};

/// The examples of the how-to guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/how-to/restate.md")]
mod page {}
