//! Tests of the front, over connections of this machine.

// A helper of a test may panic like the test itself.
#![allow(clippy::unwrap_used)]

mod bench;

mod access;
mod events;
mod hostile;
mod main_job;
mod openapi;
mod pending;
mod requests;
mod tokens;
mod trees;
