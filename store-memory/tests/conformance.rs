//! The reference store under the public suite.

use async_trait::async_trait;
use holdover_conformance_tests::{
    ClockControl, Instance, StoreHarness, StoreInfo, VirtualClock, conformance_tests,
};
use holdover_store_memory::{Limits, MemoryStore};

/// Limits that a test reaches quickly, and large enough for every case.
const LIMITS: Limits = Limits { payload_bytes_max: 2 << 20, commit_bytes_max: 8 << 20 };

struct MemoryHarness {
    clock: VirtualClock,
}

impl MemoryHarness {
    fn new() -> Self {
        Self { clock: VirtualClock::new() }
    }
}

#[async_trait]
impl StoreHarness for MemoryHarness {
    type Store = MemoryStore;

    fn info(&self) -> StoreInfo {
        StoreInfo { name: "holdover-store-memory".into(), version: env!("CARGO_PKG_VERSION").into() }
    }

    async fn fresh(&self) -> Instance<MemoryStore> {
        Instance::new(MemoryStore::with(self.clock.clone(), LIMITS))
    }

    async fn peer(&self, of: &Instance<MemoryStore>) -> MemoryStore {
        MemoryStore::clone(of.store())
    }

    /// Keeps the data: it lives as long as one handle on it.
    async fn reopen(&self, of: Instance<MemoryStore>) -> Instance<MemoryStore> {
        Instance::new(MemoryStore::clone(of.store()))
    }

    fn clock(&self) -> ClockControl {
        ClockControl::Virtual(self.clock.clone())
    }
}

conformance_tests!(MemoryHarness::new(), claims: [core, distributed, change_hints, forks, retention]);
