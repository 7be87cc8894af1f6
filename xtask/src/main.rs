//! Writes and compares what the rules of the repository check. See [`trace`](xtask::trace) and [`public`](xtask::public).

use std::path::Path;
use std::process::ExitCode;

use xtask::public::{self, Docs, LIST};
use xtask::trace::{PAGE, SECTIONS, Trace};
use xtask::tree::Tree;

const USAGE: &str = "\
usage: cargo xtask trace --write         writes the counts of docs/requirements.md
       cargo xtask public-api            compares the public items with holdover/public-api.txt
       cargo xtask public-api --write    writes that list

cargo test -p xtask checks the rules";

#[allow(clippy::print_stderr, clippy::print_stdout, reason = "a command talks")]
fn main() -> ExitCode {
    if let Some(code) = public::become_rustdoc() {
        return code;
    }
    let words: Vec<_> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["trace", "--write"] => trace(),
        ["public-api"] => public_api(false),
        ["public-api", "--write"] => public_api(true),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn trace() -> Result<String, String> {
    let tree = Tree::here();
    let trace = Trace::read(&tree, SECTIONS);
    tree.write(PAGE, &trace.page).map_err(|error| format!("{PAGE}: {error}"))?;
    Ok(trace.head)
}

fn public_api(write: bool) -> Result<String, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let found = public::list(&Docs::made_by_cargo(&root, &this)?)?;
    let tree = Tree::here();
    let lines = found.lines().count();
    if write {
        tree.write(LIST, &found).map_err(|error| format!("{LIST}: {error}"))?;
        return Ok(format!("{LIST}: {lines} lines"));
    }
    let differs = if tree.exists(LIST) { public::difference(tree.read(LIST), &found) } else { vec![] };
    if tree.exists(LIST) && differs.is_empty() {
        return Ok(format!("{LIST}: {lines} lines, as they are"));
    }
    let differs = differs.join("\n");
    Err(format!(
        "{differs}\n{LIST} is not what the crates export: cargo xtask public-api --write, and say it in CHANGELOG.md"
    ))
}
