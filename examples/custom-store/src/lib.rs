//! A store that keeps sessions in one redb file. An outside author could have written it. The guide `README.md` beside
//! it explains these files.
//!
//! ```
//! use custom_store::{Options, RedbStore};
//! use holdover_store::{CommitSurvives, StateStore};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let file = folder.path().join("sessions.redb");
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! let store = RedbStore::open(file, Options::default()).await.unwrap();
//! assert_eq!(store.capabilities().commit_survives, CommitSurvives::PowerCut);
//! # });
//! ```
//!
//! The format of the file is 5. Files of formats 1 to 4, which earlier versions of this example wrote, are refused.

mod file;
mod read;
mod rows;
mod write;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use holdover_store::StoreError;
use holdover_store::rows::RowStore;
use holdover_store::time::{Clock, Timestamp};

use crate::rows::RedbRows;

/// The options for opening a store.
#[derive(Clone)]
pub struct Options {
    /// The clock of the store. A test passes a clock that it sets by hand.
    pub clock: Arc<dyn Clock>,
    /// The maximum size of a single payload, in bytes.
    pub payload_bytes_max: usize,
    /// The maximum size of all payloads of one write together, in bytes.
    pub commit_bytes_max: usize,
    /// True if a missing file is created. Otherwise, opening a missing file, or a file without tables, fails with
    /// [`Unavailable`](holdover_store::StoreErrorKind::Unavailable).
    pub make: bool,
}

impl Default for Options {
    /// Returns options with the clock of the machine, payloads of at most 16 MiB, and writes of at most 64 MiB. A
    /// missing file is created.
    fn default() -> Self {
        let clock = Arc::new(MachineClock);
        Self { clock, payload_bytes_max: 16 << 20, commit_bytes_max: 64 << 20, make: true }
    }
}

struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH.after(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

/// A store that keeps sessions in one redb file. A clone is the same handle. A file may be open in any number of
/// handles and processes on one machine.
#[derive(Clone)]
pub struct RedbStore(RowStore<RedbRows>);

impl RedbStore {
    /// Opens the file. A missing file is created unless [`Options::make`] is false. Fails with
    /// [`Newer`](holdover_store::StoreErrorKind::Newer) if the file has a newer format, and with
    /// [`Unsupported`](holdover_store::StoreErrorKind::Unsupported) if it has an older one.
    pub async fn open(path: impl Into<PathBuf>, options: Options) -> Result<Self, StoreError> {
        RedbRows::open(path.into(), options).await.map(|rows| Self(RowStore::new(rows)))
    }
}

holdover_store::forward_store! { [] RedbStore, |store| store.0 }
