//! Tests of the front, over connections of this machine.

// A helper of a test may panic like the test itself.
#![allow(clippy::unwrap_used)]

mod bench;
mod chat;

mod access;
mod agui;
mod events;
mod hostile;
mod links;
mod main_job;
#[cfg(feature = "mcp")]
mod mcp;
mod openapi;
mod pages;
mod pending;
mod requests;
mod tokens;
mod trees;
