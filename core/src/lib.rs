//! The pure heart of Holdover.
//!
//! > The core decides, the runtime performs, the store remembers.
//!
//! Nothing here awaits, reads a clock, draws a random number or opens a socket. Time and random numbers
//! come in as facts; what must be done goes out as actions.
//!
//! It has three floors, and each knows only those below it: the [`engine`] says what a run does next, the [`machine`]
//! what follows from what, and the [`words`] are what both speak of.

pub mod engine;
pub mod machine;
pub mod words;

pub use engine::{compaction, fork};
pub use holdover_store as store;
pub use holdover_store::{text, time};
pub use machine::breaker;
pub use words::{
    agent, custom, delta, ending, error, event, gate, handoff, history, hook, ids, image, list, mailbox,
    message, mode, model, output, panel, parameters, payload, phrases, prompt, provision, run, skill,
    suspension, tool, usage,
};
