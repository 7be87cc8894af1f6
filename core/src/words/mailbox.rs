//! The mailbox: the messages that wait in a session's inbox, and the changes of queued messages before they
//! are taken.
//!
//! Requirements: U07, U08, B44, B48, B49, C40.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::store::{ItemKind, StoredItem};
use crate::words::background::{ChildEnd, is_end_key};
use crate::words::ids::InboxSeq;
use crate::words::message::Said;

/// A change of a queued message: the content of a signal of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum QueueChange {
    /// The message is withdrawn.
    Withdrawn {
        /// The message.
        of: InboxSeq,
    },
    /// The text of the message is replaced. Its pictures, and how the agent is to work, stay.
    Replaced {
        /// The message.
        of: InboxSeq,
        /// The new text.
        text: String,
    },
}

/// The result of the changes of queued messages: the items of an inbox that still matter, in order, and the
/// places of those that do not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// The items that are still to be taken, and the changes of their texts.
    pub items: Vec<StoredItem>,
    /// The withdrawn messages, all withdrawals, and the replacements of messages that are withdrawn or gone.
    pub consumed: Vec<InboxSeq>,
}

/// Applies withdrawals to the messages of an inbox. A change of a message that was taken before has no
/// effect, and a withdrawal of a task that a parent gave has none either. A replacement stays in the inbox
/// until its message is taken.
pub fn settle(inbox: Vec<StoredItem>) -> Settled {
    // A task from a parent cannot be withdrawn, because the parent waits for the outcome, nor what an end tells.
    let asked: BTreeSet<InboxSeq> = inbox
        .iter()
        .filter(|item| is_message(item) && (said(item).reply.is_some() || is_end_key(&item.key)))
        .map(|item| item.seq)
        .collect();
    let withdrawn: BTreeSet<InboxSeq> = inbox
        .iter()
        .filter_map(|item| match change_of(item) {
            Some(QueueChange::Withdrawn { of }) => Some(of).filter(|of| !asked.contains(of)),
            Some(QueueChange::Replaced { .. }) | None => None,
        })
        .collect();
    let waiting: BTreeSet<InboxSeq> =
        inbox.iter().filter(|item| is_message(item)).map(|item| item.seq).collect();
    let ends: BTreeSet<InboxSeq> =
        inbox.iter().filter(|item| is_end_key(&item.key)).map(|item| item.seq).collect();
    let matters = |item: &StoredItem| match change_of(item) {
        Some(QueueChange::Withdrawn { .. }) => false,
        Some(QueueChange::Replaced { of, .. }) => {
            waiting.contains(&of) && !withdrawn.contains(&of) && !ends.contains(&of)
        }
        None => !is_message(item) || !withdrawn.contains(&item.seq),
    };
    let (items, gone): (Vec<StoredItem>, Vec<StoredItem>) = inbox.into_iter().partition(matters);
    Settled { items, consumed: gone.iter().map(|item| item.seq).collect() }
}

/// The waiting messages of an inbox, in order, with their changes applied. The ends of background children are not
/// among them.
pub fn queued(inbox: Vec<StoredItem>) -> Vec<(StoredItem, Said)> {
    let items = settle(inbox).items;
    let messages = items.iter().filter(|item| is_message(item) && !is_end_key(&item.key));
    messages.map(|item| (item.clone(), said_in(&items, item))).collect()
}

/// The current content of a message of `inbox`. If several changes replace its text, the last one counts.
pub(crate) fn said_in(inbox: &[StoredItem], message: &StoredItem) -> Said {
    let replaced = inbox.iter().rev().find_map(|item| match change_of(item) {
        Some(QueueChange::Replaced { of, text }) if of == message.seq => Some(text),
        Some(QueueChange::Replaced { .. } | QueueChange::Withdrawn { .. }) | None => None,
    });
    let said = said(message);
    match replaced {
        Some(text) => Said { text, ..said },
        None => said,
    }
}

/// The message whose text this item replaces, if it replaces one.
pub fn replaces(item: &StoredItem) -> Option<InboxSeq> {
    match change_of(item) {
        Some(QueueChange::Replaced { of, .. }) => Some(of),
        Some(QueueChange::Withdrawn { .. }) | None => None,
    }
}

fn change_of(item: &StoredItem) -> Option<QueueChange> {
    if !matches!(item.kind, ItemKind::Signal { .. }) {
        return None;
    }
    item.payload.parse().ok()
}

/// Whether an item is a message to the agent.
pub(crate) fn is_message(item: &StoredItem) -> bool {
    matches!(item.kind, ItemKind::Message { .. })
}

/// The end of a background child that a message tells of.
pub(crate) fn end_of(item: &StoredItem) -> Option<ChildEnd> {
    if !is_message(item) || !is_end_key(&item.key) {
        return None;
    }
    said(item).ended.map(|end| *end)
}

/// The original content of a message. Bytes that are not a [`Said`] are its text.
pub fn said(item: &StoredItem) -> Said {
    item.payload
        .parse()
        .unwrap_or_else(|_| Said::new(String::from_utf8_lossy(item.payload.bytes()).into_owned()))
}
