//! Reads the event log of a session, together with what the events announce.

use futures::StreamExt;
use futures::stream::BoxStream;
use holdover_core::event::Event;
use holdover_core::ids::{MessageSeq, SessionKey};
use holdover_core::message::Message;
use holdover_core::store::{EventCursor, PendingKind};
use holdover_runtime_local::{PendingEntry, Runtime, RuntimeError, Shown};

use crate::desk::Desk;

/// An item of the log, with what it announces.
#[derive(Debug)]
pub(super) struct Fact {
    pub(super) shown: Shown,
    /// The message that the item announces, redacted.
    pub(super) message: Option<(MessageSeq, Message)>,
    /// The call that the item says waits for a person or a client, if it still does. Redacted.
    pub(super) pending: Option<PendingEntry>,
}

/// A reader of facts.
pub(super) struct Feed {
    runtime: Runtime,
    key: SessionKey,
    shown: BoxStream<'static, Result<Shown, RuntimeError>>,
}

impl Feed {
    pub(super) fn after(desk: &Desk, key: SessionKey, cursor: EventCursor) -> Self {
        let shown = desk.tails.follow(&key, cursor);
        Self { runtime: desk.runtime.clone(), key, shown }
    }

    /// Returns the next fact. May be dropped and called again: nothing is lost before the item was read, and an item is
    /// read together with what it announces by [`complete`](Self::complete).
    pub(super) async fn next(&mut self) -> Result<Option<Shown>, RuntimeError> {
        self.shown.next().await.transpose()
    }

    /// Reads what an item announces.
    pub(super) async fn complete(&mut self, shown: Shown) -> Result<Fact, RuntimeError> {
        let (mut message, mut pending) = (None, None);
        if let Shown::Event(entry) = &shown {
            if let Event::Message { seq, .. } = &entry.event {
                message = self.message(*seq).await?;
            } else if let Event::Asked { kind, pending: id, .. } = &entry.event
                && matches!(kind, PendingKind::Approval | PendingKind::ClientTool)
            {
                pending = self.runtime.pending_call(&self.key, id).await?;
            }
        }
        if let Some(entry) = &mut pending {
            entry.body = entry.body.clone().redacted();
        }
        Ok(Fact { shown, message, pending })
    }

    async fn message(&mut self, seq: MessageSeq) -> Result<Option<(MessageSeq, Message)>, RuntimeError> {
        let before = MessageSeq(seq.0.saturating_sub(1));
        let found = self.runtime.messages_after(&self.key, before, 1).await?.into_iter().next();
        Ok(found.map(|entry| (entry.seq, entry.message.redacted())))
    }
}
