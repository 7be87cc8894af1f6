//! Holdover sessions on [Restate](https://restate.dev): Restate schedules the runs, the store remembers.
//!
//! A session is a *virtual object* of Restate. Its exclusive handler `wake` serves the session once, with
//! [`Runtime::serve`](holdover_runtime_local::Runtime::serve), and then ends. If the session has a deadline, the handler
//! sends itself a delayed call. While the session waits for somebody, Restate keeps only its status, its agent and, for
//! 10 minutes, its earlier calls. The store keeps all else, so effect classes, fences and every call from outside work as
//! without Restate.
//!
//! | part | role |
//! |---|---|
//! | [`RestateEngine`] | the [`Engine`](holdover_runtime_local::Engine) of a runtime: calls `wake` after writes |
//! | [`RestateWorker`] | serves the handlers, and registers them at Restate |
//! | [`RestateOptions`] | the addresses of Restate and of the worker |
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use holdover_runtime_local::{Agents, CancellationToken, Runtime, RuntimeOptions, Worker, WorkerOptions};
//! use holdover_runtime_restate::{RestateEngine, RestateOptions, RestateWorker};
//! # use holdover_core::store::StateStore;
//! # async fn main_of(store: Arc<dyn StateStore>, agents: Agents) -> Result<(), Box<dyn std::error::Error>> {
//!
//! let restate = RestateOptions::default();
//! let engine = RestateEngine::new(&restate)?;
//! let options = RuntimeOptions::default().engine(Some(Arc::new(engine))).run_here(false);
//! let runtime = Runtime::new(store, agents, options);
//!
//! let shutdown = CancellationToken::new();
//! // Runs the sessions whose wake-up was lost.
//! let net = Worker::new(runtime.clone(), WorkerOptions::net()).spawn(shutdown.clone());
//! RestateWorker::new(runtime, &restate)?.run(shutdown).await?;
//! net.await?;
//! # Ok(())
//! # }
//! ```

mod cancelled;
mod client;
mod engine;
mod error;
mod look;
mod names;
mod object;
mod options;
mod places;
mod registration;
mod report;
mod server;
mod service;
mod timer;
mod worker;

pub use engine::RestateEngine;
pub use error::RestateError;
pub use names::{object_key, service_name, session_key};
pub use options::{DEFAULT_ADMIN_URL, DEFAULT_INGRESS_URL, DEFAULT_SERVICE, RestateOptions};
pub use worker::RestateWorker;
