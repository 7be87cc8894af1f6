//! The random scripts find the fault of each broken store.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::process::Command;

/// Stores with faults of different kinds: in fences, versions, repeats, overwriting, alarms and deletion.
const BROKEN: [&str; 6] = [
    "epoch-not-checked-by-stage",
    "cas-ignores-version",
    "create-repeat-is-refused",
    "create-overwrites",
    "cas-sets-no-alarm",
    "delete-leaves-pending",
];

/// The number of scripts, large enough to find each fault whatever the random choices.
const SCRIPTS: &str = "160";

/// The other cases of this category, each with a broken store that it must find.
const OTHERS: [(&str, &str); 4] = [
    ("prop.reopen_at_any_point_equivalence", "staging-lost-at-reopen"),
    ("prop.regression_scripts", "create-takes-one-key-twice"),
    ("prop.regression_scripts", "close-drops-unread-answer"),
    ("prop.op_outcome_coverage_gate", "cas-ignores-version"),
];

/// Returns the suite's report on a broken store.
fn said(store: &str, case: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mutants"));
    let told = command
        .args(["--explain", store, case])
        .env("HOLDOVER_SUITE_SCRIPTS", SCRIPTS)
        .output()
        .expect("it starts");
    String::from_utf8(told.stdout).expect("UTF-8")
}

#[test]
fn every_case_of_this_kind_finds_something_out() {
    for (case, store) in OTHERS {
        let text = said(store, case);
        assert!(text.starts_with(&format!("{case}: FAILED")), "{case} does not find out {store}: {text}");
    }
}

#[test]
fn a_random_story_finds_out_what_is_broken_and_tells_the_shortest_one() {
    for store in BROKEN {
        let text = said(store, "prop.sequential_model_equivalence");
        assert!(text.contains("prop.sequential_model_equivalence"), "{store} is not found out: {text}");
        assert!(text.contains("list(["), "{store}: the script is told: {text}");
    }
}
