//! Records the version of the compiler that builds the benchmarks, for their report.

use std::process::Command;

fn main() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    say(&format!("cargo::rustc-env=BENCHMARKS_RUSTC={}", version.unwrap_or_else(|_| "unknown".into())));
    say("cargo::rerun-if-changed=build.rs");
}

#[allow(clippy::print_stdout, reason = "cargo reads it")]
fn say(line: &str) {
    println!("{line}");
}
