//! The comparison with the model on a clock that no case moves: without instants, without what time does.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use async_trait::async_trait;
use holdover_conformance_tests::{Instance, Status, StoreHarness, StoreInfo, all, run};
use holdover_store_memory::MemoryStore;

/// The memory store on the machine's clock.
struct Harness;

#[async_trait]
impl StoreHarness for Harness {
    type Store = MemoryStore;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("real", "1")
    }

    async fn fresh(&self) -> Instance<MemoryStore> {
        Instance::new(MemoryStore::new())
    }

    async fn peer(&self, of: &Instance<MemoryStore>) -> MemoryStore {
        MemoryStore::clone(of.store())
    }

    async fn reopen(&self, of: Instance<MemoryStore>) -> Instance<MemoryStore> {
        Instance::new(MemoryStore::clone(of.store()))
    }
}

#[tokio::test]
async fn the_comparison_needs_no_virtual_clock() {
    for id in
        ["prop.sequential_model_equivalence", "prop.regression_scripts", "prop.op_outcome_coverage_gate"]
    {
        let case = all().find(|case| case.id == id).expect("the case");
        let report = run(case, Harness, 0).await;
        assert_eq!(report.status, Status::Passed, "{}", report.in_full());
    }
}
