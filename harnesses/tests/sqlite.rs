//! Runs the public suite on the SQLite store.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::path::Path;
use std::process::{Command, ExitCode};

use holdover_conformance_tests::conformance_tests;
use holdover_harnesses::SqliteHarness;

fn main() -> ExitCode {
    // This process was started as a child, to be killed.
    if let Some(file) = std::env::var_os(FILE) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        runtime.block_on(SqliteHarness::serve_child(Path::new(&file)));
        return ExitCode::SUCCESS;
    }
    conformance_tests!(
        SqliteHarness::in_folder(std::env::temp_dir()).child_program(this_program),
        claims: [core, durable, distributed, change_hints, forks, retention, due_order, child_process, raw_data],
    )
}

/// The environment variable that passes the file to the child process.
const FILE: &str = "HOLDOVER_CHILD_FILE";

fn this_program(file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(FILE, file);
    command
}
