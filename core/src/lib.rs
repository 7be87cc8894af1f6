//! The pure core of Holdover: it decides, and performs nothing.
//!
//! > The core decides, the runtime performs, the store remembers.
//!
//! Nothing here awaits, reads a clock, draws a random number or opens a socket. Time and random numbers come
//! in as facts; the things to do go out as actions.
//!
//! The crate has three floors, and each knows only those below it. The [`engine`] decides what a run does
//! next, the [`machine`] is the state machine of a session, and the [`words`] are the values and traits that
//! both use.

pub mod engine;
pub mod machine;
pub mod words;

pub use engine::{compaction, fork};
pub use holdover_store as store;
pub use holdover_store::{text, time};
pub use machine::breaker;
pub use words::{
    agent, background, children, custom, delta, ending, error, event, gate, handoff, history, hook, ids,
    image, list, mailbox, message, mode, model, output, panel, parameters, payload, phrases, prompt,
    provision, remote, run, skill, suspension, tool, usage,
};
