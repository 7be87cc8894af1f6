//! The harness through which the public suite uses the store.

mod place;
mod raw;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use custom_store::{Options, RedbStore};
use holdover_conformance_tests::{
    Capability, ClockControl, Gap, Instance, Place, StoreHarness, StoreInfo, VirtualClock, serve_child,
};
use place::FilePlace;
use tempfile::TempDir;

/// The harness. Each store is a file in its own folder; all handles of all stores share one clock.
#[derive(Default)]
pub(crate) struct Harness(VirtualClock);

/// The file name of each store.
const FILE: &str = "sessions.redb";

/// The environment variable with the store's folder, for a program that is started to be killed.
const FOLDER: &str = "HOLDOVER_CHILD_FOLDER";

/// Writes until it is killed, if this process was started for that. Otherwise returns at once.
pub(crate) async fn serve_if_child() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        serve_child(Harness::default().open(Path::new(&folder)).await).await;
    }
}

impl Harness {
    /// Returns options with small limits: some cases write exactly at a limit, and one byte beyond it.
    fn options(&self) -> Options {
        let clock = Arc::new(self.0.clone());
        Options { clock, payload_bytes_max: 9 << 20, commit_bytes_max: 16 << 20, ..Options::default() }
    }

    async fn open(&self, folder: &Path) -> RedbStore {
        RedbStore::open(folder.join(FILE), self.options()).await.expect("it opens")
    }
}

#[async_trait]
impl StoreHarness for Harness {
    type Store = RedbStore;

    fn info(&self) -> StoreInfo {
        StoreInfo::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
    }

    /// Returns an empty, isolated store. Its folder is removed when the instance is dropped.
    async fn fresh(&self) -> Instance<RedbStore> {
        let folder = tempfile::tempdir().expect("a folder");
        Instance::guarded(self.open(folder.path()).await, folder)
    }

    /// Opens the file once more, like another process. A clone would share the handle.
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

    /// Returns a command that starts this program again.
    fn child(&self, of: &Instance<RedbStore>) -> Option<Command> {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        let folder = of.guard::<TempDir>().expect("its folder").path();
        command.env(FOLDER, folder);
        Some(command)
    }

    async fn place(&self) -> Option<Arc<dyn Place>> {
        let folder = tempfile::tempdir().expect("a folder");
        Some(Arc::new(FilePlace { folder, options: self.options() }))
    }

    fn gaps(&self) -> Vec<Gap> {
        vec![Gap::capability(Capability::WireFaults, "it opens a file; there is no wire")]
    }
}
