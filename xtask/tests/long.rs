//! Checks the page of the long run and its parts: every part has a row, took no longer than it may, sets variables that
//! are read, and names tests that exist.

#![allow(clippy::expect_used, reason = "a test may panic")]

use xtask::fault::{self, Fault};
use xtask::long::{self, PAGE, PARTS, SECONDS_MAX};
use xtask::tree::Tree;

#[test]
fn the_page_has_a_row_for_each_part() {
    let tree = Tree::here();
    let written = long::page(&long::rows(tree.read(PAGE)));
    let mut lines = tree.read(PAGE).lines().zip(written.lines());
    let faults = lines.position(|(is, must)| is != must).map(|at| {
        let must = written.lines().nth(at).unwrap_or_default();
        Fault::at(PAGE, at + 1, format!("it must be: {must}"))
    });
    let ends = tree.read(PAGE).lines().count() != written.lines().count();
    let ends = ends.then(|| Fault::at(PAGE, 1, format!("it must have {} lines", written.lines().count())));
    fault::none(faults.into_iter().chain(ends).collect());
}

#[test]
fn each_part_sets_what_a_test_reads() {
    let tree = Tree::here();
    let sources: Vec<_> = tree.ending(".rs").filter(|path| !path.starts_with("xtask/")).collect();
    let is_read = |name: &str| sources.iter().any(|path| tree.read(path).contains(&format!("\"{name}\"")));
    for part in PARTS {
        for (name, _) in part.counts {
            assert!(is_read(name), "xtask/src/long.rs: {}: nothing reads {name}", part.name);
        }
    }
}

#[test]
fn no_part_takes_longer_than_it_may() {
    let rows = long::rows(Tree::here().read(PAGE));
    let slow: Vec<_> =
        rows.iter().filter(|row| row.seconds().is_some_and(|seconds| seconds > SECONDS_MAX)).collect();
    assert!(
        slow.is_empty(),
        "xtask/src/long.rs: split {:?}",
        slow.iter().map(|row| row.name()).collect::<Vec<_>>()
    );
}

/// A filter that matches no test would pass without running anything.
#[test]
fn each_part_names_tests_that_are_there() {
    let tree = Tree::here();
    for part in PARTS {
        let behind = |word: &str| part.cargo.iter().skip_while(|one| **one != word).nth(1);
        let folder = if part.cargo.contains(&"--bin") { "src/bin" } else { "tests" };
        let target = behind("--test").or(behind("--bin")).expect("each part names a target");
        let source = match behind("--").and_then(|filter| filter.strip_suffix("::")) {
            Some(module) => format!("/{folder}/{target}/{module}.rs"),
            None => format!("/{folder}/{target}"),
        };
        let is_there = tree.ending(".rs").any(|path| {
            path.ends_with(&source)
                || path.ends_with(&format!("{source}.rs"))
                || path.ends_with(&format!("{source}/main.rs"))
        });
        assert!(is_there, "xtask/src/long.rs: {}: there is no {source}", part.name);
    }
}
