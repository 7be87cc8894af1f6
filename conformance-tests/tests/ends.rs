//! A case ends as soon as one of its tasks fails, although other tasks wait for work that the failed task was
//! to do.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_conformance_tests::{
    Capability, ClockControl, FoundBy, Gap, Instance, Level, Status, StoreHarness, StoreInfo, Suite,
    VirtualClock,
};
use holdover_store::{Answer, Layer, Layered, Request, StateStore, StoreError, StoreErrorKind};
use holdover_store_memory::{Limits, MemoryStore};

/// The message of the injected error.
const FAULT: &str = "the backend is away";

/// A layer that fails every call of one operation.
struct Fails(&'static str);

#[async_trait]
impl Layer for Fails {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if request.operation() == self.0 {
            return Err(StoreError::new(StoreErrorKind::Unavailable, self.0, FAULT));
        }
        request.perform(&store).await
    }
}

/// A harness whose first handle is sound. On its peers, one operation fails.
struct Harness {
    fails: &'static str,
    clock: VirtualClock,
}

type Failing = Layered<MemoryStore, Fails>;

#[async_trait]
impl StoreHarness for Harness {
    type Store = Failing;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("failing", "1")
    }

    async fn fresh(&self) -> Instance<Failing> {
        let limits = Limits { payload_bytes_max: 9 << 20, commit_bytes_max: 16 << 20 };
        Instance::new(Layered::new(MemoryStore::with(self.clock.clone(), limits), Fails("nothing")))
    }

    async fn peer(&self, of: &Instance<Failing>) -> Failing {
        Layered::new(of.store().store().as_ref().clone(), Fails(self.fails))
    }

    async fn reopen(&self, of: Instance<Failing>) -> Instance<Failing> {
        of
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(self.clock.clone())
    }

    fn gaps(&self) -> Vec<Gap> {
        vec![
            Gap::level(Level::Durable, "it lives in this process"),
            Gap::capability(Capability::ChildProcess, "it lives in this process"),
        ]
    }
}

#[test]
fn whoever_waits_for_a_task_that_failed_is_dropped_and_the_failure_is_told() {
    const COMMIT: &str = "commit";
    let table = [
        ("events.offset_visible_order_equals_commit_order", COMMIT),
        ("deltas.events_and_deltas_are_of_one_instant", COMMIT),
        ("messages.reader_never_sees_partial_batch", COMMIT),
        ("interrupt.set_during_commit_is_seen_by_this_or_next_step", "request_interrupt"),
        ("promotion.concurrent_stage_during_promote_not_lost", "stage_result"),
    ];
    for (case, fails) in table {
        let suite = Suite::new(move || Harness { fails, clock: VirtualClock::new() });
        let suite = suite.filter(case).jobs(1).case_time_max(Duration::from_secs(20));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let report = runtime.block_on(suite.run());
        let [told] = &report.cases[..] else { panic!("{case} is one case") };
        let failure = told.failure.as_ref().expect(case);
        assert_eq!((told.status, failure.found_by), (Status::Failed, FoundBy::Looking), "{}", failure.found);
        assert!(failure.found.contains(FAULT), "{case}: {}", failure.found);
    }
}
