//! An unopened place for a store's data, and the raw data in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::{StateStore, StoreError};

use crate::record::{History, Recorded, recorded};

/// An open store of any type, or the error with which opening it failed.
pub type OpenResult = Result<Arc<dyn StateStore>, StoreError>;

/// A place for a store's data that nothing has opened yet, such as a missing file or an empty schema. It also gives
/// access to the raw data, which only the harness knows how to read.
#[async_trait]
pub trait Place: Send + Sync {
    /// Opens the store at this place, as another process would, and creates it if it is missing. The handle shares
    /// nothing but the data with earlier handles. The future may be dropped at any await.
    async fn open(&self) -> OpenResult;

    /// Opens the store only if it exists and is up to date. Creates and changes nothing. Returns `None` if the store
    /// cannot be opened in this way, which is the default.
    async fn open_as_it_is(&self) -> Option<OpenResult> {
        None
    }

    /// Changes the raw data, as a defect or another version of the store would. Panics if the data cannot be changed.
    async fn tamper(&self, with: Tampering<'_>);

    /// Removes the data. The suite calls this once no handle on the data is open. By default, this does nothing.
    async fn remove(&self) {}
}

/// A change to the raw data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tampering<'a> {
    /// Sets the version of the data to the one after the newest that this program knows.
    Newer,
    /// Restores the version of the data after `Newer`.
    NotNewer,
    /// Sets the status of this session to a word that no version knows, and removes constraints that forbid it.
    UnknownStatus(&'a SessionKey),
    /// Changes one byte of this session's first message.
    Message(&'a SessionKey),
}

/// An unopened place whose handles record their requests in the history of the case.
pub(crate) struct RecordedPlace {
    place: Arc<dyn Place>,
    history: History,
    handles: AtomicU32,
}

impl RecordedPlace {
    pub(crate) fn new(place: Arc<dyn Place>, history: History) -> Self {
        Self { place, history, handles: AtomicU32::new(0) }
    }

    /// Opens the store at this place, and creates it if it is missing.
    pub(crate) async fn open(&self) -> Result<Recorded, StoreError> {
        self.handle(self.place.open().await)
    }

    /// Opens the store only if it exists and is up to date. Returns `None` if the store cannot be opened in this way.
    pub(crate) async fn open_as_it_is(&self) -> Option<Result<Recorded, StoreError>> {
        Some(self.handle(self.place.open_as_it_is().await?))
    }

    /// Changes the raw data.
    pub(crate) async fn tamper(&self, with: Tampering<'_>) {
        self.place.tamper(with).await;
    }

    fn handle(&self, opened: OpenResult) -> Result<Recorded, StoreError> {
        let number = self.handles.fetch_add(1, Ordering::Relaxed);
        Ok(recorded(opened?, number, self.history.clone()))
    }
}
