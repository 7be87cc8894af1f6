//! Names and columns with which backends store enums of the contract.

use crate::ids::PendingId;
use crate::{InterruptKind, ItemKind, Wake};

/// Returns the stored name of a wake.
pub fn wake_name(wake: Wake) -> &'static str {
    match wake {
        Wake::Now => "now",
        Wake::Count => "count",
        Wake::Quiet => "quiet",
    }
}

/// Returns the wake with this stored name, if there is one.
pub fn wake_named(name: &str) -> Option<Wake> {
    [Wake::Now, Wake::Count, Wake::Quiet].into_iter().find(|wake| wake_name(*wake) == name)
}

/// Returns the kind of interrupt with this wire name, if there is one.
pub fn interrupt_named(name: &str) -> Option<InterruptKind> {
    [InterruptKind::Soft, InterruptKind::Abort].into_iter().find(|kind| kind.as_str() == name)
}

/// Returns the columns that only an answer has: its pending call, and whether the answer settles the call
/// alone.
pub fn answer_columns(kind: &ItemKind) -> (Option<&PendingId>, bool) {
    match kind {
        ItemKind::Message { .. } | ItemKind::Signal { .. } | ItemKind::Other { .. } => (None, false),
        ItemKind::Answer { pending, settles } => (Some(pending), *settles),
    }
}

/// Returns the kind of an item, from its wire name and its other columns. Returns none if the name is not
/// valid, or if the other columns do not match it.
pub fn item_kind(name: &str, wake: Wake, pending: Option<PendingId>, settles: bool) -> Option<ItemKind> {
    match (name, pending) {
        ("answer", Some(pending)) => Some(ItemKind::Answer { pending, settles }),
        (name, None) => ItemKind::from_wire(name, wake),
        (_, Some(_)) => None,
    }
}
