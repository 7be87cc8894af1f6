//! Items that come with a claim or a move: all of them accepted, or none.

use holdover_store::ids::ItemKey;
use holdover_store::rules::{Arrival, SessionRow};
use holdover_store::time::Timestamp;
use holdover_store::{Delivery, InboxItem, StoredItem};

use crate::error::Fault;
use crate::job::Tx;
use crate::rows::{KnownItems, Sid, known_items};

/// Items that the row has accepted but that are not written yet.
pub(super) struct Accepted<'i> {
    pub(super) arrivals: Vec<(&'i InboxItem, Arrival)>,
    at: Timestamp,
}

/// The first item that was not accepted.
pub(super) struct Refusal {
    pub(super) index: usize,
    pub(super) refusal: Delivery,
}

impl<'i> Accepted<'i> {
    /// Lets `row`, a copy that is thrown away if one is refused, accept `items`. Nothing is written.
    pub(super) async fn decide(
        tx: &mut Tx<'_>,
        sid: Sid,
        row: &mut SessionRow,
        items: &'i [InboxItem],
        now: Timestamp,
    ) -> Result<Result<Self, Refusal>, Fault> {
        let keys: Vec<&ItemKey> = items.iter().map(|item| &item.key).collect();
        let mut known =
            if keys.is_empty() { KnownItems::default() } else { known_items(tx.conn(), sid, &keys).await? };
        Ok(Self::with_known(&mut known, row, items.iter(), now))
    }

    /// As [`decide`](Self::decide), for a session that is about to be created and so knows no items.
    pub(super) fn first(
        row: &mut SessionRow,
        items: impl Iterator<Item = &'i InboxItem>,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        Self::with_known(&mut KnownItems::default(), row, items, now)
    }

    fn with_known(
        known: &mut KnownItems,
        row: &mut SessionRow,
        items: impl Iterator<Item = &'i InboxItem>,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let mut arrivals = Vec::new();
        for (index, item) in items.enumerate() {
            let arrival = row
                .accept(item, known.get(&item.key).copied(), None, now)
                .map_err(|refusal| Refusal { index, refusal })?;
            known.insert(item.key.clone(), (arrival.seq, item.digest()));
            arrivals.push((item, arrival));
        }
        Ok(Self { arrivals, at: now })
    }

    /// As a later read would find them.
    pub(super) fn stored(&self) -> impl Iterator<Item = StoredItem> {
        self.arrivals.iter().map(|(item, arrival)| StoredItem {
            seq: arrival.seq,
            key: item.key.clone(),
            kind: item.kind.clone(),
            payload: item.payload.clone(),
            at: self.at,
        })
    }
}
