//! Flows: durable workflows as ordinary async Rust. See [the guide](https://docs.rs/holdover) page *Write a flow*.
//!
//! A flow is an async function. Its steps are durable calls on the engine of the agents: effect classes, approvals, timers,
//! crashes, stops and lists mean the same. A [`Flow`] is built from its function and the functions of its steps, and its
//! [`agent`](Flow::agent) is registered like any agent.

#[cfg(feature = "flow-test")]
pub use holdover_flow::test;
pub use holdover_flow::{
    Approval, Call, Checked, Child, CommitWith, Cx, Each, Flow, FlowBuilder, FlowError, Plain, Returned,
    Saga, Signal, Step, StepCx, StepError, StepFn, Stop, Tx, TxCx, WithCx, WithTx, Within, join, select,
};
