//! The harness for the SQLite store.

mod place;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use holdover_conformance_tests::{
    Capability, ClockControl, Gap, Instance, Place, StoreHarness, StoreInfo, VirtualClock,
};
use holdover_store::StateStore;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;

use place::FilePlace;

/// Limits that are small enough for tests to reach them quickly, and large enough for every case.
const PAYLOAD_BYTES_MAX: usize = 9 << 20;
const COMMIT_BYTES_MAX: usize = 16 << 20;

/// The name of each store's file.
const FILE: &str = "sessions.db";

/// A harness for the SQLite store. Each store is a new file in a folder of its own, which is removed when the instance
/// is dropped. All handles on all stores share one clock.
pub struct SqliteHarness {
    folder: PathBuf,
    clock: VirtualClock,
    child: Option<ChildProgram>,
}

/// Builds the command of a child program that serves the file.
type ChildProgram = Arc<dyn Fn(&Path) -> Command + Send + Sync>;

impl SqliteHarness {
    /// Creates a harness with a clock of its own, whose stores lie in new folders inside `folder`.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), clock: VirtualClock::new(), child: None }
    }

    /// Sets the function that builds the command of a child program, for the cases that kill a process. The function
    /// gets the path of the store's file. The program must call [`serve_child`](Self::serve_child) with this path.
    #[must_use]
    pub fn child_program(mut self, program: impl Fn(&Path) -> Command + Send + Sync + 'static) -> Self {
        self.child = Some(Arc::new(program));
        self
    }

    /// Opens the file that the program was given, with the options of this harness, and writes until the process is
    /// killed.
    ///
    /// # Panics
    /// If the store cannot be opened.
    pub async fn serve_child(file: &Path) {
        let harness = Self::in_folder("");
        let folder = file.parent().unwrap_or(Path::new("."));
        holdover_conformance_tests::serve_child(harness.open(folder).await).await;
    }

    fn options(&self, folder: &Path) -> SqliteOptions {
        SqliteOptions::new(folder.join(FILE))
            .payload_bytes_max(PAYLOAD_BYTES_MAX)
            .commit_bytes_max(COMMIT_BYTES_MAX)
            .clock(Arc::new(self.clock.clone()))
    }

    async fn open(&self, folder: &Path) -> SqliteStore {
        SqliteStore::open(self.options(folder)).await.expect("the database opens")
    }
}

#[async_trait]
impl StoreHarness for SqliteHarness {
    type Store = SqliteStore;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("holdover-store-sqlite", holdover_store_sqlite::VERSION)
    }

    async fn fresh(&self) -> Instance<SqliteStore> {
        let folder = tempfile::tempdir_in(&self.folder).expect("a temporary folder");
        Instance::guarded(self.open(folder.path()).await, folder)
    }

    /// Opens the file again, with a new writer, new readers and new caches.
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
        ClockControl::with(self.clock.clone())
    }

    fn child(&self, of: &Instance<SqliteStore>) -> Option<Command> {
        let folder = of.guard::<TempDir>().expect("its folder").path();
        self.child.as_ref().map(|program| program(&folder.join(FILE)))
    }

    async fn place(&self) -> Option<Arc<dyn Place>> {
        let folder = tempfile::tempdir_in(&self.folder).expect("a temporary folder");
        let options = self.options(folder.path());
        Some(Arc::new(FilePlace { folder, options }))
    }

    fn gaps(&self) -> Vec<Gap> {
        vec![Gap::capability(Capability::WireFaults, "it opens a file; there is no wire")]
    }
}

impl fmt::Debug for SqliteHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteHarness").field("folder", &self.folder).finish_non_exhaustive()
    }
}
