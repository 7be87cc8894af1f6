//! Deliveries and interrupt requests.

use holdover_store::ids::{Fence, SessionKey};
use holdover_store::rules::Arrival;
use holdover_store::time::Timestamp;
use holdover_store::{
    Delivery, InboxItem, Interrupt, InterruptCheck, InterruptOutcome, ItemKind, StoredItem,
};

use crate::table::{Record, Sessions};

/// Puts an item into the inbox. Accepts only one item for each key.
pub fn deliver(sessions: &mut Sessions, key: &SessionKey, item: InboxItem, now: Timestamp) -> Delivery {
    match sessions.get_mut(key) {
        None => Delivery::NotFound,
        Some(record) => match accept_all(record, [&item], now) {
            Ok(()) => Delivery::Accepted { seq: record.row.last_item },
            Err((_, refusal)) => refusal,
        },
    }
}

/// Accepts all of `items` or none. An error holds the index of the first refused item, and the refusal.
pub(super) fn accept_all<'a>(
    record: &mut Record,
    items: impl IntoIterator<Item = &'a InboxItem>,
    now: Timestamp,
) -> Result<(), (usize, Delivery)> {
    let mut row = record.row.clone();
    let mut arrived: Vec<(&InboxItem, Arrival)> = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        let earlier = arrived.iter().find(|(earlier, _)| earlier.key == item.key);
        let known = match earlier {
            Some((earlier, arrival)) => Some((arrival.seq, earlier.digest())),
            None => record.keys.get(&item.key).copied(),
        };
        let arrival =
            row.accept(item, known, record.pending_facts(item), now).map_err(|refusal| (index, refusal))?;
        arrived.push((item, arrival));
    }
    record.row = row;
    for (item, arrival) in arrived {
        let InboxItem { key, kind, payload, .. } = item.clone();
        record.keys.insert(key.clone(), (arrival.seq, item.digest()));
        if let (ItemKind::Answer { pending, .. }, Some(answered)) = (&kind, arrival.answered)
            && let Some(open) = record.pending.iter_mut().find(|open| &open.id == pending)
        {
            open.answered = answered;
            open.last_answer = arrival.seq;
        }
        let stored = StoredItem { seq: arrival.seq, key, kind, payload, at: now };
        record.inbox.insert(arrival.seq, (stored, arrival.wake));
    }
    Ok(())
}

/// Asks the session to stop.
pub fn interrupt(
    sessions: &mut Sessions,
    key: &SessionKey,
    interrupt: Interrupt,
    now: Timestamp,
) -> InterruptOutcome {
    match sessions.get_mut(key) {
        None => InterruptOutcome::NotFound,
        Some(record) => record.row.request_interrupt(interrupt, now),
    }
}

/// Hands the waiting interrupt to the calling run.
pub fn take_interrupt(sessions: &mut Sessions, fence: &Fence) -> InterruptCheck {
    match sessions.get_mut(&fence.key) {
        None => InterruptCheck::StaleFence,
        Some(record) => record.row.hand_interrupt(fence),
    }
}
