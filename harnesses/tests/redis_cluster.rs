//! Runs the public suite on the Redis store, on a cluster of three masters.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::process::{Command, ExitCode};

use holdover_conformance_tests::conformance_tests;
use holdover_harnesses::RedisHarness;
use holdover_launcher::shared;

fn main() -> ExitCode {
    // This process was started as a child, to be killed.
    if let (Ok(url), Ok(namespace)) = (std::env::var(URL), std::env::var(NAMESPACE)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        runtime.block_on(RedisHarness::serve_child(&url, &namespace));
        return ExitCode::SUCCESS;
    }
    conformance_tests!(
        RedisHarness::at(shared::redis_cluster_url()).child_program(this_program),
        claims: [core, durable, distributed, change_hints, due_order, forks, retention, child_process, raw_data],
    )
}

/// The environment variables that pass the server and the namespace to the child process.
const URL: &str = "HOLDOVER_CHILD_URL";
const NAMESPACE: &str = "HOLDOVER_CHILD_NAMESPACE";

fn this_program(url: &str, namespace: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(URL, url).env(NAMESPACE, namespace);
    command
}
