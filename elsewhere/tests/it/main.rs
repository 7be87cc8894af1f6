//! Tests of tasks between programs, over connections of this machine.

// A helper of a test may panic like the test itself.
#![allow(clippy::unwrap_used)]

mod bench;

mod answers;
mod callers;
mod outcomes;
mod refusals;
mod requests;
mod tasks;
mod two_programs;
