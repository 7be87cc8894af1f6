//! A session may grow long: what one step costs stays as it was at the beginning.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod agent;
mod bytes;
mod counts;
mod kinds;
mod syncs;
mod watch;

/// Statements are counted for the whole process, so one test runs at a time.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
