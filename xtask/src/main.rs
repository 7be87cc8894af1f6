//! Writes what the rules of the repository check. See [`trace`](xtask::trace).

use std::process::ExitCode;

use xtask::trace::{PAGE, SECTIONS, Trace};
use xtask::tree::Tree;

#[allow(clippy::print_stderr, clippy::print_stdout, reason = "a command talks")]
fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    if words != ["trace", "--write"] {
        eprintln!(
            "usage: cargo xtask trace --write    writes the counts of {PAGE}\n\ncargo test -p xtask checks the rules"
        );
        return ExitCode::from(2);
    }
    let tree = Tree::here();
    let trace = Trace::read(&tree, SECTIONS);
    if let Err(error) = tree.write(PAGE, &trace.page) {
        eprintln!("{PAGE}: {error}");
        return ExitCode::FAILURE;
    }
    println!("{}", trace.head);
    ExitCode::SUCCESS
}
