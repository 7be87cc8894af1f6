//! [Temporal](https://temporal.io) decides when and where sessions are served, and shows the sessions that have work. The
//! store stays the truth.
//!
//! [`TemporalEngine`] goes into [`RuntimeOptions::engine`](crate::runtime::RuntimeOptions::engine) of every program that
//! writes to sessions. A [`TemporalWorker`] serves sessions in any number of processes.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use holdover::prelude::*;
//! use holdover::temporal::{TemporalEngine, TemporalOptions};
//!
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let temporal = TemporalOptions::new("temporal://127.0.0.1:7233/default")?;
//! let options = RuntimeOptions::default().engine(Some(Arc::new(TemporalEngine::new(temporal))));
//! # Ok(())
//! # }
//! ```

pub use holdover_runtime_temporal::{
    STATUS_ATTRIBUTE, TemporalEngine, TemporalError, TemporalOptions, TemporalWorker, task_queue_of,
    workflow_id_of,
};
