//! Reads the repository: its files, manifests, pages and modules.
//!
//! The rules themselves stand in `tests/`, a file for each topic: `cargo test -p xtask` checks them all. Each fault names a
//! file and a line, and says what to do. The lists in `allowed/` hold what breaks a rule today; they may only shrink.

pub mod allowed;
pub mod fault;
pub mod graph;
pub mod lexer;
pub mod lines;
pub mod long;
pub mod manifest;
pub mod markdown;
pub mod modules;
pub mod public;
pub mod trace;
pub mod tree;
