//! The runtime: runs sessions on tokio, in one process or in many.
//!
//! ```
//! use holdover::model::{Script, ScriptedModel};
//! use holdover::prelude::*;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new("desk", Script::from_toml("[[turns]]\nsay = 'Good day.'")?);
//! let agent = std::sync::Arc::new(Agent::builder("clerk").model(model).build()?);
//! let agents = Agents::new().with(agent.clone());
//! let runtime = Runtime::new(MemoryStore::new(), agents, RuntimeOptions::default());
//!
//! let stop = CancellationToken::new();
//! let worker = Worker::new(runtime.clone(), WorkerOptions::default()).spawn(stop.clone());
//! let session = runtime.start(Execute::new(TenantId::new("acme")?, agent, "Hello?")).await?.key;
//! runtime.wait(&session).await?;
//! stop.cancel();
//! worker.await?;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Runtime`] joins a store with the agents of a program. Everything that you do with sessions is a method of it.
//! [`Runtime::execute`] runs a turn in this process and returns a [`RunHandle`]; a [`Worker`] runs the sessions that
//! are due, including those that a dead process left. A [`RunObserver`] is notified of the progress of the runs in this
//! process. A durable [`Engine`] may decide when sessions run; [`Runtime::serve`] runs one for it. Methods that can fail return
//! [`RuntimeError`]; [`RuntimeErrorKind`] groups the errors.
//!
//! Also here: circuit breakers of models ([`Breaker`]), soft stops ([`Drain`]), and time ([`Clock`], [`Timestamp`]).

pub use holdover_core::breaker::{Breaker, Health};
pub use holdover_core::engine::Drain;
pub use holdover_core::ids::{QueueLabel, WorkerId};
pub use holdover_core::store::Queues;
pub use holdover_core::time::{Clock, Timestamp};
pub use holdover_runtime_local::{
    BREAKER_QUEUE, BREAKER_TENANT, Breaking, Breaks, CancellationToken, Engine, EngineError, GIVE_BACK_FOR,
    Known, Next, Provisional, RunHandle, RunObserver, Runtime, RuntimeError, RuntimeErrorKind,
    RuntimeOptions, Seen, Served, StoreOutage, TOKEN_QUEUE, WakeUp, Worker, WorkerOptions,
};
