//! The store under the public suite.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use holdover_conformance_tests::{
    Capability, ClockControl, Gap, Instance, StoreHarness, StoreInfo, VirtualClock, conformance_tests,
    serve_child,
};
use holdover_example_custom_store::{Options, RedbStore};
use tempfile::TempDir;

/// Each store is a file in a folder of its own; all handles on all of them share one clock.
#[derive(Default)]
struct Harness(VirtualClock);

impl Harness {
    async fn open(&self, folder: &Path) -> RedbStore {
        // Some cases write at a limit, and one byte beyond it.
        let options = Options {
            clock: Arc::new(self.0.clone()),
            payload_bytes_max: 9 << 20,
            commit_bytes_max: 16 << 20,
        };
        RedbStore::open(folder.join("sessions.redb"), options).await.expect("it opens")
    }
}

#[async_trait]
impl StoreHarness for Harness {
    type Store = RedbStore;

    fn info(&self) -> StoreInfo {
        StoreInfo::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
    }

    /// Empty, isolated, gone when the instance is dropped: the folder is its guard.
    async fn fresh(&self) -> Instance<RedbStore> {
        let folder = tempfile::tempdir().expect("a folder");
        Instance::guarded(self.open(folder.path()).await, folder)
    }

    /// Opens the file once more, as another process does. A clone would share the handle.
    async fn peer(&self, of: &Instance<RedbStore>) -> RedbStore {
        self.open(of.guard::<TempDir>().expect("its folder").path()).await
    }

    async fn reopen(&self, of: Instance<RedbStore>) -> Instance<RedbStore> {
        let (store, folder) = of.into_parts::<TempDir>();
        drop(store);
        let folder = folder.expect("its folder");
        Instance::guarded(self.open(folder.path()).await, folder)
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(self.0.clone())
    }

    /// This test program itself, told to run the test `child` alone.
    fn child(&self, of: &Instance<RedbStore>) -> Option<Command> {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        let folder = of.guard::<TempDir>().expect("its folder").path();
        command.args(["--exact", "child", "--nocapture"]).env(FOLDER, folder);
        Some(command)
    }

    fn gaps(&self) -> Vec<Gap> {
        vec![
            Gap::capability(Capability::WireFaults, "it opens a file; there is no wire"),
            Gap::capability(Capability::RawData, "nothing is written yet that tampers with its rows"),
        ]
    }
}

conformance_tests!(
    Harness::default(),
    claims: [core, durable, distributed, change_hints, forks, retention, due_order, child_process],
);

/// The variable that names the folder to this program as a child.
const FOLDER: &str = "HOLDOVER_CHILD_FOLDER";

/// No test, unless this program was started to be killed.
#[test]
fn child() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async { serve_child(Harness::default().open(Path::new(&folder)).await).await });
    }
}
