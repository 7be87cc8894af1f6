//! Proves that the suite can fail: runs its cases against stores that are broken in one way each. Cases that need a
//! child process, a wire or a place, and cases with random scripts, are left out; other tests cover them.
//!
//! `mutants` runs each store under the cases that `docs/kill-matrix.md` names for it, and a store that the page does not
//! name under all of them. It succeeds only if the stores without a fault pass every case, every broken store is killed by
//! each case that is named for it, and the page has every store and every case, with numbers of kills as below.
//!
//! `mutants --all` runs every store under every case, which takes ten times as long, and prints which cases killed which
//! store; the last line is `mutants: K/N killed`. It succeeds only if:
//!
//! - the stores without a fault pass every one of these cases;
//! - every broken store is killed by a comparison in some case. A panic or a hang does not count, because anything may
//!   have caused it. A case with random requests does not count, because it finds faults by luck;
//! - no store is killed by more than a third of these cases, because its fault would be too coarse;
//! - every one of these cases that is of the level core or distributed kills a store;
//! - `docs/kill-matrix.md` is up to date.
//!
//! `--write` does the same, and writes that page. With names of broken stores, only those run; there is no verdict, and the
//! program fails. `--explain STORE CASE` prints what the suite reports when the case runs against the broken store.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it finds is printed")]

mod fault;
#[allow(clippy::wildcard_enum_match_arm, reason = "a fault changes one answer and hands on every other")]
mod faults;
mod matrix;
mod report;
mod rows;
mod sound;
mod store;

use std::process::ExitCode;

use holdover_conformance_tests::Suite;

use crate::fault::{Mutant, broken};
use crate::matrix::{Matrix, Row};
use crate::rows::SOUND_ROWS;
use crate::store::{Budget, Harness};

/// The path of the committed matrix.
const MATRIX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/kill-matrix.md");

/// Stores without a fault. If a case kills one of them, the other results prove nothing.
static REFERENCES: [Mutant; 2] =
    [broken("reference", "nothing"), broken("reference-rows", "nothing").rows(Some(SOUND_ROWS))];

fn main() -> ExitCode {
    let (flags, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let (all_cases, write) = match flags.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => (!names.is_empty(), false),
        ["--all"] if names.is_empty() => (true, false),
        ["--write"] if names.is_empty() => (true, true),
        ["--explain"] if names.len() == 2 => return explain(&names[0], &names[1]),
        _ => {
            eprintln!("usage: mutants [--all | --write | --explain STORE CASE | NAME ...]");
            return ExitCode::from(2);
        }
    };
    let all: Vec<&'static Mutant> = faults::all().collect();
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|mutant| mutant.name == **name)) {
        eprintln!("error: no broken store is called {unknown}");
        return ExitCode::from(2);
    }
    // Panics are results here: they are caught and shown with the case that caused them.
    std::panic::set_hook(Box::new(|_| {}));
    let chosen = all.into_iter().filter(|mutant| names.is_empty() || names.iter().any(|n| n == mutant.name));
    let chosen: Vec<&'static Mutant> = chosen.collect();
    if !all_cases {
        return under_named_cases(&chosen);
    }
    let matrix = Matrix::of(&REFERENCES, &chosen, &|_| None);
    print!("{}", report::console(&matrix));
    if !names.is_empty() {
        println!("a part of the broken stores: no verdict");
        return ExitCode::FAILURE;
    }
    print!("{}", report::idle(&matrix));
    let kept = if write { keep(&report::markdown(&matrix)) } else { is_kept(&report::markdown(&matrix)) };
    if let Err(error) = &kept {
        eprintln!("error: {MATRIX}: {error}");
    }
    let killed = matrix.rows.iter().filter(|row| row.counts(matrix.cases.len())).count();
    println!("mutants: {killed}/{} killed", matrix.rows.len());
    if matrix.holds() && kept.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs each store under the cases that the page names for it.
fn under_named_cases(chosen: &[&'static Mutant]) -> ExitCode {
    let page = match std::fs::read_to_string(MATRIX) {
        Ok(page) => page,
        Err(error) => {
            eprintln!("error: {MATRIX}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let named = report::killers_on(&page);
    let matrix = Matrix::of(&REFERENCES, chosen, &|mutant| named.get(mutant.name).cloned());
    // The cases that are named first may be those that do not count.
    let unsure: Vec<_> =
        matrix.rows.iter().filter(|row| !row.is_found_for_sure()).map(|row| row.mutant).collect();
    let under_all = Matrix::of(&REFERENCES, &unsure, &|_| None);
    let for_sure = |row: &Row| {
        let of_all = under_all.rows.iter().find(|other| other.mutant.name == row.mutant.name);
        of_all.unwrap_or(row).is_found_for_sure()
    };
    let mut killed = 0;
    for row in &matrix.rows {
        let killers: Vec<&str> = row.killers.iter().map(|killer| killer.id).collect();
        let expected = named.get(row.mutant.name);
        if expected.is_none_or(|expected| *expected == killers) && for_sure(row) {
            killed += 1;
        } else {
            println!("{}: is killed by {killers:?}, and the page names {expected:?}", row.mutant.name);
        }
    }
    let faults = report::faults_of(&page, chosen, &matrix.cases);
    for fault in &faults {
        println!("{MATRIX}: {fault}; run this with --write");
    }
    for case in &matrix.reference_fails {
        println!("{case}: a store without a fault fails it");
    }
    println!("mutants: {killed}/{} killed by the cases that are named for them", matrix.rows.len());
    let holds = killed == matrix.rows.len() && faults.is_empty() && matrix.reference_fails.is_empty();
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn keep(page: &str) -> Result<(), String> {
    std::fs::write(MATRIX, page).map_err(|error| error.to_string())
}

fn is_kept(page: &str) -> Result<(), String> {
    match std::fs::read_to_string(MATRIX) {
        Ok(kept) if kept == page => Ok(()),
        Ok(kept) => {
            let changed = page.lines().zip(kept.lines()).find(|(now, then)| now != then);
            let (now, then) = changed.unwrap_or(("more, or less", "the rest"));
            Err(format!(
                "run this with --write and look at what changed: it says {then:?}, and it is {now:?}"
            ))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Prints what the suite reports about one broken store.
fn explain(store: &str, case: &str) -> ExitCode {
    let Some(mutant) = faults::all().find(|mutant| mutant.name == store) else {
        eprintln!("error: no broken store is called {store}");
        return ExitCode::from(2);
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut suite = Suite::new(|| Harness::new(mutant, Budget::new(u64::MAX))).filter(case).jobs(1);
    // The variable has the same meaning as in the suite.
    if let Some(scripts) = std::env::var("HOLDOVER_SUITE_SCRIPTS").ok().and_then(|count| count.parse().ok()) {
        suite = suite.scripts(scripts);
    }
    for case in runtime.block_on(suite.run()).failures() {
        print!("{}", case.in_full());
    }
    ExitCode::SUCCESS
}
