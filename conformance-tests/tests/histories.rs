//! The test of random histories counts only if the store answers: a store that refuses every call, every
//! write or every read with `Retry::Later` does not pass.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::num::NonZeroU32;
use std::sync::Arc;

use async_trait::async_trait;
use holdover_conformance_tests::{
    ClockControl, Instance, Report, Status, StoreHarness, StoreInfo, Suite, VirtualClock,
};
use holdover_store::{Answer, Layer, Layered, Request, Retry, StateStore, StoreError, StoreErrorKind};
use holdover_store_memory::{Limits, MemoryStore};

/// The calls that a store always refuses with `Retry::Later`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PutsOff {
    Nothing,
    Everything,
    Writes,
    Reads,
}

impl PutsOff {
    fn holds(self, request: &Request) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::Writes => request.writes(),
            Self::Reads => !request.writes(),
        }
    }
}

#[async_trait]
impl Layer for PutsOff {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if !self.holds(&request) {
            return request.perform(&store).await;
        }
        let error = StoreError::new(StoreErrorKind::Unavailable, request.operation(), "it is busy");
        Err(error.retry(Retry::Later))
    }
}

struct Harness {
    clock: VirtualClock,
    puts_off: PutsOff,
}

#[async_trait]
impl StoreHarness for Harness {
    type Store = Layered<MemoryStore, PutsOff>;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("busy", "1")
    }

    async fn fresh(&self) -> Instance<Self::Store> {
        let store = MemoryStore::with(self.clock.clone(), Limits::default());
        Instance::guarded(Layered::new(store.clone(), self.puts_off), store)
    }

    async fn peer(&self, of: &Instance<Self::Store>) -> Self::Store {
        Layered::new(of.guard::<MemoryStore>().unwrap().clone(), self.puts_off)
    }

    async fn reopen(&self, of: Instance<Self::Store>) -> Instance<Self::Store> {
        let peer = self.peer(&of).await;
        let (_, store) = of.into_parts::<MemoryStore>();
        Instance::guarded(peer, store.unwrap())
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(self.clock.clone())
    }
}

async fn report(puts_off: PutsOff) -> Report {
    let suite = Suite::new(move || Harness { clock: VirtualClock::new(), puts_off });
    suite.filter("race.linearizable_histories").scripts(NonZeroU32::new(4).unwrap()).run().await
}

#[tokio::test]
async fn a_store_that_answers_passes() {
    let report = report(PutsOff::Nothing).await;
    assert_eq!(report.cases[0].status, Status::Passed, "{}", report.console());
}

#[tokio::test]
async fn a_store_that_puts_off_writes_or_reads_does_not_pass() {
    for puts_off in [PutsOff::Everything, PutsOff::Writes, PutsOff::Reads] {
        let report = report(puts_off).await;
        assert_eq!(report.cases[0].status, Status::Failed, "{puts_off:?}: {}", report.console());
        let found = &report.cases[0].failure.as_ref().unwrap().found;
        assert!(found.contains("answers that say something"), "{puts_off:?}: {found}");
    }
}
