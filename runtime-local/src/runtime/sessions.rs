//! Sessions as a whole: which there are, and their end.

use holdover_core::ids::SessionKey;
use holdover_core::store::{DeleteOutcome, Deletion, Page, SessionQuery, SessionSummary};

use super::Runtime;
use super::repeat::repeated;
use crate::error::RuntimeError;

impl Runtime {
    /// A page of the sessions of a tenant. By status, labels, or queue: that of an agent's older version
    /// tells whether its code is still needed.
    pub async fn list(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, RuntimeError> {
        Ok(self.shared.store.list_sessions(query).await?)
    }

    /// Removes a session with all that belongs to it, for ever. Nothing that was meant for it reaches a
    /// session that is created under its key later.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or a run [holds](RuntimeError::Running) it
    /// and its mode is [`UnlessActive`](holdover_core::store::DeleteMode::UnlessActive).
    pub async fn delete(&self, key: &SessionKey, deletion: Deletion) -> Result<(), RuntimeError> {
        match repeated(|| self.shared.store.delete_session(key, deletion)).await? {
            DeleteOutcome::Deleted => Ok(()),
            DeleteOutcome::Active => Err(RuntimeError::Running { key: key.clone() }),
            DeleteOutcome::NotFound => Err(RuntimeError::NotFound { key: key.clone() }),
        }
    }
}
