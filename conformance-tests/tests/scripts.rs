//! Stories that are drawn at random find out broken stores by themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::process::Command;

/// Faults of many kinds: fences, versions, keys, counters, copies.
const BROKEN: [&str; 6] = [
    "epoch-not-checked-by-stage",
    "cas-ignores-version",
    "create-repeat-is-refused",
    "create-overwrites",
    "cas-sets-no-alarm",
    "delete-leaves-pending",
];

#[test]
fn a_random_story_finds_out_what_is_broken_and_tells_the_shortest_one() {
    for store in BROKEN {
        let mutants = Command::new(env!("CARGO_BIN_EXE_mutants"));
        let told = { mutants }
            .args(["--explain", store, "prop.sequential_model_equivalence"])
            .output()
            .expect("it starts");
        let text = String::from_utf8(told.stdout).expect("UTF-8");
        assert!(text.contains("prop.sequential_model_equivalence"), "{store} is not found out: {text}");
        assert!(text.contains("list(["), "{store}: the script is told: {text}");
    }
}
