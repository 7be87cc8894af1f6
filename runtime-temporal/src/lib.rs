//! Holdover's sessions on [Temporal](https://temporal.io): Temporal decides when and where a session is served, and shows
//! the sessions that have work. The store stays the truth: effects, fences and answers from outside work as without
//! Temporal.
//!
//! | part | task |
//! |---|---|
//! | [`TemporalEngine`] | tells Temporal which sessions may have work; goes into `RuntimeOptions::engine` |
//! | [`TemporalWorker`] | serves sessions when Temporal asks for it, in any number of processes |
//!
//! While a session has work or waits, it has one workflow, `HoldoverSession`, with the id `holdover:TENANT/SESSION`. The
//! workflow calls the activity `serve`, which is one run of the session from claim to exit. Then it waits for the
//! session's next alarm, with a timer, or for the signal `wake`. When the session rests, the workflow ends. Its task queue is
//! `holdover:` and the label of the session's agent, so the sessions of an agent that no worker serves are that queue's
//! backlog. Names that are longer than 255 bytes end in a digest.
//!
//! Temporal stores the session's key, queue and status, and nothing of the conversation.
//!
//! ```no_run
//! use std::sync::Arc;
//! use holdover_runtime_local::{Agents, CancellationToken, Runtime, RuntimeOptions, Worker, WorkerOptions};
//! use holdover_runtime_temporal::{TemporalEngine, TemporalOptions, TemporalWorker};
//!
//! # async fn example(store: holdover_store_memory::MemoryStore, agents: Agents) -> Result<(), Box<dyn std::error::Error>> {
//! let temporal = TemporalOptions::new("temporal://127.0.0.1:7233/default")?;
//! let engine = TemporalEngine::new(temporal.clone());
//! let options = RuntimeOptions::default().engine(Some(Arc::new(engine))).run_here(false);
//! let runtime = Runtime::new(store, agents, options);
//!
//! let stop = CancellationToken::new();
//! // The net runs sessions of which Temporal was not told, for example because it was down for longer than half a minute.
//! Worker::new(runtime.clone(), WorkerOptions::net()).spawn(stop.clone());
//! TemporalWorker::new(runtime, temporal)?.run(stop).await;
//! # Ok(())
//! # }
//! ```

mod activities;
mod connect;
mod engine;
mod error;
mod ids;
mod look;
mod options;
mod pauses;
mod sdk;
mod words;
mod worker;
mod workflow;

pub use engine::TemporalEngine;
pub use error::TemporalError;
pub use ids::{task_queue_of, workflow_id_of};
pub use options::TemporalOptions;
pub use worker::TemporalWorker;

/// The search attribute, of type `Keyword`, in which Temporal shows the status of a session.
pub const STATUS_ATTRIBUTE: &str = "HoldoverStatus";
