//! The pure core of Holdover: it decides what to do and performs no effects.
//!
//! > The core decides, the runtime performs, the store remembers.
//!
//! The core never awaits, reads a clock, draws a random number or opens a socket. Time and random numbers
//! come in as facts. Effects go out as actions, which the runtime performs.
//!
//! The crate has three layers, and each depends only on those below it. The [`engine`] decides what a run
//! does next. The [`machine`] is the state machine of a session. The [`words`] are the values and traits that
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
    image, letter, list, mailbox, message, mode, model, output, panel, parameters, payload, phrases, plan,
    procedure, prompt, provision, remote, run, signal, skill, suspension, tool, usage,
};
