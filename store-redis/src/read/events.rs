//! Events, and the deltas of the stream that runs.

use bytes::Bytes;
use holdover_store::ids::{EventSeq, SessionKey};
use holdover_store::rules::PageRoom;
use holdover_store::{EventCursor, EventPage, PAGE_BYTES_MAX, StoreError, StoredDelta, StoredEvent};

use crate::columns::Fields;
use crate::error::Fault;
use crate::reply::{self, Reply};
use crate::store::{Shared, unknown};

impl Shared {
    pub(crate) async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        let place = after.parts().1;
        let args = self
            .args()
            .number(place.after.0)
            .optional_number(place.within.map(|(stream, _)| stream.run.0))
            .optional_number(place.within.map(|(stream, _)| u64::from(stream.number)))
            .optional_number(place.within.map(|(_, delta)| delta))
            .number(limit)
            .size(PAGE_BYTES_MAX);
        self.ask("read_events", &self.scripts.read_events, key, Ok(args), |word, reply| match word {
            "found" => event_page(reply, after, limit),
            "not_found" => Ok(EventPage::NotFound),
            other => unknown(other),
        })
        .await
    }
}

fn event_page(reply: &mut Reply, after: &EventCursor, limit: u32) -> Result<EventPage, Fault> {
    let row = Fields::read(reply)?.row(&Bytes::new())?;
    let (events, deltas) = (reply.pairs()?, reply.pairs()?);
    let Some(place) = after.place_in(row.incarnation) else {
        return Ok(EventPage::Gone);
    };
    let mut room = PageRoom::new(limit as usize);
    let mut shown = Vec::with_capacity(events.len());
    for (seq, record) in events {
        let (at, payload) = reply::dated(record)?;
        if !room.takes(payload.len()) {
            break;
        }
        shown.push(StoredEvent { seq: EventSeq(reply::number(&seq)?), at, payload });
    }
    let last = shown.last().map_or(place.after, |last| last.seq);
    let mut streamed = Vec::new();
    if row.deltas_after(&place, last).is_some() {
        for (number, sealed) in deltas {
            let payload = reply::payload(sealed)?;
            if !room.takes(payload.len()) {
                break;
            }
            streamed.push(StoredDelta { place: reply::number(&number)?, payload });
        }
    }
    Ok(row.event_page(after, shown, streamed))
}
