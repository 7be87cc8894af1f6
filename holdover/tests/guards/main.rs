//! The cost of one step of a session for its store and for the process, as counts. The counts hardly depend on the
//! machine, so they reveal a change that makes a step more expensive.
//!
//! A step of the workload W is an answer of 200 bytes, and one call with an effect whose result has 200 bytes. The cost
//! is the difference between a session of many steps and one of few, in a process that has warmed up.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod memory;
mod postgres;
mod redis;
mod sqlite;
mod step;
mod work;

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;
