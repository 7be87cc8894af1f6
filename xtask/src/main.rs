//! Writes or prints what is found out about the repository. See [`trace`](xtask::trace) and [`lines`](xtask::lines).

use std::process::ExitCode;

use xtask::lines::Lines;
use xtask::trace::{PAGE, SECTIONS, Trace};
use xtask::tree::Tree;

#[allow(clippy::print_stderr, clippy::print_stdout, reason = "a command talks")]
fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["trace", "--write"] => {
            let tree = Tree::here();
            let trace = Trace::read(&tree, SECTIONS);
            if let Err(error) = tree.write(PAGE, &trace.page) {
                eprintln!("{PAGE}: {error}");
                return ExitCode::FAILURE;
            }
            println!("{}", trace.head);
        }
        ["lines"] => print!("{}", Lines::of(&Tree::here()).table()),
        _ => {
            eprintln!(
                "usage: cargo xtask trace --write    writes the counts of {PAGE}\n       \
                 cargo xtask lines            prints how many lines of code each crate has\n\n\
                 cargo test -p xtask checks the rules"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
