//! The pure heart of Holdover.
//!
//! > The core decides, the runtime performs, the store remembers.
//!
//! Nothing here awaits, reads a clock, draws a random number or opens a socket. Time and random numbers
//! come in as facts; what must be done goes out as actions.

pub mod agent;
pub mod breaker;
pub mod compaction;
pub mod custom;
pub mod delta;
pub mod error;
pub mod event;
pub mod fork;
pub mod gate;
pub mod handoff;
pub mod hook;
pub mod ids;
pub mod image;
pub mod list;
pub mod machine;
pub mod mailbox;
pub mod message;
pub mod mode;
pub mod model;
pub mod output;
pub mod parameters;
pub mod payload;
pub mod prompt;
pub mod provision;
pub mod skill;
pub mod step;
pub mod tool;
pub mod words;

pub use holdover_store as store;
pub use holdover_store::{text, time};
