//! Runs the suite on a clock that no case moves, with a store that waits several times in each call.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::time::Duration;

use async_trait::async_trait;
use holdover_conformance_tests::{
    Capability, ClockControl, Gap, Instance, Level, Status, StoreHarness, StoreInfo, Suite, Verdict,
};
use holdover_store_memory::{Limits, MemoryStore};
use support::Waiting;

/// The memory store on the machine's clock, with the delays of a remote store.
struct Harness;

#[async_trait]
impl StoreHarness for Harness {
    type Store = Waiting<MemoryStore>;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("real", "1")
    }

    async fn fresh(&self) -> Instance<Self::Store> {
        let limits = Limits { payload_bytes_max: 9 << 20, commit_bytes_max: 16 << 20 };
        Instance::new(Waiting(MemoryStore::with(holdover_store_memory::SystemClock, limits)))
    }

    async fn peer(&self, of: &Instance<Self::Store>) -> Self::Store {
        Self::Store::clone(of.store())
    }

    async fn reopen(&self, of: Instance<Self::Store>) -> Instance<Self::Store> {
        Instance::new(Self::Store::clone(of.store()))
    }

    fn clock(&self) -> ClockControl {
        ClockControl::Real { lease: Duration::from_secs(1) }
    }

    fn gaps(&self) -> Vec<Gap> {
        let reason = "it keeps nothing beyond its process";
        vec![
            Gap::level(Level::Durable, reason),
            Gap::capability(Capability::ChildProcess, reason),
            Gap::capability(Capability::WireFaults, reason),
            Gap::capability(Capability::RawData, reason),
        ]
    }
}

#[tokio::test]
async fn a_store_on_a_clock_of_its_own_passes_in_real_time() {
    let report = Suite::new(|| Harness).jobs(16).run().await;
    assert_eq!((report.level, report.verdict()), (Level::Core, Verdict::Passed), "{}", report.console());
    for case in report.cases.iter().filter(|case| case.status == Status::Skipped) {
        assert!(case.level == Level::Durable || case.needs.is_some(), "{}", case.in_full());
    }
    let sweep = report.cases.iter().find(|case| case.id == "crash.cancel_sweep_every_mutating_op").unwrap();
    // The case waits once for all dropped calls. One wait for each dropped call would take minutes.
    assert!((3_000..60_000).contains(&sweep.milliseconds), "{} ms", sweep.milliseconds);
}
