//! Every layer under the public suite.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::process::ExitCode;
use std::sync::Arc;

use holdover_conformance_tests::reference::MemoryHarness;
use holdover_conformance_tests::{Wrapped, conformance_tests};
use holdover_store::StateStore;
use holdover_store_layers::{
    Compressed, Encoded, Encrypted, Faults, Faulty, OrPlain, PayloadCodec, Recorder, Recording, Then,
};
use holdover_store_sqlite::conformance::SqliteHarness;
use support::ring;

fn faulty<S: StateStore>(store: Arc<S>) -> Faulty<S> {
    Faults::default().around(store)
}

fn recording<S: StateStore>(store: Arc<S>) -> Recording<S> {
    Recorder::new(16).around(store)
}

fn compressed<S: StateStore>(store: Arc<S>) -> Encoded<S, Compressed> {
    Compressed::new().around(store)
}

fn encrypted<S: StateStore>(store: Arc<S>) -> Encoded<S, Encrypted> {
    Encrypted::new(ring([2, 1])).around(store)
}

fn both<S: StateStore>(store: Arc<S>) -> Encoded<S, Then<Compressed, Encrypted>> {
    Compressed::new().then(Encrypted::new(ring([1]))).around(store)
}

fn or_plain<S: StateStore>(store: Arc<S>) -> Encoded<S, OrPlain<Encrypted>> {
    Encrypted::new(ring([1])).or_plain().around(store)
}

fn memory() -> MemoryHarness {
    MemoryHarness::new()
}

fn sqlite() -> SqliteHarness {
    SqliteHarness::in_folder(std::env::temp_dir())
}

fn main() -> ExitCode {
    conformance_tests! {
        "faulty_without_faults" => Wrapped::new(memory(), faulty),
            claims: [core, distributed, change_hints, forks, retention, due_order];
        "recorded" => Wrapped::new(memory(), recording),
            claims: [core, distributed, change_hints, forks, retention, due_order];
        "compressed_in_memory" => Wrapped::new(memory(), compressed),
            claims: [core, distributed, change_hints, forks, retention, due_order];
        "encrypted_in_memory" => Wrapped::new(memory(), encrypted),
            claims: [core, distributed, change_hints, forks, retention, due_order];
        "both_in_memory" => Wrapped::new(memory(), both),
            claims: [core, distributed, change_hints, forks, retention, due_order];
        "or_plain_in_memory" => Wrapped::new(memory(), or_plain),
            claims: [core, distributed, change_hints, forks, retention, due_order];
        "both_on_sqlite" => Wrapped::new(sqlite(), both),
            claims: [core, durable, distributed, change_hints, forks, retention, due_order];
    }
}
