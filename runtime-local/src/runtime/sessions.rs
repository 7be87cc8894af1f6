//! Lists, deletes and purges sessions.

use std::time::Duration;

use holdover_core::background::ChildSignal;
use holdover_core::ids::{InboxSeq, SessionKey};
use holdover_core::machine::AgentState;
use holdover_core::mailbox;
use holdover_core::store::{
    DeleteMode, DeleteOutcome, Deletion, INBOX_PAGE, ItemKind, Labels, Page, Session, SessionQuery,
    SessionStatus, SessionSummary, StoredItem,
};

use super::{Runtime, machine_of};
use crate::drive::has_ended;
use crate::error::RuntimeError;

/// The time that a run may take to abort its session before the session is deleted.
const ABORT_WITHIN: Duration = Duration::from_secs(10);

impl Runtime {
    /// Lists the sessions of a tenant, newest first: 50 on a page by default, at most 200. Pass the page's
    /// cursor to get the next page.
    ///
    /// The query filters by status, by time of creation, by time of the last change, by queue, and by labels.
    /// A session must have all labels of the query. To learn whether an older version of an agent is still
    /// needed, list its queue. The runtime sets the label for the agent's name
    /// ([`AGENT`](holdover_core::store::Labels::AGENT)) and the label for the session that this one was
    /// forked from ([`FORKED_FROM`](holdover_core::store::Labels::FORKED_FROM)). Other labels are those that
    /// the session was [created with](super::Execute::labelled): user, tags, metadata.
    pub async fn list(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, RuntimeError> {
        Ok(self.host.store().list_sessions(query).await?)
    }

    /// Deletes a session with everything that belongs to it, for ever. If a session is created under its key
    /// later, no earlier delivery reaches it.
    ///
    /// A session that has children, or that answers a call of another session, is
    /// [aborted](Self::abort) first: its children are stopped, and its parent gets an answer. A session that
    /// cannot be read is deleted without this. With [`Force`](holdover_core::store::DeleteMode::Force), a
    /// session is also deleted if its run does not end within 10 seconds. In both cases its children go on
    /// until their own deadlines, and its parent finds it missing within an hour.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or a run [holds](RuntimeError::Running) it
    /// and the mode is [`UnlessActive`](holdover_core::store::DeleteMode::UnlessActive).
    pub async fn delete(&self, key: &SessionKey, deletion: Deletion) -> Result<(), RuntimeError> {
        let forced = deletion.mode == DeleteMode::Force;
        match self.session(key).await {
            Ok(Some(session)) => {
                let is_meant = deletion.incarnation.is_none_or(|life| life == session.incarnation);
                // The run may have parked by now: then its children would be left alone.
                if is_meant && !forced && session.status == SessionStatus::Active {
                    return Err(RuntimeError::Running { key: key.clone() });
                }
                if is_meant && self.owes(&session).await {
                    self.end_before_deletion(key).await;
                }
            }
            Ok(None) => {}
            // A session that cannot be read is deleted all the same.
            Err(error) => tracing::warn!(session = %key, %error, "deleted without a look at it"),
        }
        match self.host.repeated(|| self.host.store().delete_session(key, deletion)).await? {
            DeleteOutcome::Deleted => Ok(()),
            DeleteOutcome::Active => Err(RuntimeError::Running { key: key.clone() }),
            DeleteOutcome::NotFound => Err(RuntimeError::NotFound { key: key.clone() }),
        }
    }

    /// Aborts a session, so that its children are stopped and its parent is told. If that fails, a warning is
    /// logged and the deletion goes on.
    async fn end_before_deletion(&self, key: &SessionKey) {
        let ended = async {
            self.abort(key, "it is being deleted").await?;
            self.wait_at_most(key, ABORT_WITHIN).await
        };
        if let Err(error) = ended.await {
            tracing::warn!(session = %key, %error, "deleted before it could be ended");
        }
    }

    /// Whether this session is a child, and the session that took over from it works. Somebody waits for that, and it is
    /// found by this session alone.
    async fn owes_by_successor(&self, session: &Session) -> bool {
        if !session.labels.0.contains_key(Labels::PARENT) {
            return false;
        }
        match self.successor(session).await {
            Ok(successor) => successor.is_some_and(|successor| !has_ended(&successor)),
            Err(_) => false,
        }
    }

    /// Whether this session waits for another session, or another session waits for it. False if this cannot
    /// be read.
    async fn owes(&self, session: &Session) -> bool {
        if session.status == SessionStatus::Aborted {
            return false;
        }
        if let Ok(Some(machine)) = machine_of(session) {
            let tells = matches!(&machine.state, AgentState::TearingDown { left, .. } if !left.is_told());
            let waits = !machine.children().is_empty() || machine.running_children().next().is_some();
            let owes = machine.turn.open || machine.turn.inherits;
            let hands_over = self.owes_by_successor(session).await;
            if tells || waits || hands_over || owes && !machine.turn.replies.is_empty() {
                return true;
            }
        }
        let mut after = Some(InboxSeq(0));
        while let Some(place) = after.filter(|_| session.unread > 0) {
            let Ok(page) = self.host.store().read_inbox(&session.key, place, INBOX_PAGE).await else {
                return false;
            };
            let is_task = |item: &StoredItem| match item.kind {
                ItemKind::Message { .. } => mailbox::said(item).reply.is_some(),
                ItemKind::Signal { .. } => item.payload.parse::<ChildSignal>().is_ok(),
                ItemKind::Answer { .. } | ItemKind::Other { .. } => false,
            };
            if page.items.iter().any(is_task) {
                return true;
            }
            after = page.next;
        }
        false
    }
}
