//! The SQLite store under the public suite.
#![allow(clippy::expect_used, reason = "a harness that cannot have its backend panics")]

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use holdover_conformance_tests::{
    ClockControl, Instance, StoreHarness, StoreInfo, VirtualClock, conformance_tests,
};
use holdover_core::store::StateStore;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;

/// Limits that a test reaches quickly, and large enough for every case.
const PAYLOAD_BYTES_MAX: usize = 2 << 20;
const COMMIT_BYTES_MAX: usize = 8 << 20;

/// Each store is a file in a folder of its own. All handles on all of them share one clock.
struct SqliteHarness {
    clock: VirtualClock,
}

impl SqliteHarness {
    fn new() -> Self {
        Self { clock: VirtualClock::new() }
    }

    async fn open(&self, folder: &Path) -> SqliteStore {
        let options = SqliteOptions::new(folder.join("sessions.db"))
            .payload_bytes_max(PAYLOAD_BYTES_MAX)
            .commit_bytes_max(COMMIT_BYTES_MAX)
            .clock(Arc::new(self.clock.clone()));
        SqliteStore::open(options).await.expect("the database opens")
    }
}

#[async_trait]
impl StoreHarness for SqliteHarness {
    type Store = SqliteStore;

    fn info(&self) -> StoreInfo {
        StoreInfo { name: "holdover-store-sqlite".into(), version: env!("CARGO_PKG_VERSION").into() }
    }

    async fn fresh(&self) -> Instance<SqliteStore> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Instance::guarded(self.open(folder.path()).await, folder)
    }

    /// Opens the file once more: a writer, readers and caches of its own.
    async fn peer(&self, of: &Instance<SqliteStore>) -> SqliteStore {
        self.open(of.guard::<TempDir>().expect("its folder").path()).await
    }

    async fn reopen(&self, of: Instance<SqliteStore>) -> Instance<SqliteStore> {
        let (store, folder) = of.into_parts::<TempDir>();
        let folder = folder.expect("its folder");
        store.close().await;
        let again = self.open(folder.path()).await;
        assert_eq!(again.capabilities(), store.capabilities(), "the same promises");
        Instance::guarded(again, folder)
    }

    fn clock(&self) -> ClockControl {
        ClockControl::Virtual(self.clock.clone())
    }
}

conformance_tests!(SqliteHarness::new(), claims: [core, durable, distributed, change_hints, forks, retention]);
