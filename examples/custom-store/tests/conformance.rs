//! Runs the public conformance suite on the store, with a test for each case.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod harness;

use std::process::ExitCode;

use harness::Harness;
use holdover_conformance_tests::conformance_tests;

fn main() -> ExitCode {
    // Returns at once, unless this process was started to be killed.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(harness::serve_if_child());
    conformance_tests!(
        Harness::default(),
        claims: [core, durable, distributed, change_hints, forks, retention, due_order, child_process, raw_data],
    )
}
