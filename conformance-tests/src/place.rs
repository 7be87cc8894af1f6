//! A place for a store's data that nobody has opened yet, and the data in it.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::{StateStore, StoreError};

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
