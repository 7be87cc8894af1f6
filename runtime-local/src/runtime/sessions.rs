//! Lists, deletes and purges sessions.

use holdover_core::ids::SessionKey;
use holdover_core::store::{DeleteOutcome, Deletion, Page, SessionQuery, SessionSummary};

use super::Runtime;
use crate::error::RuntimeError;

impl Runtime {
    /// Lists the sessions of a tenant, newest first: a page of 50 by default, 200 at most. The page's cursor
    /// leads to the next.
    ///
    /// The query filters by status, by time of creation and of the last change, by queue, and by labels, all
    /// of which a session must have. The queue of an agent's older version tells whether its code is still
    /// needed. The runtime sets the labels for the name of the agent
    /// ([`AGENT`](holdover_core::store::Labels::AGENT)) and for the session that this one was forked from
    /// ([`FORKED_FROM`](holdover_core::store::Labels::FORKED_FROM)). Other labels are those that the session
    /// was [created with](super::Execute::labelled): user, tags, metadata.
    pub async fn list(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, RuntimeError> {
        Ok(self.host.store().list_sessions(query).await?)
    }

    /// Removes a session with everything that belongs to it, for ever. No delivery that was meant for it
    /// reaches a session that is created under its key later.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or a run [holds](RuntimeError::Running) it
    /// and the mode is [`UnlessActive`](holdover_core::store::DeleteMode::UnlessActive).
    pub async fn delete(&self, key: &SessionKey, deletion: Deletion) -> Result<(), RuntimeError> {
        match self.host.repeated(|| self.host.store().delete_session(key, deletion)).await? {
            DeleteOutcome::Deleted => Ok(()),
            DeleteOutcome::Active => Err(RuntimeError::Running { key: key.clone() }),
            DeleteOutcome::NotFound => Err(RuntimeError::NotFound { key: key.clone() }),
        }
    }
}
