//! Tests against Temporal's own server, which the launcher starts, with the real runtime.

// A helper of a test may panic like the test itself.
#![allow(clippy::unwrap_used)]

mod bench;
mod cast;
mod program;
mod seen;

mod crashes;
mod deaths;
mod histories;
mod page;
mod sessions;
mod shown;
mod workers;
