//! Tests of the cases about places: a sound store passes them, and each broken store fails at least one.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at what it is about")]

#[path = "support/placed.rs"]
mod placed;

use holdover_conformance_tests::{CaseReport, Settings, Status, all, run};
use placed::{PlacedHarness, Wrong};

const TWICE: &str = "schema.init_twice_is_idempotent";
const AT_ONCE: &str = "schema.concurrent_init_16_peers";
const NEWER: &str = "schema.newer_than_binary_fails_closed";
const INTERRUPTED: &str = "schema.interrupted_migration_is_resumable_or_rolled_back";
const STATUS: &str = "schema.unknown_enum_value_is_typed_not_panic";
const AS_IT_IS: &str = "schema.verify_only_mode_runs_no_ddl";
const MESSAGE: &str = "schema.corrupt_row_is_corrupt_error_and_isolated";
const ALL: [&str; 7] = [TWICE, AT_ONCE, NEWER, INTERRUPTED, STATUS, AS_IT_IS, MESSAGE];

async fn report(id: &str, wrong: Wrong) -> CaseReport {
    let case = all().find(|case| case.id == id).expect("the case");
    run(case, PlacedHarness(wrong), Settings::default()).await
}

#[test]
fn every_case_about_places_is_here() {
    let cases: Vec<_> = all().filter(|case| case.category() == "schema").map(|case| case.id).collect();
    assert_eq!(cases, ALL);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_store_passes() {
    for id in ALL {
        let report = report(id, Wrong::Nothing).await;
        assert_eq!(report.status, Status::Passed, "{}", report.in_full());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_broken_store_is_caught() {
    let caught = [
        (Wrong::MakesItAnew, &[TWICE, AT_ONCE][..]),
        (Wrong::MakesTwo, &[AT_ONCE][..]),
        (Wrong::OpensNewer, &[NEWER][..]),
        (Wrong::EmptiesNewer, &[NEWER][..]),
        (Wrong::LeavesItsLock, &[INTERRUPTED][..]),
        (Wrong::BelievesWhatItReads, &[STATUS, MESSAGE][..]),
        (Wrong::HopesForTheBest, &[STATUS, MESSAGE][..]),
        (Wrong::FailsAsAWhole, &[STATUS, MESSAGE][..]),
        (Wrong::MakesAsItIs, &[AS_IT_IS][..]),
    ];
    for (wrong, cases) in caught {
        for id in cases {
            let report = report(id, wrong).await;
            assert_eq!(report.status, Status::Failed, "{wrong:?}: {}", report.in_full());
            assert!(report.failure.is_some_and(|failure| !failure.found.contains("panic")), "{wrong:?} {id}");
        }
    }
}
