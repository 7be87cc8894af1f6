//! Writes or prints facts about the repository, and runs tests. See [`trace`], [`lines`](xtask::lines),
//! [`public`], [`suites`] and [`long`].

use std::path::Path;
use std::process::{Command, ExitCode};

use xtask::lines::Lines;
use xtask::long::{self, PARTS, Part, Row};
use xtask::public::{self, Docs, LIST};
use xtask::suites::{self, Ended};
use xtask::trace::{PAGE, SECTIONS, Trace};
use xtask::tree::Tree;

const USAGE: &str = "usage: cargo xtask trace --write    writes the counts of docs/requirements.md
       cargo xtask public-api       compares the public items with holdover/public-api.txt; --write writes that list
       cargo xtask lines [FOLDER]   prints how many lines of code each crate has
       cargo xtask long [NAME...]   runs tests with large counts, and writes docs/long-run.md
                                    without a name: the parts that did not pass at this commit
       cargo xtask test [--only SUITE=FILTER]... ARGUMENT...
                                    does the same as `cargo test ARGUMENT...`, with two test programs at once; of a
                                    suite such as holdover-core/steps, runs only the tests that match the filter

cargo test -p xtask checks the rules";

#[allow(clippy::print_stderr, clippy::print_stdout, reason = "a command talks")]
fn main() -> ExitCode {
    if let Some(code) = public::become_rustdoc() {
        return code;
    }
    let words: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["trace", "--write"] => write_trace(),
        ["lines"] => Ok(lines(&Tree::here())),
        ["lines", folder] if Path::new(folder).is_dir() => Ok(lines(&Tree::at(Path::new(folder)))),
        ["public-api"] => public_api(false),
        ["public-api", "--write"] => public_api(true),
        ["test", ref words @ ..] => test(words, &mut |line| println!("{line}")),
        ["long", ref names @ ..] => run_long(names, &mut |line| println!("{line}")),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn lines(tree: &Tree) -> String {
    Lines::of(tree).table().trim_end().to_owned()
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

/// Runs the tests that `cargo test` would run with these arguments, and tells of each program that ends. What failed is
/// told once more at the end.
fn test(words: &[&str], tell: &mut (dyn FnMut(&str) + Send)) -> Result<String, String> {
    let (mut arguments, mut only) = (words, Vec::new());
    while let ["--only", limit, rest @ ..] = arguments {
        only.push(limit.split_once('=').ok_or_else(|| format!("--only {limit}: is not SUITE=FILTER"))?);
        arguments = rest;
    }
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = root.canonicalize().map_err(|error| error.to_string())?;
    let mut found = suites::build(&cargo, &root, arguments)?;
    for (name, filter) in only {
        let suite = found.iter_mut().find(|suite| suite.name == name);
        suite.ok_or_else(|| format!("--only {name}: there is no such suite"))?.limit(filter);
    }
    let ended = suites::run(found, &mut |ended| {
        let (word, tests) = (if ended.passed { "ok" } else { "FAILED" }, ended.tests());
        tell(&format!("{:>5} s  {word:6}  {}: {tests} tests passed", ended.seconds, ended.name));
    });
    let failed: Vec<_> = ended.iter().filter(|ended| !ended.passed).collect();
    for suite in &failed {
        tell(&format!("\n== {}\n{}", suite.name, suite.printed));
    }
    let names: Vec<_> = failed.iter().map(|suite| suite.name.as_str()).collect();
    if names.is_empty() {
        return Ok(format!("{} tests passed", ended.iter().map(Ended::tests).sum::<u64>()));
    }
    Err(format!("failed: {}", names.join(", ")))
}

fn write_trace() -> Result<String, String> {
    let tree = Tree::here();
    let trace = Trace::read(&tree, SECTIONS);
    tree.write(PAGE, &trace.page).map_err(|error| format!("{PAGE}: {error}"))?;
    Ok(trace.head)
}

/// Runs the parts with these names. Without names, runs the parts that did not pass at this commit, or at one that
/// differs from it only in the page. Writes the page after each part. Fails if there is no such part, if anything but
/// the page has changes that are not committed, and at the first part that fails.
fn run_long(names: &[&str], tell: &mut dyn FnMut(&str)) -> Result<String, String> {
    if let Some(name) = names.iter().find(|name| PARTS.iter().all(|part| part.name != **name)) {
        let known: Vec<_> = PARTS.iter().map(|part| part.name).collect();
        return Err(format!("long: there is no part {name}: name one of {}", known.join(", ")));
    }
    let changed = say("git", &["status", "--porcelain", "--", ".", &format!(":!{}", long::PAGE)])?;
    if !changed.is_empty() {
        return Err("long: commit first: the page names the commit that passed".into());
    }
    let commit = say("git", &["rev-parse", "--short", "HEAD"])?;
    let tree = Tree::here();
    let mut rows = long::rows(tree.read(long::PAGE));
    for (at, part) in PARTS.iter().enumerate() {
        let is_wanted = match names {
            [] => !rows[at].commit().is_some_and(is_this_tree),
            names => names.contains(&part.name),
        };
        if is_wanted {
            tell(&format!("\n== {}: {}", part.name, part.what));
            rows[at] = run_part(part, &commit)?;
            tree.write(long::PAGE, &long::page(&rows)).map_err(|error| format!("{}: {error}", long::PAGE))?;
        }
    }
    Ok(format!("wrote {}", long::PAGE))
}

fn run_part(part: &Part, commit: &str) -> Result<Row, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let machine = format!("{}, {cores} cores", say("uname", &["-srm"])?);
    let seconds = part.run()?;
    Ok(Row::passed(part, commit, &say("date", &["-u", "+%F"])?, seconds, &machine))
}

/// Returns true if nothing but the page of the long run has changed since a commit.
fn is_this_tree(commit: &str) -> bool {
    say("git", &["diff", "--quiet", commit, "HEAD", "--", ".", &format!(":!{}", long::PAGE)]).is_ok()
}

/// Returns the output of a program, without white space at its ends.
fn say(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "{program} {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
