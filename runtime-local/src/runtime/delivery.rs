//! The way from a delivery to its turn: the number of a message in the inbox identifies it, and leads to the turn that
//! took the message (C06).

use futures::{TryStreamExt, future};
use holdover_core::event::Event;
use holdover_core::ids::{EventSeq, InboxSeq, ItemKey, MessageSeq, SessionKey, TurnNumber};
use holdover_core::message::Message;
use holdover_core::store::{Claim, Delivery, EventCursor, Session};
use serde::Serialize;

use super::keys::{self, Once};
use super::read::MESSAGES_AT_ONCE;
use super::{Delivered, EventEntry, Follow, Runtime};
use crate::error::RuntimeError;

/// The number of events that are looked at together.
const EVENTS_AT_ONCE: u64 = 128;

/// The answer to a delivery: whether it is new, and the number by which its turn is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DeliveredItem {
    /// Says that the delivery is new, or that an earlier delivery was accepted.
    pub delivered: Delivered,
    /// The number of the delivery in the inbox of its session. It is never given to another delivery.
    /// [`Runtime::taken`] finds the turn of a message by it.
    pub item: InboxSeq,
}

impl DeliveredItem {
    pub(super) fn accepted(item: InboxSeq) -> Self {
        Self { delivered: Delivered::Accepted, item }
    }

    pub(super) fn duplicate(item: InboxSeq) -> Self {
        Self { delivered: Delivered::Duplicate, item }
    }

    /// Returns true if an earlier delivery with the same content and key was accepted.
    pub fn is_duplicate(self) -> bool {
        self.delivered == Delivered::Duplicate
    }
}

/// The turn that took a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Taken {
    /// The number of the turn, from 1. With the session, it identifies the turn.
    pub turn: TurnNumber,
    /// The place of the message in the transcript.
    pub message: MessageSeq,
}

/// Returns the number of the item with this key, which the claim has just delivered. If it is not among the items that
/// fit into the claim, it is the newest one.
pub(super) fn item_of(claim: &Claim, key: &ItemKey) -> InboxSeq {
    let found = claim.inbox.iter().find(|item| item.key == *key);
    found.map_or(claim.session.last_item, |item| item.seq)
}

impl Runtime {
    /// Returns the turn that took the message with this number in the inbox, as [`start`](Self::start),
    /// [`deliver_item`](Self::deliver_item) and [`RunHandle::item`](super::RunHandle::item) return it. Returns `None`
    /// while the message waits, if it was withdrawn, and for deliveries that are no messages. A fork and a session that
    /// took over give their own numbers from 1 on; the messages that they have copied are not found.
    ///
    /// Reads the transcript and the events from their ends back to the turn, so the turn of a new message costs the same
    /// in a long session as in a short one.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or it cannot be [read](RuntimeError::Unreadable).
    pub async fn taken(&self, key: &SessionKey, item: InboxSeq) -> Result<Option<Taken>, RuntimeError> {
        let session = self.existing(key).await?;
        let before = InboxSeq(item.0.saturating_sub(1));
        let next = self.host.store().read_inbox(key, before, 1).await?.items.into_iter().next();
        if item > session.last_item || next.is_some_and(|next| next.seq == item) {
            return Ok(None);
        }
        // It was taken before the inbox was read, so its message is in the transcript now.
        let session = self.existing(key).await?;
        let mut to = session.last_message;
        while to > MessageSeq(0) {
            let from = MessageSeq(to.0.saturating_sub(MESSAGES_AT_ONCE - 1).max(1));
            for entry in self.read_range(key, from, to).await?.into_iter().rev() {
                let Message::User(said) = &entry.message else { continue };
                if said.item == Some(item) {
                    let found = self.turn_of(&session, entry.seq).await?;
                    return Ok(found.map(|turn| Taken { turn, message: entry.seq }));
                }
            }
            to = MessageSeq(from.0 - 1);
        }
        Ok(None)
    }

    /// Returns the number of the message that was accepted under this key, as [`Execute::once`](super::Execute::once) and
    /// [`Deliver::once`](super::Deliver::once) set it, or `None` if none was. Stores nothing.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound).
    pub async fn message_under(
        &self,
        key: &SessionKey,
        named: &ItemKey,
    ) -> Result<Option<InboxSeq>, RuntimeError> {
        let session = self.existing(key).await?;
        let item = keys::of_message(&Once::Key(named.clone()))?;
        Ok(match self.probe_key(&session, &item).await? {
            Delivery::Conflict { seq } | Delivery::Duplicate { seq } => Some(seq),
            Delivery::Accepted { .. }
            | Delivery::AlreadyAnswered
            | Delivery::NotPending
            | Delivery::Aborted
            | Delivery::NotFound => None,
        })
    }

    /// Returns the cursor before the event that announces this message, so that a reader who
    /// [follows](Self::follow) after it sees the message first. Returns `None` if there is no such message.
    ///
    /// Reads the events from the end back to the message, so the place of a new message costs the same in a long session
    /// as in a short one.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or its events cannot be
    /// [read](RuntimeError::Unreadable).
    pub async fn cursor_before(
        &self,
        key: &SessionKey,
        message: MessageSeq,
    ) -> Result<Option<EventCursor>, RuntimeError> {
        let session = self.existing(key).await?;
        let mut to = session.last_event;
        while to > EventSeq(0) {
            let (from, page) = self.events_up_to(&session, to).await?;
            let announces =
                |entry: &EventEntry| matches!(entry.event, Event::Message { seq, .. } if seq == message);
            if let Some(entry) = page.iter().rev().find(|entry| announces(entry)) {
                let before = EventSeq(entry.seq.0.saturating_sub(1));
                return Ok(Some(EventCursor::after(session.incarnation, before)));
            }
            to = from;
        }
        Ok(None)
    }

    /// Returns some events up to `to`, oldest first, and the place before them.
    async fn events_up_to(
        &self,
        session: &Session,
        to: EventSeq,
    ) -> Result<(EventSeq, Vec<EventEntry>), RuntimeError> {
        let from = EventSeq(to.0.saturating_sub(EVENTS_AT_ONCE));
        let after = EventCursor::after(session.incarnation, from);
        let events = self.stored_events(&session.key, after, Follow::Available);
        let page = events.try_take_while(|entry| future::ready(Ok(entry.seq <= to))).try_collect().await?;
        Ok((from, page))
    }

    /// Returns the turn in which this message was added, by the events. Returns `None` if a fork has copied it from its
    /// source. Reads the events from the end back to the beginning of the turn.
    pub(super) async fn turn_of(
        &self,
        session: &Session,
        message: MessageSeq,
    ) -> Result<Option<TurnNumber>, RuntimeError> {
        let (mut to, mut added) = (session.last_event, false);
        while to > EventSeq(0) {
            let (from, page) = self.events_up_to(session, to).await?;
            for entry in page.into_iter().rev() {
                if matches!(entry.event, Event::Message { seq, .. } if seq == message) {
                    added = true;
                } else if let Event::Init { turn, .. } = entry.event
                    && added
                {
                    return Ok(Some(turn));
                } else if matches!(entry.event, Event::Forked { .. }) && !added {
                    // All earlier events are copies.
                    return Ok(None);
                }
            }
            to = from;
        }
        Ok(None)
    }
}
