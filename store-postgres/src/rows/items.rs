//! Items on their way to the inbox.

use holdover_store::ids::InboxSeq;
use holdover_store::{Delivery, InboxItem, ItemKind, Wake};

use crate::call::Values;
use crate::columns::{Columns, unknown};
use crate::error::Fault;

/// Binds one item: key, content, kind, wake, pending, settles, incarnation, digest, payload.
pub(crate) fn bind_item(to: &mut Values<'_>, item: &InboxItem) {
    let (wake, pending, settles) = match &item.kind {
        ItemKind::Message { wake } | ItemKind::Signal { wake } => (Some(wake_name(*wake)), None, false),
        ItemKind::Answer { pending, settles } => (None, Some(pending.as_str()), *settles),
    };
    to.add(item.key.as_str())
        .add(item.digest().0.as_slice())
        .add(item.kind.as_str())
        .add(wake)
        .add(pending)
        .add(settles)
        .add(item.incarnation.as_ref().map(|incarnation| incarnation.0.as_bytes().as_slice()))
        .payload(&item.payload);
}

/// Binds messages and signals as arrays: keys, contents, kinds, wakes, incarnations, digests, payloads.
pub(crate) fn bind_items<'i>(to: &mut Values<'_>, items: impl Iterator<Item = &'i InboxItem> + Clone) {
    let wake = |item: &InboxItem| match &item.kind {
        ItemKind::Message { wake } | ItemKind::Signal { wake } => Some(wake_name(*wake)),
        ItemKind::Answer { .. } => None,
    };
    let incarnation =
        |item: &'i InboxItem| item.incarnation.as_ref().map(|named| named.0.as_bytes().as_slice());
    to.add(items.clone().map(|item| item.key.as_str()).collect::<Vec<_>>())
        .add(items.clone().map(|item| item.digest().0.to_vec()).collect::<Vec<_>>())
        .add(items.clone().map(|item| item.kind.as_str()).collect::<Vec<_>>())
        .add(items.clone().map(wake).collect::<Vec<_>>())
        .add(items.clone().map(incarnation).collect::<Vec<_>>())
        .payloads(items.map(|item| Some(&item.payload)));
}

/// The delivery of this name, and its place if it has one.
pub(crate) fn delivery(name: &str, place: Option<u64>) -> Result<Delivery, Fault> {
    let seq = InboxSeq(place.unwrap_or_default());
    Ok(match name {
        "accepted" => Delivery::Accepted { seq },
        "duplicate" => Delivery::Duplicate { seq },
        "conflict" => Delivery::Conflict { seq },
        "already_answered" => Delivery::AlreadyAnswered,
        "not_pending" => Delivery::NotPending,
        "aborted" => Delivery::Aborted,
        "not_found" => Delivery::NotFound,
        other => return Err(Fault::Corrupt(format!("delivery: {}", unknown(other)))),
    })
}

/// Reads the columns refused, refusal, refusal_place: the first item that was not accepted, if there is one.
pub(crate) fn refusal(c: &mut Columns<'_>) -> Result<Option<(usize, Delivery)>, Fault> {
    let (index, name, place) = (c.count_or_null()?, c.text_or_null()?, c.count_or_null()?);
    match (index, name) {
        (Some(index), Some(name)) => Ok(Some((index, delivery(&name, place)?))),
        (_, _) => Ok(None),
    }
}

fn wake_name(wake: Wake) -> &'static str {
    match wake {
        Wake::Now => "now",
        Wake::Count => "count",
        Wake::Quiet => "quiet",
    }
}

/// The wake with this stored name.
pub(super) fn wake_named(name: &str) -> Option<Wake> {
    [Wake::Now, Wake::Count, Wake::Quiet].into_iter().find(|wake| wake_name(*wake) == name)
}
