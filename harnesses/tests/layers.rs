//! Runs the public suite on every layer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::process::ExitCode;

use holdover_conformance_tests::conformance_tests;
use holdover_harnesses::layers::{
    compressed, compressed_then_encrypted, encrypted, encrypted_or_plain, faulty, recording,
};
use holdover_harnesses::{MemoryHarness, SqliteHarness};

fn memory() -> MemoryHarness {
    MemoryHarness::new()
}

fn sqlite() -> SqliteHarness {
    SqliteHarness::in_folder(std::env::temp_dir())
}

fn main() -> ExitCode {
    conformance_tests! {
        "faulty_without_faults" => faulty(memory()),
            claims: [core, distributed, change_hints, forks, retention, due_order];
        "recorded" => recording(memory()),
            claims: [core, distributed, change_hints, forks, retention, due_order];
        "compressed_in_memory" => compressed(memory()),
            claims: [core, distributed, change_hints, forks, retention, due_order];
        "encrypted_in_memory" => encrypted(memory()),
            claims: [core, distributed, change_hints, forks, retention, due_order];
        "both_in_memory" => compressed_then_encrypted(memory()),
            claims: [core, distributed, change_hints, forks, retention, due_order];
        "or_plain_in_memory" => encrypted_or_plain(memory()),
            claims: [core, distributed, change_hints, forks, retention, due_order];
        "both_on_sqlite" => compressed_then_encrypted(sqlite()),
            claims: [core, durable, distributed, change_hints, forks, retention, due_order];
    }
}
