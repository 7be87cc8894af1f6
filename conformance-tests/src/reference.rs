//! The harness of the reference store. It lies in this crate because most of the suite's broken stores are the
//! reference store with one fault each.

use async_trait::async_trait;
use holdover_store_memory::{Limits, MemoryStore};

use crate::case::{Capability, Level};
use crate::clock::{ClockControl, VirtualClock};
use crate::gap::Gap;
use crate::harness::{Instance, StoreHarness, StoreInfo};

/// Limits that are small enough for tests to reach them quickly, and large enough for every case.
const LIMITS: Limits = Limits { payload_bytes_max: 9 << 20, commit_bytes_max: 16 << 20 };

/// The harness of the in-memory reference store.
#[derive(Debug, Default)]
pub struct MemoryHarness {
    clock: VirtualClock,
}

impl MemoryHarness {
    /// Creates a harness with a clock of its own.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl StoreHarness for MemoryHarness {
    type Store = MemoryStore;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("holdover-store-memory", holdover_store_memory::VERSION)
    }

    async fn fresh(&self) -> Instance<MemoryStore> {
        Instance::new(MemoryStore::with(self.clock.clone(), LIMITS))
    }

    async fn peer(&self, of: &Instance<MemoryStore>) -> MemoryStore {
        MemoryStore::clone(of.store())
    }

    /// Returns another handle on the same data. The data lives as long as a handle on it does.
    async fn reopen(&self, of: Instance<MemoryStore>) -> Instance<MemoryStore> {
        Instance::new(MemoryStore::clone(of.store()))
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(self.clock.clone())
    }

    fn gaps(&self) -> Vec<Gap> {
        let reason = "it keeps nothing beyond its process";
        vec![
            Gap::level(Level::Durable, reason),
            Gap::capability(Capability::ChildProcess, reason),
            Gap::capability(Capability::WireFaults, "it has no wire"),
            Gap::capability(Capability::RawData, "it has no schema, and keeps what it was given"),
        ]
    }
}
