//! Flows: durable workflows as ordinary async Rust, on the engine of Holdover's agents.
//!
//! A flow is an async function. Its steps are durable calls: each result is stored before the next step begins, so a
//! flow whose process dies goes on in another one, with every finished step behind it. While a flow waits for a person or
//! a timer, nothing runs.
//!
//! The function must be deterministic: with the same results it must make the same calls in the same order. Clocks and
//! random numbers come from the [context](Cx), and the flow waits only for what the context returns.

#[macro_use]
mod together;

mod approval;
mod built_in;
mod call;
mod child;
mod code;
mod cx;
mod deadline;
mod error;
mod flow;
mod saga;
mod signal;
mod step;
#[cfg(feature = "test")]
pub mod test;
mod transaction;

pub use approval::Approval;
pub use call::{Call, Within};
pub use child::{Child, Each};
pub use cx::Cx;
pub use error::{StepError, Stop};
pub use flow::{Checked, Flow, FlowBuilder, FlowError};
pub use saga::Saga;
pub use signal::Signal;
pub use step::{Plain, Step, StepCx, StepFn, WithCx, WithTx};
pub use transaction::{CommitWith, Returned, Tx, TxCx};

#[doc(hidden)]
pub mod __private {
    pub use {futures, tokio};
}
