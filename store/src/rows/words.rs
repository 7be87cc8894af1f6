//! Words and columns in which backends keep enums of the contract.

use crate::ids::PendingId;
use crate::{InterruptKind, ItemKind, Wake};

/// The name under which a wake is stored.
pub fn wake_name(wake: Wake) -> &'static str {
    match wake {
        Wake::Now => "now",
        Wake::Count => "count",
        Wake::Quiet => "quiet",
    }
}

/// The wake with this name.
pub fn wake_named(name: &str) -> Option<Wake> {
    [Wake::Now, Wake::Count, Wake::Quiet].into_iter().find(|wake| wake_name(*wake) == name)
}

/// The kind of interrupt with this wire name.
pub fn interrupt_named(name: &str) -> Option<InterruptKind> {
    [InterruptKind::Soft, InterruptKind::Abort].into_iter().find(|kind| kind.as_str() == name)
}

/// The columns that only an answer has: its pending call, and whether it settles the call alone.
pub fn answer_columns(kind: &ItemKind) -> (Option<&PendingId>, bool) {
    match kind {
        ItemKind::Message { .. } | ItemKind::Signal { .. } | ItemKind::Other { .. } => (None, false),
        ItemKind::Answer { pending, settles } => (Some(pending), *settles),
    }
}

/// The kind of an item, from its wire name and its other columns. None: the name is not valid, or the columns
/// do not match it.
pub fn item_kind(name: &str, wake: Wake, pending: Option<PendingId>, settles: bool) -> Option<ItemKind> {
    match (name, pending) {
        ("answer", Some(pending)) => Some(ItemKind::Answer { pending, settles }),
        (name, None) => ItemKind::from_wire(name, wake),
        (_, Some(_)) => None,
    }
}
