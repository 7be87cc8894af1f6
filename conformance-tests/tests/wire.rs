//! Tests of the cases that cut connections: a sound store passes them, and each broken store fails at least one.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at what it is about")]

#[path = "support/wired.rs"]
mod wired;

use holdover_conformance_tests::{CaseReport, Settings, Status, StoreHarness, all, run};
use wired::{WiredHarness, Wrong};

const REQUEST: &str = "crash.cut_request_sweep";
const ANSWER: &str = "crash.lost_ack_sweep_exactly_once";
const KILLED: &str = "crash.killed_connection_surfaces_unavailable_or_retries";
const AMBIGUOUS: &str = "crash.ambiguous_commit_reported_as_ambiguous";
const PROMOTION: &str = "promotion.answer_cut_then_retry_is_exactly_once";
const ALL: [&str; 5] = [REQUEST, ANSWER, KILLED, AMBIGUOUS, PROMOTION];

async fn report(id: &str, harness: impl StoreHarness) -> CaseReport {
    let case = all().find(|case| case.id == id).expect("the case");
    run(case, harness, Settings::default()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_store_passes() {
    for (id, wrong) in ALL.into_iter().flat_map(|id| [(id, Wrong::Nothing), (id, Wrong::Sealed)]) {
        let report = report(id, WiredHarness::new(wrong)).await;
        assert_eq!(report.status, Status::Passed, "{}", report.in_full());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_broken_store_is_caught() {
    let caught = [
        (Wrong::SaysLater, &[ANSWER, AMBIGUOUS, PROMOTION][..], ""),
        (Wrong::SaysNever, &ALL[..4], "Never"),
        (Wrong::AsksAnew, &[ANSWER, AMBIGUOUS, PROMOTION][..], ""),
        (Wrong::ForgetsIds, &[ANSWER, PROMOTION][..], ""),
        (Wrong::ActsEarly, &[REQUEST, ANSWER, AMBIGUOUS][..], ""),
        (Wrong::GoesAround, &[REQUEST, ANSWER, AMBIGUOUS][..], "to be noticed"),
        // The suite waits for this store as long as an operation may take to settle.
        (Wrong::StaysDown, &[KILLED][..], "to work again"),
    ];
    for (wrong, cases, said) in caught {
        for id in cases {
            let report = report(id, WiredHarness::new(wrong)).await;
            assert_eq!(report.status, Status::Failed, "{wrong:?}: {}", report.in_full());
            let found = report.failure.expect("a failure").found;
            assert!(found.contains(said), "{wrong:?}: {found}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_past_the_proxy_proves_nothing() {
    for id in ALL {
        let report = report(id, WiredHarness::past_the_proxy()).await;
        assert_eq!(report.status, Status::Failed, "{}", report.in_full());
        let found = report.failure.expect("a failure").found;
        let expected = if id == KILLED { "a connection to kill" } else { "through the proxy" };
        assert!(found.contains(expected), "{found}");
    }
}
