//! What one step of a session asks of its store and of the process, counted: it does not depend on the machine, so what
//! makes a step dearer is seen here.
//!
//! A step is one of W: an answer of 200 bytes, and one call with an effect whose result has 200 bytes. Counted is the
//! difference between a session of many steps and one of a few, in a process that has warmed up.

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
