//! The engine without its engine room.

mod action;
mod outcome;
mod reply;

pub use action::{Action, ActionId, CallOut, ModelCall};
pub use outcome::RunOutcome;
pub use reply::{Reply, Ruling};
