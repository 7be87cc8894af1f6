//! Schedules on virtual time.
#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm, reason = "tests")]

mod bench;
mod changes;
mod clocks;
mod crashes;
mod outages;
mod overlaps;
mod races;
mod sessions;
mod upgrades;
