//! The mailbox: messages that wait in a session's inbox, and changes to them before the session takes them.
//!
//! Requirements: U07, U08, B44, B48, B49, C40.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::store::{ItemKind, StoredItem, Wake};
use crate::time::Timestamp;
use crate::words::background::{ChildEnd, is_end_key};
use crate::words::ids::{InboxSeq, InvalidId, KindName};
use crate::words::message::{Mentions, Said};

/// A change to a queued message, delivered as a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum QueueChange {
    /// Withdraws a message.
    Withdrawn {
        /// The inbox number of the message.
        of: InboxSeq,
    },
    /// Replaces the text of a message, and the files that it mentions. The pictures and the briefing stay.
    Replaced {
        /// The inbox number of the message.
        of: InboxSeq,
        /// The new text.
        text: String,
        /// The files that the new text mentions.
        #[serde(default, skip_serializing_if = "Mentions::is_empty")]
        mentions: Mentions,
    },
}

/// The wire name of the kind of an inbox item that is a message for later. Versions that do not know the kind keep the item,
/// so none of them delivers it too early.
const LATER: &str = "later";

/// Returns the kind of an inbox item that is a message for later. Its content is a [`Said`] that names the instant. It wakes
/// the session at once, so that a run sets the alarm for the instant.
///
/// # Errors
/// Does not fail: the name of the kind is valid.
pub fn later_kind() -> Result<ItemKind, InvalidId> {
    Ok(ItemKind::Other { name: KindName::new(LATER)?, wake: Wake::Now })
}

/// Returns true if an inbox item is a message for later, whether its instant has come or not.
pub fn is_later(item: &StoredItem) -> bool {
    is_kind_of_later(&item.kind)
}

/// Returns true if this is the kind of a message for later.
pub fn is_kind_of_later(kind: &ItemKind) -> bool {
    matches!(kind, ItemKind::Other { name, .. } if name.as_str() == LATER)
}

/// Returns the instant before which no turn takes an inbox item, if it is a message for later. A message whose content names
/// no instant, or cannot be read, is due.
pub fn not_before(item: &StoredItem) -> Option<Timestamp> {
    is_later(item).then(|| said(item).not_before.unwrap_or(Timestamp::EPOCH))
}

/// The result of [`settle`]: the inbox items that still matter, and the items that can be consumed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// The items that the session must still take, including replacements of texts, in order.
    pub items: Vec<StoredItem>,
    /// Items without further effect: withdrawn messages, all withdrawals, and replacements of messages that are
    /// withdrawn, gone, or about the end of a background child.
    pub consumed: Vec<InboxSeq>,
}

/// Applies withdrawals to the messages of an inbox. A change to a message that was already taken has no effect. A
/// task from a parent or another program, and a message about the end of a background child, cannot be withdrawn. A
/// replacement stays in the inbox until its message is taken.
pub fn settle(inbox: Vec<StoredItem>) -> Settled {
    // A parent or another program waits for the outcome of its task, so the task cannot be withdrawn. Neither can
    // the end of a child.
    let asked: BTreeSet<InboxSeq> = inbox
        .iter()
        .filter(|item| waits(item) && (said(item).reply.is_some() || is_end_key(&item.key)))
        .map(|item| item.seq)
        .collect();
    let withdrawn: BTreeSet<InboxSeq> = inbox
        .iter()
        .filter_map(|item| match change_of(item) {
            Some(QueueChange::Withdrawn { of }) => Some(of).filter(|of| !asked.contains(of)),
            Some(QueueChange::Replaced { .. }) | None => None,
        })
        .collect();
    let waiting: BTreeSet<InboxSeq> = inbox.iter().filter(|item| waits(item)).map(|item| item.seq).collect();
    let ends: BTreeSet<InboxSeq> =
        inbox.iter().filter(|item| is_end_key(&item.key)).map(|item| item.seq).collect();
    let matters = |item: &StoredItem| match change_of(item) {
        Some(QueueChange::Withdrawn { .. }) => false,
        Some(QueueChange::Replaced { of, .. }) => {
            waiting.contains(&of) && !withdrawn.contains(&of) && !ends.contains(&of)
        }
        None => !waits(item) || !withdrawn.contains(&item.seq),
    };
    let (items, gone): (Vec<StoredItem>, Vec<StoredItem>) = inbox.into_iter().partition(matters);
    Settled { items, consumed: gone.iter().map(|item| item.seq).collect() }
}

/// Returns the waiting messages of an inbox in order, with their changes applied. Messages for later are among them.
/// Messages about the ends of background children are left out.
pub fn queued(inbox: Vec<StoredItem>) -> Vec<(StoredItem, Said)> {
    let items = settle(inbox).items;
    // If several changes replace a text, the last one counts.
    let mut replaced: BTreeMap<InboxSeq, (String, Mentions)> = items.iter().filter_map(replacement).collect();
    let messages = items.into_iter().filter(|item| waits(item) && !is_end_key(&item.key));
    let current = |item: StoredItem| {
        let said = said(&item);
        let said = match replaced.remove(&item.seq) {
            Some((text, mentions)) => Said { text, mentions, ..said },
            None => said,
        };
        (item, said)
    };
    messages.map(current).collect()
}

/// Returns the message whose text this item replaces, with the new text and its files.
fn replacement(item: &StoredItem) -> Option<(InboxSeq, (String, Mentions))> {
    match change_of(item)? {
        QueueChange::Replaced { of, text, mentions } => Some((of, (text, mentions))),
        QueueChange::Withdrawn { .. } => None,
    }
}

/// Returns the current content of a message of `inbox`. If several changes replace its text, the last one
/// counts.
pub(crate) fn said_in(inbox: &[StoredItem], message: &StoredItem) -> Said {
    let replaced = inbox.iter().rev().find_map(|item| match change_of(item) {
        Some(QueueChange::Replaced { of, text, mentions }) if of == message.seq => Some((text, mentions)),
        Some(QueueChange::Replaced { .. } | QueueChange::Withdrawn { .. }) | None => None,
    });
    let said = said(message);
    match replaced {
        Some((text, mentions)) => Said { text, mentions, ..said },
        None => said,
    }
}

/// Returns the message whose text this item replaces, if the item is a replacement.
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

/// Returns true if an item is a message to the agent.
pub(crate) fn is_message(item: &StoredItem) -> bool {
    matches!(item.kind, ItemKind::Message { .. })
}

/// Returns true if an item is a message to the agent, for now or for later.
pub(crate) fn waits(item: &StoredItem) -> bool {
    is_message(item) || is_later(item)
}

/// Returns the end of a background child that an item reports, if it reports one.
pub(crate) fn end_of(item: &StoredItem) -> Option<ChildEnd> {
    if !is_message(item) || !is_end_key(&item.key) {
        return None;
    }
    said(item).ended.map(|end| *end)
}

/// Returns true if an item is a correction from outside.
pub(crate) fn corrects(item: &StoredItem) -> bool {
    is_message(item) && said(item).correction_by.is_some()
}

/// Returns the original content of a message, without replacements. Bytes that do not parse as [`Said`] are used as
/// its text.
pub fn said(item: &StoredItem) -> Said {
    item.payload
        .parse()
        .unwrap_or_else(|_| Said::new(String::from_utf8_lossy(item.payload.bytes()).into_owned()))
}
