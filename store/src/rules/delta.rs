//! The rules for deltas, and for the deltas that a reader gets.

use serde::{Deserialize, Serialize};

use super::SessionRow;
use crate::ids::{EventSeq, Fence};
use crate::{
    DeltaBatch, DeltaOutcome, DeltaPage, EventCursor, EventPage, EventPlace, StoredDelta, StoredEvent,
    StreamId,
};

/// The stream whose deltas a session keeps, or kept last. When `open` becomes false, the store removes the
/// deltas in the same write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// The id of the stream. Before the first stream, its number is 0.
    pub id: StreamId,
    /// The place of the newest delta.
    pub last: u64,
    /// True while the stream runs: its deltas are kept and shown, and more may follow.
    pub open: bool,
}

/// The steps that a store must take for an accepted batch, in addition to writing the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streamed {
    /// True to remove the stored deltas, because they belong to an earlier stream.
    pub replaces: bool,
    /// The number of deltas of the batch that are stored already. If all are, the row has not changed.
    pub skip: usize,
}

impl Stream {
    /// Ends the stream `id` and all earlier streams. A later stream continues.
    pub(super) fn end(&mut self, id: StreamId) {
        match self.id.cmp(&id) {
            std::cmp::Ordering::Less => *self = Self { id, last: 0, open: false },
            std::cmp::Ordering::Equal => self.open = false,
            std::cmp::Ordering::Greater => {}
        }
    }
}

impl SessionRow {
    /// Decides a batch of deltas. If it returns `Err`, nothing has changed: return that outcome.
    pub fn stream(&mut self, fence: &Fence, batch: &DeltaBatch) -> Result<Streamed, DeltaOutcome> {
        if !self.admits(fence) {
            return Err(DeltaOutcome::StaleFence);
        }
        let id = StreamId { run: fence.epoch, number: batch.stream };
        let continues = id == self.stream.id;
        if id < self.stream.id || (continues && !self.stream.open) {
            return Err(DeltaOutcome::Ended);
        }
        let last = if continues { self.stream.last } else { 0 };
        if batch.first == 0 || batch.first > last + 1 {
            return Err(DeltaOutcome::Gap { expected: last + 1 });
        }
        let skip = usize::try_from(last + 1 - batch.first).unwrap_or(usize::MAX).min(batch.deltas.len());
        let last = last + (batch.deltas.len() - skip) as u64;
        self.stream = Stream { id, last, open: true };
        Ok(Streamed { replaces: !continues, skip })
    }

    /// Returns the place of the delta after which a page shows deltas. The reader is at `place`, and the page
    /// holds events up to `last`. Returns none if the page shows no stream.
    pub fn deltas_after(&self, place: &EventPlace, last: EventSeq) -> Option<u64> {
        let shown = self.stream.open && last >= self.last_event;
        shown.then(|| match place.within {
            Some((stream, delta)) if stream == self.stream.id => delta,
            Some(_) | None => 0,
        })
    }

    /// Returns the page for a reader at `cursor`: the next events and, if
    /// [`deltas_after`](Self::deltas_after) returned a place, the next deltas of the stream.
    pub fn event_page(
        &self,
        cursor: &EventCursor,
        events: Vec<StoredEvent>,
        deltas: Vec<StoredDelta>,
    ) -> EventPage {
        let Some(begins) = cursor.place_in(self.incarnation) else { return EventPage::Gone };
        let after = events.last().map_or(begins.after, |last| last.seq);
        let at_end = after >= self.last_event;
        let mut place = EventPlace { after, within: begins.within.filter(|_| !at_end) };
        let mut more = !at_end;
        let stream = self.deltas_after(&begins, after).map(|read| {
            let read = deltas.last().map_or(read, |last| last.place);
            place.within = (read > 0).then_some((self.stream.id, read));
            more = read < self.stream.last;
            DeltaPage { stream: self.stream.id, deltas }
        });
        let next = if place == begins { *cursor } else { EventCursor::at(self.incarnation, place) };
        EventPage::Events { events, stream, next, more }
    }
}
