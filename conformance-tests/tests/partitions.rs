//! A sound store with two partitions. It claims due sessions of one partition first, then of the other.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;

use async_trait::async_trait;
use holdover_conformance_tests::{
    Capability, ClockControl, Gap, Instance, Settings, Status, StoreHarness, StoreInfo, VirtualClock, all,
    run,
};
use holdover_store::ids::TenantId;
use holdover_store::{Answer, ClaimDue, Layer, Layered, Request, StateStore, StoreError};
use holdover_store_memory::{Limits, MemoryStore};

const LIMITS: Limits = Limits { payload_bytes_max: 9 << 20, commit_bytes_max: 16 << 20 };

/// The tenant of the first partition. The cases use no tenant but this one and `THEN`, that of the second partition.
const FIRST: &str = "other";
const THEN: &str = "acme";

struct Partitions;

#[async_trait]
impl Layer for Partitions {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let Request::ClaimDue(due) = &request else { return request.perform(&store).await };
        if due.tenant.is_some() {
            return request.perform(&store).await;
        }
        let mut claims = Vec::new();
        for tenant in [FIRST, THEN] {
            let runs = due.runs[claims.len()..].to_vec();
            let tenant = TenantId::new(tenant).ok();
            claims.extend(store.claim_due(ClaimDue { runs, tenant, ..due.clone() }).await?);
        }
        Ok(Answer::ClaimedDue(claims))
    }
}

#[derive(Default)]
struct Harness {
    clock: VirtualClock,
    gaps: Vec<Gap>,
}

type Partitioned = Layered<MemoryStore, Partitions>;

#[async_trait]
impl StoreHarness for Harness {
    type Store = Partitioned;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("partitions", "1")
    }

    async fn fresh(&self) -> Instance<Partitioned> {
        Instance::new(Layered::new(MemoryStore::with(self.clock.clone(), LIMITS), Partitions))
    }

    async fn peer(&self, of: &Instance<Partitioned>) -> Partitioned {
        Layered::new(of.store().store().as_ref().clone(), Partitions)
    }

    async fn reopen(&self, of: Instance<Partitioned>) -> Instance<Partitioned> {
        Instance::new(self.peer(&of).await)
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(self.clock.clone())
    }

    fn gaps(&self) -> Vec<Gap> {
        self.gaps.clone()
    }
}

/// Runs the cases with scripts, except the one that reopens the store, each on a store of its own with these gaps.
/// Returns the id and the status of each case.
async fn told(gaps: &[Gap]) -> Vec<(&'static str, Status)> {
    let mut told = Vec::new();
    for case in all().filter(|case| case.category() == "prop" && !case.id.contains("reopen")) {
        let harness = Harness { gaps: gaps.to_vec(), ..Harness::default() };
        told.push((case.id, run(case, harness, Settings::default()).await.status));
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_names_no_order_over_all_is_not_asked_for_one() {
    let gap = Gap::capability(Capability::DueOrder, "one partition after the other");
    for (id, status) in told(&[gap]).await {
        assert_eq!(status, Status::Passed, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_claims_the_order_is_held_to_it() {
    assert!(told(&[]).await.iter().any(|(_, status)| *status == Status::Failed));
}
