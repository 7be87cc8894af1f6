//! Checks that every test target with the conformance suite runs it. Without `harness = false` the target would
//! pass and run no case.

use xtask::fault::{self, Fault};
use xtask::tree::Tree;

/// The macro call in the `main` of a target with the suite.
const CALL: &str = "    conformance_tests!";

#[test]
fn a_target_that_is_the_suite_has_no_other_harness() {
    let tree = Tree::here();
    let (targets, faults) = faults(&tree);
    assert!(targets >= 7, "only {targets} targets are the suite: it is looked for in the wrong way");
    fault::none(faults);
}

/// Returns the number of targets with the suite, and a fault for each target that would run no case.
fn faults(tree: &Tree) -> (usize, Vec<Fault>) {
    let mut targets = 0;
    let mut faults = Vec::new();
    for path in tree.ending(".rs") {
        let Some((package, target)) = path.split_once("/tests/") else { continue };
        let manifest = format!("{package}/Cargo.toml");
        if target.contains('/')
            || !tree.is_file(&manifest)
            || !tree.read(path).lines().any(|line| line.starts_with(CALL))
        {
            continue;
        }
        targets += 1;
        let name = target.trim_end_matches(".rs");
        if !tree.read(&manifest).contains(&format!("[[test]]\nname = \"{name}\"\nharness = false\n")) {
            let what =
                format!("the target {name} is the suite: say harness = false, or none of its cases is run");
            faults.push(Fault::at(&manifest, 1, what));
        }
    }
    (targets, faults)
}

#[test]
fn a_suite_that_would_run_nothing_is_found() {
    let files = [
        ("a/Cargo.toml", "[[test]]\nname = \"suite\"\nharness = false\n"),
        ("a/tests/suite.rs", "fn main() {\n    conformance_tests!(x)\n}\n"),
        ("a/tests/other.rs", "fn main() {\n    conformance_tests!(x)\n}\n"),
    ];
    let (targets, faults) = faults(&Tree::of(&files));
    assert_eq!((targets, faults.len()), (2, 1), "{faults:?}");
}
