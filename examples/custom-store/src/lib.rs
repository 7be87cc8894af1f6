//! Sessions in one redb file: a store that an outside author could have written. The guide beside it,
//! `README.md`, leads through these files.
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
//! The layout is format 4. Files of formats 1 to 3, which earlier versions of this example wrote, are refused.

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

/// What a store is opened with.
#[derive(Clone)]
pub struct Options {
    /// Where every instant comes from. A test moves it by hand.
    pub clock: Arc<dyn Clock>,
    /// The largest single payload, in bytes.
    pub payload_bytes_max: usize,
    /// The largest write, all payloads together, in bytes.
    pub commit_bytes_max: usize,
    /// Whether a file that is not there is made. If not, opening it is
    /// [`Unavailable`](holdover_store::StoreErrorKind::Unavailable).
    pub make: bool,
}

impl Default for Options {
    /// The clock of the machine, 16 MiB, 64 MiB; a file that is not there is made.
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

/// Sessions in one redb file. A clone is the same handle. Any number of handles, in any number of processes of one
/// machine, may be open on a file.
#[derive(Clone)]
pub struct RedbStore(RowStore<RedbRows>);

impl RedbStore {
    /// Opens the file, and makes it if there is none. A file of a newer format is
    /// [`Newer`](holdover_store::StoreErrorKind::Newer).
    pub async fn open(path: impl Into<PathBuf>, options: Options) -> Result<Self, StoreError> {
        RedbRows::open(path.into(), options).await.map(|rows| Self(RowStore::new(rows)))
    }
}

holdover_store::forward_store! { [] RedbStore, |store| store.0 }
