//! Lists and deletes sessions.

use std::time::Duration;

use holdover_core::background::ChildSignal;
use holdover_core::ids::{InboxSeq, Incarnation, SessionKey, Version};
use holdover_core::machine::AgentState;
use holdover_core::mailbox;
use holdover_core::store::{
    DeleteMode, DeleteOutcome, Deletion, INBOX_PAGE, ItemKind, Labels, Page, Session, SessionQuery,
    SessionStatus, SessionSummary, StoreError, StoredItem,
};

use super::upgrade::cannot_be_read;
use super::{Runtime, machine_of};
use crate::drive::has_ended;
use crate::error::RuntimeError;

/// The time that a run may take to abort its session before the session is deleted.
const ABORT_WITHIN: Duration = Duration::from_secs(10);

/// The maximum number of times that a session is read before it is deleted. After the last read, the session is
/// aborted in any case, so that no run writes it any more.
const LOOKS_MAX: u32 = 8;

impl Runtime {
    /// Lists the sessions of a tenant, newest first, 50 on a page by default and 200 at most. To get the next page,
    /// pass the cursor of the page before.
    ///
    /// The query filters by incarnation, by status, by time of creation, by time of the last change, by queue and by
    /// labels. A session must have all labels of the query. To learn whether an older version of an agent is still
    /// needed, list its queue.
    ///
    /// The runtime sets labels of its own, among them the agent's name
    /// ([`AGENT`](holdover_core::store::Labels::AGENT)) and, in a fork, the source
    /// ([`FORKED_FROM`](holdover_core::store::Labels::FORKED_FROM)). Callers set other labels, such as the user or
    /// tags, when they [create](super::Execute::labelled) a session.
    pub async fn list(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, RuntimeError> {
        Ok(self.host.store().list_sessions(query).await?)
    }

    /// Deletes a session for ever, with everything that belongs to it. If a session is created under its key later, no
    /// earlier delivery reaches it.
    ///
    /// If the session waits for other sessions or programs, or if one of them waits for its outcome, it is
    /// [aborted](Self::abort) first: its children are stopped, and its parent gets an answer. If the session changes
    /// after it was read, it is read again, so no child is overlooked. A session that keeps changing is aborted, too.
    ///
    /// Two kinds of sessions are deleted without this: a session that cannot be read, and, with
    /// [`Force`](holdover_core::store::DeleteMode::Force), a session that cannot be ended within 10 seconds. Their
    /// children go on until their own deadlines, and their parents find them missing within an hour.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound); a run [holds](RuntimeError::Running) it, or does
    /// not end in time, and the mode is [`UnlessActive`](holdover_core::store::DeleteMode::UnlessActive); or its
    /// version is not the [version](RuntimeError::Changed) that the deletion names.
    pub async fn delete(&self, key: &SessionKey, deletion: Deletion) -> Result<(), RuntimeError> {
        for look in 1..=LOOKS_MAX {
            let ready = match self.end_before_deletion(key, deletion, look == LOOKS_MAX).await? {
                Found::AsItWas(session) => deletion.of(session.incarnation).at(session.version),
                Found::Ended(life) => Deletion { expected_version: None, ..deletion.of(life) },
                Found::Nothing => deletion,
            };
            match self.host.repeated(|| self.host.store().delete_session(key, ready)).await? {
                DeleteOutcome::Deleted => return Ok(()),
                DeleteOutcome::Active => break,
                // Another life came since the session was read, and any life is meant.
                DeleteOutcome::NotFound if ready.incarnation != deletion.incarnation => {}
                DeleteOutcome::NotFound => return Err(RuntimeError::NotFound { key: key.clone() }),
                DeleteOutcome::VersionConflict { expected, actual } => {
                    named_version(key, deletion, actual)?;
                    tracing::debug!(session = %key, %expected, %actual, "written before it was deleted");
                }
            }
        }
        Err(RuntimeError::Running { key: key.clone() })
    }

    /// Aborts a session if it waits for others, if others wait for its outcome, or if `in_any_case` is set.
    async fn end_before_deletion(
        &self,
        key: &SessionKey,
        deletion: Deletion,
        in_any_case: bool,
    ) -> Result<Found, RuntimeError> {
        let found = match self.read_again(key).await {
            Err(error) if cannot_be_read(&error) => {
                tracing::warn!(session = %key, %error, "deleted without a look at it");
                None
            }
            found => found?,
        };
        let is_meant =
            |session: &Session| deletion.incarnation.is_none_or(|life| life == session.incarnation);
        let Some(session) = found.filter(is_meant) else { return Ok(Found::Nothing) };
        named_version(key, deletion, session.version)?;
        let forced = deletion.mode == DeleteMode::Force;
        if !forced && session.status == SessionStatus::Active {
            return Err(RuntimeError::Running { key: key.clone() });
        }
        if !in_any_case && !self.owes(&session).await? {
            return Ok(Found::AsItWas(Box::new(session)));
        }
        let ended = async {
            self.abort(key, "it is being deleted").await?;
            self.wait_at_most(key, ABORT_WITHIN).await?;
            let there = self.read_again(key).await?;
            Ok::<_, RuntimeError>(there.is_none_or(|session| session.status == SessionStatus::Aborted))
        };
        match ended.await {
            Ok(true) => {}
            // A run may hold the session.
            Ok(false) if !forced => return Err(RuntimeError::Running { key: key.clone() }),
            Err(error) if !forced => return Err(error),
            Ok(false) => tracing::warn!(session = %key, "deleted before its run had ended"),
            Err(error) => tracing::warn!(session = %key, %error, "deleted before it could be ended"),
        }
        Ok(Found::Ended(session.incarnation))
    }

    async fn read_again(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.host.repeated(|| self.host.store().load_session(key)).await
    }

    /// Returns true if a caller waits for the outcome of this session and the newest session that took over from it has
    /// not ended. The caller finds that session only by way of this one.
    async fn owes_by_successor(&self, session: &Session) -> Result<bool, RuntimeError> {
        if !Labels::OF_CALLER.iter().any(|name| session.labels.0.contains_key(*name)) {
            return Ok(false);
        }
        let mut newest = None;
        loop {
            match self.successor(newest.as_ref().unwrap_or(session)).await {
                Ok(Some(next)) => newest = Some(next),
                Ok(None) => return Ok(newest.is_some_and(|newest| !has_ended(&newest))),
                // It may work.
                Err(RuntimeError::Store(error)) if cannot_be_read(&error) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns true if this session waits for other sessions or programs, or if one of them waits for its outcome.
    async fn owes(&self, session: &Session) -> Result<bool, RuntimeError> {
        if session.status == SessionStatus::Aborted {
            return Ok(false);
        }
        if let Ok(Some(machine)) = machine_of(session) {
            let tells = matches!(&machine.state, AgentState::TearingDown { left, .. } if !left.is_told());
            let waits = !machine.children().is_empty() || machine.running_children().next().is_some();
            let owes = machine.turn.open || machine.turn.inherits;
            let answers = owes && !machine.turn.replies.is_empty();
            if tells || waits || answers || self.owes_by_successor(session).await? {
                return Ok(true);
            }
        }
        let mut after = Some(InboxSeq(0));
        while let Some(place) = after.filter(|_| session.unread > 0) {
            let read = self.host.repeated(|| self.host.store().read_inbox(&session.key, place, INBOX_PAGE));
            let page = match read.await {
                // The session is deleted without a look at an inbox that cannot be read.
                Err(error) if cannot_be_read(&error) => return Ok(false),
                page => page?,
            };
            let is_task = |item: &StoredItem| match item.kind {
                ItemKind::Message { .. } => mailbox::said(item).reply.is_some(),
                ItemKind::Signal { .. } => item.payload.parse::<ChildSignal>().is_ok(),
                ItemKind::Answer { .. } | ItemKind::Other { .. } => false,
            };
            if page.items.iter().any(is_task) {
                return Ok(true);
            }
            after = page.next;
        }
        Ok(false)
    }
}

/// A session that is to be deleted.
enum Found {
    /// The session owes nothing at its present version.
    AsItWas(Box<Session>),
    /// This life of the session was aborted. In a forced deletion, also if it could not be ended: it is deleted
    /// nevertheless.
    Ended(Incarnation),
    /// The session does not exist, has another incarnation than the deletion names, or cannot be read.
    Nothing,
}

/// Checks the version that the deletion names, if it names one.
fn named_version(key: &SessionKey, deletion: Deletion, actual: Version) -> Result<(), RuntimeError> {
    match deletion.expected_version {
        Some(expected) if expected != actual => {
            Err(RuntimeError::Changed { key: key.clone(), expected, actual })
        }
        Some(_) | None => Ok(()),
    }
}
