//! Runs the public suite on the memory store, the reference.

use std::process::ExitCode;

use holdover_conformance_tests::conformance_tests;
use holdover_harnesses::MemoryHarness;

fn main() -> ExitCode {
    conformance_tests!(MemoryHarness::new(), claims: [core, distributed, change_hints, forks, retention, due_order])
}
