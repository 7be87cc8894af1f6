//! A page of an inbox.

use holdover_store::ids::InboxSeq;
use holdover_store::time::Timestamp;
use holdover_store::{InboxPage, ItemKind, StoredItem, Wake};

use super::items::wake_named;
use crate::columns::{Columns, count, id, next, unknown};
use crate::error::Fault;

/// Reads the columns of an `inbox_page`.
pub(crate) fn inbox_page(c: &mut Columns<'_>) -> Result<InboxPage, Fault> {
    let seqs = c.list::<i64>()?;
    let (mut keys, mut kinds, mut wakes) = (c.list::<String>()?, c.list::<String>()?, c.list::<String>()?);
    let (mut pending, mut settles) = (c.list::<Option<String>>()?, c.list::<bool>()?);
    let mut at = c.list::<i64>()?;
    let mut payloads = c.payloads()?;
    let more = c.flag_or_null()?.unwrap_or_default();
    let mut items = Vec::with_capacity(seqs.len());
    for seq in seqs {
        let (key, kind) = (id(keys.next(), "key")?, next(kinds.next(), "kind")?);
        let wake = next(wakes.next(), "wake")?;
        let wake = wake_named(&wake).ok_or_else(|| Fault::Corrupt(format!("wake: {}", unknown(&wake))))?;
        let kind = item_kind(&kind, wake, pending.next().flatten(), next(settles.next(), "settles")?)?;
        items.push(StoredItem {
            seq: InboxSeq(count(Some(seq), "seq")?),
            key,
            kind,
            at: Timestamp::from_ms(next(at.next(), "at")?),
            payload: next(payloads.next(), "payload")?,
        });
    }
    Ok(InboxPage::new(items, more))
}

fn item_kind(kind: &str, wake: Wake, pending: Option<String>, settles: bool) -> Result<ItemKind, Fault> {
    match (kind, pending) {
        ("message", None) => Ok(ItemKind::Message { wake }),
        ("signal", None) => Ok(ItemKind::Signal { wake }),
        ("answer", Some(pending)) => Ok(ItemKind::Answer { pending: id(Some(pending), "pending")?, settles }),
        (other, _) => Err(Fault::Corrupt(format!("kind: {}", unknown(other)))),
    }
}
