//! The mailbox: what happens to a message that comes while a turn runs or is parked, and to a queued message
//! that is changed before it is taken.
//!
//! Requirements: U07, U08, B44, B48, B49, C40.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::store::{ItemKind, StoredItem};
use crate::words::ids::InboxSeq;
use crate::words::message::Said;

/// A word about a message that waits: the content of a signal of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum QueueChange {
    /// It is not to be taken.
    Withdrawn {
        /// Which.
        of: InboxSeq,
    },
    /// It says something else. What it shows, and how the agent is to work, stays.
    Replaced {
        /// Which.
        of: InboxSeq,
        /// What it says now.
        text: String,
    },
}

/// What the changes of queued messages come to: the items of an inbox that still matter, in order, and the places of
/// those that do not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// What is still to be taken, and what it is to say instead.
    pub items: Vec<StoredItem>,
    /// Messages that were withdrawn, with the words that withdrew them, and words that came too late.
    pub consumed: Vec<InboxSeq>,
}

/// Settles which messages of an inbox were withdrawn. A word about a message that is not there (it was taken before)
/// changes nothing. What replaces a message stays in the inbox until the message is taken.
pub fn settle(inbox: Vec<StoredItem>) -> Settled {
    let withdrawn: BTreeSet<InboxSeq> = inbox
        .iter()
        .filter_map(|item| match change_of(item) {
            Some(QueueChange::Withdrawn { of }) => Some(of),
            Some(QueueChange::Replaced { .. }) | None => None,
        })
        .collect();
    let waiting: BTreeSet<InboxSeq> =
        inbox.iter().filter(|item| is_message(item)).map(|item| item.seq).collect();
    let matters = |item: &StoredItem| match change_of(item) {
        Some(QueueChange::Withdrawn { .. }) => false,
        Some(QueueChange::Replaced { of, .. }) => waiting.contains(&of) && !withdrawn.contains(&of),
        None => !is_message(item) || !withdrawn.contains(&item.seq),
    };
    let (items, gone): (Vec<StoredItem>, Vec<StoredItem>) = inbox.into_iter().partition(matters);
    Settled { items, consumed: gone.iter().map(|item| item.seq).collect() }
}

/// The messages of an inbox that wait, in order, as they were changed.
pub fn queued(inbox: Vec<StoredItem>) -> Vec<(StoredItem, Said)> {
    let items = settle(inbox).items;
    let messages = items.iter().filter(|item| is_message(item));
    messages.map(|item| (item.clone(), said_in(&items, item))).collect()
}

/// What a message of `inbox` says. Of several words that replace it the last counts.
pub fn said_in(inbox: &[StoredItem], message: &StoredItem) -> Said {
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

/// The message that an item replaces, if it replaces one.
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

/// Whether an item is something said to the agent.
pub fn is_message(item: &StoredItem) -> bool {
    matches!(item.kind, ItemKind::Message { .. })
}

/// What a message said when it came. Bytes that are no [`Said`] are its text.
pub fn said(item: &StoredItem) -> Said {
    item.payload
        .parse()
        .unwrap_or_else(|_| Said::new(String::from_utf8_lossy(item.payload.bytes()).into_owned()))
}
