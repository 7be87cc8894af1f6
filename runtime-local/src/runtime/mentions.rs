//! Repeats of messages whose mentioned files have changed since.

use holdover_core::ids::{InboxSeq, MessageSeq, SessionKey};
use holdover_core::mailbox;
use holdover_core::message::{Message, Said};
use holdover_core::store::{Delivery, InboxItem, ItemKind, Session};

use super::{DeliveredItem, Runtime};
use crate::error::RuntimeError;

/// The maximum number of the newest messages of a session that are searched for the message that is repeated.
const SEARCHED_MAX: u64 = 1_024;

/// The number of messages that are read at once.
const MESSAGES_AT_ONCE: u32 = 128;

impl Runtime {
    /// Returns a duplicate if the message `item`, whose key was used before, repeats the message under that key although
    /// its bytes differ: its mentioned files have changed since. Otherwise returns the error `refused`. Stores nothing.
    ///
    /// The earlier message is looked for in the inbox, and then among the newest `SEARCHED_MAX` messages of the
    /// transcript. If it is not found there, returns `refused`.
    pub(super) async fn repeat_or(
        &self,
        refused: RuntimeError,
        key: &SessionKey,
        item: &InboxItem,
    ) -> Result<DeliveredItem, RuntimeError> {
        let is_message = matches!(item.kind, ItemKind::Message { .. });
        if !is_message && !mailbox::is_kind_of_later(&item.kind) {
            return Err(refused);
        }
        let Ok(again) = item.payload.parse::<Said>() else { return Err(refused) };
        let session = self.existing(key).await?;
        let Delivery::Conflict { seq } = self.probe_key(&session, &item.key).await? else {
            return Err(refused);
        };
        let before = InboxSeq(seq.0.saturating_sub(1));
        let waiting = self.host.store().read_inbox(key, before, 1).await?.items.into_iter().next();
        let repeats = match waiting.filter(|waiting| waiting.seq == seq) {
            // A note wakes nobody, so it is another message.
            Some(waiting) => waiting.kind == item.kind && mailbox::said(&waiting).is_repeated_by(&again),
            None => {
                // It was taken before the inbox was read, so its message is in the transcript now.
                let session = self.existing(key).await?;
                self.took_a_repeat(&session, seq, &again).await?
            }
        };
        if repeats { Ok(DeliveredItem::duplicate(seq)) } else { Err(refused) }
    }

    /// Returns true if the session took the item `seq` as a message that `again` repeats.
    async fn took_a_repeat(
        &self,
        session: &Session,
        seq: InboxSeq,
        again: &Said,
    ) -> Result<bool, RuntimeError> {
        let last = session.last_message.0;
        let mut end = last;
        while end > last.saturating_sub(SEARCHED_MAX) {
            let after = end.saturating_sub(MESSAGES_AT_ONCE.into());
            let page = self.messages_after(&session.key, MessageSeq(after), MESSAGES_AT_ONCE).await?;
            let taken = page.iter().rev().find_map(|entry| match &entry.message {
                Message::User(said) if said.item == Some(seq) => {
                    Some((entry.seq, said.is_repeated_by(again)))
                }
                Message::User(_)
                | Message::Assistant(_)
                | Message::Tool(_)
                | Message::Decision(_)
                | Message::Notice(_)
                | Message::Summary(_) => None,
            });
            if let Some((at, repeats)) = taken {
                // A message that a fork has copied has a number of its source.
                return Ok(repeats && self.turn_of(session, at).await?.is_some());
            }
            end = after;
        }
        Ok(false)
    }
}
