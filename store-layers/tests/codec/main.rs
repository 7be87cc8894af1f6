//! Tests of the codecs: payloads as they are stored, and as they are read back.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod broken;
mod golden;
mod limits;
mod repeats;
mod scene;
mod secrecy;
#[path = "../support/mod.rs"]
mod support;
