//! The engine without its engine room.

mod action;
mod iterator_stub;
mod outcome;
mod reply;

/// Stub.
pub const STATE_FORMAT: crate::ids::StateFormat = crate::ids::StateFormat(1);
pub use iterator_stub::{StartError, StepIterator};
pub use action::{Action, ActionId, CallOut, ModelCall};
pub use outcome::RunOutcome;
pub use reply::{Reply, Ruling};
