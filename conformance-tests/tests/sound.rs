//! Sound stores with unusual behaviour that the contract allows: the cases about that behaviour do not fail on them.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at what it is about")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_conformance_tests::{
    Capability, ClockControl, Gap, Instance, Level, Report, Status, StoreHarness, StoreInfo, Suite,
    VirtualClock,
};
use holdover_store::{Answer, Layer, Layered, Request, StateStore, StoreError};
use holdover_store_memory::{Limits, MemoryStore};

const LIMITS: Limits = Limits { payload_bytes_max: 9 << 20, commit_bytes_max: 16 << 20 };

/// The unusual traits of a store.
#[derive(Debug, Clone, Copy)]
struct Unusual {
    limits: Limits,
    /// The maximum time after which a wait for a change returns, even if nothing changed.
    looks_after: Duration,
    /// The number of times that a wait yields before it begins to listen for changes.
    listens_after: usize,
}

const USUAL: Unusual = Unusual { limits: LIMITS, looks_after: Duration::MAX, listens_after: 0 };

#[async_trait]
impl Layer for Unusual {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        match request {
            Request::Wait(watch, at_most) => {
                for _ in 0..self.listens_after {
                    tokio::task::yield_now().await;
                }
                Request::Wait(watch, at_most.min(self.looks_after)).perform(&store).await
            }
            other => other.perform(&store).await,
        }
    }
}

struct Harness {
    unusual: Unusual,
    clock: VirtualClock,
}

#[async_trait]
impl StoreHarness for Harness {
    type Store = Layered<MemoryStore, Unusual>;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("unusual", "1")
    }

    async fn fresh(&self) -> Instance<Self::Store> {
        let store = MemoryStore::with(self.clock.clone(), self.unusual.limits);
        Instance::new(Layered::new(store, self.unusual))
    }

    async fn peer(&self, of: &Instance<Self::Store>) -> Self::Store {
        Layered::clone(of.store())
    }

    async fn reopen(&self, of: Instance<Self::Store>) -> Instance<Self::Store> {
        Instance::new(Layered::clone(of.store()))
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(self.clock.clone())
    }

    fn gaps(&self) -> Vec<Gap> {
        let reason = "it is a test";
        vec![Gap::level(Level::Durable, reason), Gap::capability(Capability::ChildProcess, reason)]
    }
}

/// Runs the cases of a category and asserts that none fails.
fn sound(unusual: Unusual, category: &str) -> Report {
    let suite = Suite::new(move || Harness { unusual, clock: VirtualClock::new() }).jobs(2);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let report = runtime.block_on(suite.filter(category).run());
    assert_eq!(report.failures().count(), 0, "{}", report.console());
    report
}

#[test]
fn a_store_without_limits_passes_and_is_told_what_was_not_asked() {
    let endless = Limits { payload_bytes_max: usize::MAX, commit_bytes_max: usize::MAX };
    let unlimited = Unusual { limits: endless, ..USUAL };
    let report = sound(unlimited, "limit");
    for case in &report.cases {
        let why = case.skipped.as_deref().unwrap_or("it was run");
        assert!(why.contains("no case makes more than") && !case.missed, "{}: {why}", case.id);
    }
    for category in ["data", "deltas", "fence"] {
        let report = sound(unlimited, category);
        assert!(report.cases.iter().any(|case| case.status == Status::Passed), "{category}");
    }
}

#[test]
fn a_store_that_sends_whoever_waits_to_look_now_and_then_tells_of_changes() {
    sound(Unusual { looks_after: Duration::from_millis(20), ..USUAL }, "hint");
}

#[test]
fn a_store_that_listens_late_tells_of_changes() {
    sound(Unusual { listens_after: 8, ..USUAL }, "hint");
}
