//! Lists, deletes and purges sessions.

use holdover_core::ids::SessionKey;
use holdover_core::store::{DeleteOutcome, Deletion, Page, SessionQuery, SessionSummary};

use super::Runtime;
use crate::error::RuntimeError;

impl Runtime {
    /// A page of the sessions of a tenant, newest first: 50 unless the query says otherwise, 200 at most. The page's
    /// cursor leads to the next.
    ///
    /// By status, time of creation and of the last change; by queue: that of an agent's older version tells whether its
    /// code is still needed; and by labels, all of which a session must have: the name of its agent
    /// ([`AGENT`](holdover_core::store::Labels::AGENT)) and the session that it was forked from
    /// ([`FORKED_FROM`](holdover_core::store::Labels::FORKED_FROM)), which the runtime sets, and whatever it was
    /// [created with](super::Execute::labelled): user, tags, metadata.
    pub async fn list(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, RuntimeError> {
        Ok(self.shared.store.list_sessions(query).await?)
    }

    /// Removes a session with all that belongs to it, for ever. Nothing that was meant for it reaches a
    /// session that is created under its key later.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or a run [holds](RuntimeError::Running) it
    /// and its mode is [`UnlessActive`](holdover_core::store::DeleteMode::UnlessActive).
    pub async fn delete(&self, key: &SessionKey, deletion: Deletion) -> Result<(), RuntimeError> {
        match self.repeated(|| self.shared.store.delete_session(key, deletion)).await? {
            DeleteOutcome::Deleted => Ok(()),
            DeleteOutcome::Active => Err(RuntimeError::Running { key: key.clone() }),
            DeleteOutcome::NotFound => Err(RuntimeError::NotFound { key: key.clone() }),
        }
    }
}
