//! A snapshot of a session, with the cursor from which its events continue.

use std::collections::BTreeSet;

use holdover_core::ids::{MessageSeq, SessionKey};
use holdover_core::store::{EventCursor, PendingCall};
use serde::Serialize;

use super::standing::machine_of;
use super::{MessageEntry, PendingPage, Runtime, Standing};
use crate::error::RuntimeError;

/// A session at one instant, and the cursor from which its events continue. A client that shows the snapshot and
/// then [follows](Runtime::follow) after its cursor misses nothing and shows nothing twice.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// The standing of the session. Of the pending calls at that instant, it has those that are still open; events
    /// after the cursor report the others. The calls of children are read later, so they may be newer. Calls in doubt are
    /// left out, because no turn waits for them; [`Runtime::pending`] lists them.
    #[serde(flatten)]
    pub standing: Standing,
    /// The newest messages at that instant, oldest first.
    pub messages: Vec<MessageEntry>,
    /// The cursor from which the events continue.
    pub cursor: EventCursor,
}

impl Runtime {
    /// Returns a session as it is now, with at most the newest `messages` of its transcript, and the place of its
    /// newest event. State and place are read together in one row. Text that a model is still writing is not
    /// included. A reader that follows after the cursor gets that text from its first word.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or it cannot be
    /// [read](RuntimeError::Unreadable).
    pub async fn snapshot(&self, key: &SessionKey, messages: u32) -> Result<Snapshot, RuntimeError> {
        let session = self.existing(key).await?;
        let cursor = EventCursor::after(session.incarnation, session.last_event);
        let outcome = self.outcome(&session)?;
        let machine = machine_of(&session)?;
        let usage = machine.as_ref().map(|machine| machine.usage).unwrap_or_default();
        let batch = machine.as_ref().and_then(|machine| machine.state.batch());
        let owed: BTreeSet<_> = batch
            .into_iter()
            .flat_map(|batch| &batch.calls)
            .filter_map(|call| call.state.pending())
            .collect();
        let open = if owed.is_empty() { PendingPage::default() } else { self.all_pending(key).await? };
        let PendingPage { items: mut pending, mut unreadable, .. } = open;
        let is_meant =
            |call: &PendingCall| owed.contains(&call.id) || call.key != *key && !call.kind.keeps_session();
        pending.retain(|entry| is_meant(&entry.call));
        unreadable.retain(|found| is_meant(&found.call));
        let first = MessageSeq(session.last_message.0.saturating_sub(messages.into()).saturating_add(1));
        let messages = self.read_range(key, first, session.last_message).await?;
        let standing = Standing { session, usage, outcome, pending, unreadable };
        Ok(Snapshot { standing, messages, cursor })
    }
}
