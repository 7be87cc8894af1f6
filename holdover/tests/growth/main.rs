//! The cost of a step stays the same however long a session grows.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod agent;
mod bytes;
mod counts;
mod kinds;
mod syncs;
mod watch;

/// Held by each test that runs a session in this process: statements are counted for the whole process, so these tests
/// run one at a time.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
