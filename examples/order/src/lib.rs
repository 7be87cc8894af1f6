//! An order as a flow. Stock is reserved in a table beside the sessions, a card is charged at a service, a person approves
//! large orders, and each parcel is shipped by a child. If anything fails, the rest is undone.
#![allow(clippy::print_stdout, reason = "an example that shows what it does")]

pub mod flow;
pub mod shop;
