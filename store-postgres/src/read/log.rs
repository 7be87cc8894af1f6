//! Messages, events, and the inbox of one session.

use holdover_store::ids::{EventSeq, InboxSeq, MessageSeq, SessionKey};
use holdover_store::payload::Payload;
use holdover_store::rules::PageRoom;
use holdover_store::time::Timestamp;
use holdover_store::{
    EventCursor, EventPage, InboxPage, MessagePage, MessageRange, StoredDelta, StoredEvent, StoredMessage,
};
use sqlx::postgres::PgRow;

use crate::call::{Call, Values, int};
use crate::columns::{Columns, count, next};
use crate::error::Fault;
use crate::rows::{self, session_columns};

pub(crate) struct ReadMessages {
    pub(crate) key: SessionKey,
    pub(crate) ranges: Vec<MessageRange>,
}

impl Call for ReadMessages {
    type Outcome = MessagePage;
    const OPERATION: &'static str = "read_messages";
    const PARAMETERS: usize = 4;
    const COLUMNS: &'static str = "a.seq, a.at, a.digest, a.payload, a.cut_range, a.cut_seq";
    const WRITES: bool = false;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        to.key(&self.key)
            .add(self.ranges.iter().map(|range| int(range.from.0)).collect::<Vec<_>>())
            .add(self.ranges.iter().map(|range| int(range.to.0)).collect::<Vec<_>>());
    }

    fn answer(&self, rows: &[PgRow]) -> Result<MessagePage, Fault> {
        let mut c = Columns::of(rows.first().ok_or(Fault::NotFound)?);
        let (seqs, mut at, mut payloads) = (c.list::<i64>()?, c.list::<i64>()?, c.payloads()?);
        let mut messages = Vec::with_capacity(seqs.len());
        for seq in seqs {
            messages.push(StoredMessage {
                seq: MessageSeq(count(Some(seq), "seq")?),
                at: Timestamp::from_ms(next(at.next(), "at")?),
                payload: next(payloads.next(), "payload")?,
            });
        }
        let cut = (c.count_or_null::<usize>()?, c.count_or_null()?.map(MessageSeq));
        match cut {
            (Some(range), Some(seq)) => {
                let rest = self.ranges.get(range..).unwrap_or_default();
                Ok(MessagePage::cut(messages, rest, seq))
            }
            (_, _) => Ok(MessagePage::whole(messages)),
        }
    }
}

pub(crate) struct ReadInbox {
    pub(crate) key: SessionKey,
    pub(crate) after: InboxSeq,
    pub(crate) limit: u32,
}

impl Call for ReadInbox {
    type Outcome = InboxPage;
    const OPERATION: &'static str = "read_inbox";
    const PARAMETERS: usize = 4;
    const COLUMNS: &'static str =
        "a.seq, a.key, a.kind, a.wake, a.pending, a.settles, a.at, a.digest, a.payload, a.more";
    const WRITES: bool = false;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        to.key(&self.key).add(int(self.after.0)).add(i64::from(self.limit));
    }

    fn answer(&self, rows: &[PgRow]) -> Result<InboxPage, Fault> {
        rows::inbox_page(&mut Columns::of(rows.first().ok_or(Fault::NotFound)?))
    }
}

pub(crate) struct ReadEvents {
    pub(crate) key: SessionKey,
    pub(crate) after: EventCursor,
    pub(crate) limit: u32,
}

impl Call for ReadEvents {
    type Outcome = EventPage;
    const OPERATION: &'static str = "read_events";
    const PARAMETERS: usize = 8;
    const COLUMNS: &'static str = concat!(
        session_columns!(),
        ", a.seq, a.at, a.sizes, a.digest, a.payload, a.delta_place, a.delta_digest, a.delta"
    );
    const WRITES: bool = false;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        let (incarnation, place) = self.after.parts();
        let (stream, delta) = place.within.unwrap_or_default();
        to.key(&self.key)
            .add(incarnation.as_ref().map(|incarnation| incarnation.0.as_bytes().as_slice()))
            .add(int(place.after.0))
            .add(int(stream.run.0))
            .add(i64::from(stream.number))
            .add(int(delta))
            .add(i64::from(self.limit));
    }

    fn answer(&self, rows: &[PgRow]) -> Result<EventPage, Fault> {
        let Some(row) = rows.first() else { return Ok(EventPage::NotFound) };
        let mut c = Columns::of(row);
        let session = rows::session_row(&mut c)?;
        let Some(place) = self.after.place_in(session.incarnation) else { return Ok(EventPage::Gone) };
        let mut room = PageRoom::new(self.limit as usize);
        let mut events = self.events(&mut c)?;
        events.retain(|event| event.seq > place.after && room.takes(event.payload.len()));
        let last = events.last().map_or(place.after, |last| last.seq);
        let mut deltas = Vec::new();
        let (places, mut payloads) = (c.list::<i64>()?, c.payloads()?);
        if session.deltas_after(&place, last).is_some() {
            for place in places {
                let delta = StoredDelta {
                    place: count(Some(place), "delta_place")?,
                    payload: next(payloads.next(), "delta")?,
                };
                if room.takes(delta.payload.len()) {
                    deltas.push(delta);
                }
            }
        }
        Ok(session.event_page(&self.after, events, deltas))
    }
}

impl ReadEvents {
    fn events(&self, c: &mut Columns<'_>) -> Result<Vec<StoredEvent>, Fault> {
        let (seqs, mut at, mut sizes) = (c.list::<i64>()?, c.list::<i64>()?, c.list::<Option<String>>()?);
        let mut payloads = c.payloads()?;
        let mut events = Vec::new();
        for seq in seqs {
            let at = Timestamp::from_ms(next(at.next(), "at")?);
            let payload = next(payloads.next(), "payload")?;
            unpack(count(Some(seq), "seq")?, at, payload, sizes.next().flatten(), &mut events)?;
        }
        Ok(events)
    }
}

/// Takes the events of one commit apart; `sizes` is an array as Postgres writes it.
fn unpack(
    last: u64,
    at: Timestamp,
    payload: Payload,
    sizes: Option<String>,
    events: &mut Vec<StoredEvent>,
) -> Result<(), Fault> {
    let Some(sizes) = sizes else {
        events.push(StoredEvent { seq: EventSeq(last), at, payload });
        return Ok(());
    };
    let torn = || Fault::Corrupt(format!("event {last}: its sizes do not go with its payload"));
    let sizes = sizes.trim_matches(['{', '}']).split(',').map(str::parse::<usize>);
    let sizes: Vec<usize> = sizes.collect::<Result<_, _>>().map_err(|_| torn())?;
    let mut seq = last.checked_sub(sizes.len() as u64).ok_or_else(torn)?;
    let mut rest = payload.bytes().clone();
    for size in sizes {
        if size > rest.len() {
            return Err(torn());
        }
        seq += 1;
        events.push(StoredEvent { seq: EventSeq(seq), at, payload: Payload::new(rest.split_to(size)) });
    }
    if rest.is_empty() { Ok(()) } else { Err(torn()) }
}
