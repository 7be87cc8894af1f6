//! A place for a store's data that nobody has opened yet, and the data in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::{StateStore, StoreError};

use crate::record::{History, Recorded, recorded};

/// A store, whatever its type, or why it was not opened.
pub type OpenResult = Result<Arc<dyn StateStore>, StoreError>;

/// A place for a store's data that nobody has opened yet: a file that is not there, an empty schema. And what lies
/// there behind the store's back, which only the harness knows.
#[async_trait]
pub trait Place: Send + Sync {
    /// Opens the store there, as another process does, and makes it if it is not there. Nothing but the data is
    /// shared with what was opened there before. May be dropped at any await.
    async fn open(&self) -> OpenResult;

    /// Opens only what is there and up to date: makes nothing, changes nothing. None: the store has no such way.
    async fn open_as_it_is(&self) -> Option<OpenResult> {
        None
    }

    /// Changes what lies there, as a defect or another version would. It panics when it cannot.
    async fn tamper(&self, with: Tampering<'_>);

    /// Removes what lies there. Nobody has it open any more.
    async fn remove(&self) {}
}

/// What is changed behind a store's back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tampering<'a> {
    /// What lies there has the version after the newest that this program knows.
    Newer,
    /// The version is again what it was.
    NotNewer,
    /// The status of this session is a word that no version knows. What forbids it is removed.
    UnknownStatus(&'a SessionKey),
    /// A byte of this session's first message is another.
    Message(&'a SessionKey),
}

/// A place that nobody has opened. What is asked of its handles is kept in the history of the case.
pub(crate) struct RecordedPlace {
    place: Arc<dyn Place>,
    history: History,
    handles: AtomicU32,
}

impl RecordedPlace {
    pub(crate) fn new(place: Arc<dyn Place>, history: History) -> Self {
        Self { place, history, handles: AtomicU32::new(0) }
    }

    /// Opens the store there.
    pub(crate) async fn open(&self) -> Result<Recorded, StoreError> {
        self.handle(self.place.open().await)
    }

    /// Opens what is there and up to date, if the store has a way to.
    pub(crate) async fn open_as_it_is(&self) -> Option<Result<Recorded, StoreError>> {
        Some(self.handle(self.place.open_as_it_is().await?))
    }

    /// Changes what lies there.
    pub(crate) async fn tamper(&self, with: Tampering<'_>) {
        self.place.tamper(with).await;
    }

    fn handle(&self, opened: OpenResult) -> Result<Recorded, StoreError> {
        let number = self.handles.fetch_add(1, Ordering::Relaxed);
        Ok(recorded(opened?, number, self.history.clone()))
    }
}
