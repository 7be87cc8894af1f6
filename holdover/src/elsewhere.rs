//! Agents of other programs: sessions here give tasks to them, and agents here take tasks from other programs.
//!
//! ```
//! use holdover::agent::SubAgent;
//! use holdover::elsewhere::Remote;
//! use holdover::model::{Script, ScriptedModel};
//! use holdover::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let remote = Remote::new("https://geology.example/agents/geologist/tasks").token_env("GEOLOGY_TOKEN");
//! let geologist = SubAgent::new("geologist", "Knows the ground.").elsewhere(remote);
//! let model = ScriptedModel::new("chief", Script::from_toml("[[turns]]\nsay = 'Good day.'")?);
//! let chief = Agent::builder("chief").model(model).sub_agent(geologist).build()?;
//! # Ok(())
//! # }
//! ```
//!
//! The runtime needs a client for other programs:
//! [`RuntimeOptions::elsewhere`](crate::runtime::RuntimeOptions::elsewhere). The feature `elsewhere` adds a client over
//! HTTP, and a router that accepts tasks for agents of this program. A client of your own implements [`Elsewhere`]. For
//! each request that arrives, a server of your own calls `Runtime::take_task`, `task` or `stop_task`, or `task_ended`
//! for an outcome.

pub use holdover_core::children::Parent;
pub use holdover_core::remote::{
    LOOK_EVERY_MIN_MS, LOOK_EVERY_MS, Remote, RemoteTask, TaskLimits, TaskOutcome, TaskStanding,
};
#[cfg(feature = "elsewhere")]
pub use holdover_elsewhere::{
    BODY_BYTES_MAX, Callers, HttpElsewhere, HttpElsewhereError, InvalidToken, REQUEST_TIMEOUT, router,
};
pub use holdover_runtime_local::{Elsewhere, ElsewhereError};
