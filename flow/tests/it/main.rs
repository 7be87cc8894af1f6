//! Flows on virtual time, and some on real databases.
#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm, reason = "tests")]

mod basics;
mod bench;
mod children;
mod crashes;
mod databases;
mod diverging;
mod limits;
mod numbers;
mod others;
mod places;
mod postgres;
mod random;
mod refused;
mod stopping;
mod tables;
mod testing;
mod transactions;
mod upgrades;
mod writes;
mod zombie;
