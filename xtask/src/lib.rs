//! Reads the repository: its files, manifests, pages and modules.
//!
//! The rules are the tests in `tests/`, one file for each topic: `cargo test -p xtask` checks them all. Each fault
//! names a file and a line, and says how to fix it. The lists in `allowed/` hold the known exceptions; they may
//! only shrink.

pub mod allowed;
pub mod arms;
pub mod fault;
pub mod graph;
pub mod lexer;
pub mod lines;
pub mod long;
pub mod manifest;
pub mod markdown;
pub mod modules;
pub mod public;
pub mod suites;
pub mod trace;
pub mod tree;
