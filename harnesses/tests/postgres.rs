//! Runs the public suite on the Postgres store.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::process::{Command, ExitCode};

use holdover_conformance_tests::conformance_tests;
use holdover_harnesses::PostgresHarness;
use holdover_launcher::shared;

fn main() -> ExitCode {
    // This process was started as a child, to be killed.
    if let Ok(place) = std::env::var(PLACE) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        runtime.block_on(PostgresHarness::serve_child(&place));
        return ExitCode::SUCCESS;
    }
    conformance_tests!(
        PostgresHarness::on(shared::postgres_url()).child_program(this_program),
        claims: [core, durable, distributed, change_hints, due_order, forks, retention, child_process, wire_faults, raw_data],
    )
}

/// The environment variable that passes the store to the child process.
const PLACE: &str = "HOLDOVER_CHILD_PLACE";

fn this_program(place: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(PLACE, place);
    command
}
