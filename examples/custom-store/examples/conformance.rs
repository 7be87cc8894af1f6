//! Runs the public conformance suite on the store and writes reports: `cargo run --example conformance -- PLACE` writes
//! `PLACE.md`, `PLACE.json` and `PLACE.xml`, and exits with 0 if the store passed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a harness may panic")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that tells what it found")]

#[path = "../tests/harness/mod.rs"]
mod harness;

use std::process::ExitCode;

use harness::Harness;
use holdover_conformance_tests::{Suite, Verdict};

#[tokio::main]
async fn main() -> std::io::Result<ExitCode> {
    harness::serve_if_child().await;
    let Some(place) = std::env::args().nth(1) else {
        eprintln!("usage: conformance PLACE");
        return Ok(ExitCode::from(2));
    };
    let again = concat!("cargo run -p ", env!("CARGO_PKG_NAME"), " --example conformance -- PLACE");
    let report = Suite::new(Harness::default).command(again).run().await;
    println!("{}", report.console());
    for (form, text) in [("md", report.markdown()), ("json", report.json()), ("xml", report.junit())] {
        std::fs::write(format!("{place}.{form}"), text)?;
    }
    Ok(if report.verdict() == Verdict::Passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
