//! Sessions on a real Restate server, which the tests start and kill.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bench;
mod cancel;
mod clerk;
mod crashes;
mod deaths;
mod deployments;
mod later;
mod replays;
mod requests;
mod shown;
mod timers;
mod turns;
