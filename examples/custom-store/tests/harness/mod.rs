//! How the public suite gets at the store.

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

/// Each store is a file in a folder of its own; all handles on all of them share one clock.
#[derive(Default)]
pub(crate) struct Harness(VirtualClock);

/// The name of each store's file.
const FILE: &str = "sessions.redb";

/// The variable that names the folder to a program that is started to be killed.
const FOLDER: &str = "HOLDOVER_CHILD_FOLDER";

/// Writes until it is killed, if this process was started for that; else there is nothing to do.
pub(crate) async fn serve_if_child() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        serve_child(Harness::default().open(Path::new(&folder)).await).await;
    }
}

impl Harness {
    /// Some cases write at a limit, and one byte beyond it.
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

    /// This program itself.
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
