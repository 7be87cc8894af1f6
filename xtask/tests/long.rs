//! The page of the long run: it has a row for each part, and each part counts what its tests read.

use xtask::fault::{self, Fault};
use xtask::long::{self, PAGE, PARTS};
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
