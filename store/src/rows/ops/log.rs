//! Reads of the logs of one session: messages, inbox, events, runs, checkpoints.

use super::super::facts::Facts;
use super::super::read::{Found, Want};
use super::super::row::{Kind, Row, picked};
use crate::ids::{CheckpointId, EventSeq, InboxSeq};
use crate::rules::PageRoom;
use crate::{
    Checkpoint, EventCursor, EventPage, InboxPage, MessagePage, MessageRange, PAGE_BYTES_MAX, RunRecord,
    StoredDelta, StoredEvent, StoredItem, StoredMessage,
};

/// Returns the rows to read for ranges of messages.
pub(in super::super) fn message_wants(ranges: &[MessageRange]) -> Vec<Want> {
    let range = |range: &MessageRange| {
        Want::numbers(Kind::Message, range.from.0, range.to.0).at_most(usize::MAX, PAGE_BYTES_MAX)
    };
    ranges.iter().map(range).collect()
}

/// Makes the page of messages from the rows that were read.
pub(in super::super) fn message_page(ranges: &[MessageRange], found: Found) -> MessagePage {
    let last = found.row().map(|row| row.last_message).unwrap_or_default();
    let mut room = PageRoom::new(usize::MAX);
    let mut read: Vec<StoredMessage> = Vec::new();
    for (index, (range, rows)) in ranges.iter().zip(found.rows).enumerate() {
        let mut next = range.from.max(crate::ids::MessageSeq(1));
        for row in rows {
            let Row::Message(message) = row else { continue };
            if !room.takes(message.payload.len()) {
                return MessagePage::cut(read, &ranges[index..], message.seq);
            }
            next = crate::ids::MessageSeq(message.seq.0 + 1);
            read.push(message);
        }
        // The read ended within the range.
        if next <= range.to.min(last) {
            return MessagePage::cut(read, &ranges[index..], next);
        }
    }
    MessagePage::whole(read)
}

/// Returns the rows to read for a page of the inbox.
pub(in super::super) fn inbox_wants(after: InboxSeq, limit: u32) -> Vec<Want> {
    let rows = limit as usize + 1;
    vec![Want::numbers(Kind::Item, after.0.saturating_add(1), u64::MAX).at_most(rows, PAGE_BYTES_MAX)]
}

/// Makes the page of the inbox from the rows that were read.
pub(in super::super) fn inbox_page(found: Found, after: InboxSeq, limit: u32) -> InboxPage {
    let last = found.row().map(|row| row.last_item).unwrap_or_default();
    let rows = found.rows.into_iter().flatten();
    let items: Vec<StoredItem> =
        rows.filter_map(|row| picked!(row, Row::Item { item, .. } => item)).collect();
    let read: usize = items.iter().map(|item| item.payload.len()).sum();
    // A read that reached its limit of bytes may have left rows out.
    let cut = read >= PAGE_BYTES_MAX && items.last().is_some_and(|item| item.seq < last);
    let count = items.len();
    let mut room = PageRoom::new(limit as usize);
    let shown: Vec<StoredItem> =
        items.into_iter().take_while(|item| item.seq > after && room.takes(item.payload.len())).collect();
    let more = shown.len() < count || cut;
    InboxPage::new(shown, more)
}

/// Returns the rows to read for a page of events, for a reader that has read the deltas up to `delta`.
pub(in super::super) fn event_wants(after: EventSeq, delta: u64, limit: u32) -> Vec<Want> {
    let rows = limit as usize;
    let from = after.0.saturating_add(1);
    vec![
        Want::numbers(Kind::Events, from, u64::MAX).at_most(rows, PAGE_BYTES_MAX),
        Want::numbers(Kind::Delta, delta.saturating_add(1), u64::MAX).at_most(rows, PAGE_BYTES_MAX),
    ]
}

/// Makes the page of events from the rows that were read. Returns `Err` if the deltas must be read again from
/// the first.
pub(in super::super) fn event_page(
    found: Found,
    cursor: &EventCursor,
    delta: u64,
    limit: u32,
) -> Result<EventPage, ()> {
    let Some(row) = found.row().cloned() else { return Ok(EventPage::NotFound) };
    let Some(place) = cursor.place_in(row.incarnation) else { return Ok(EventPage::Gone) };
    let mut room = PageRoom::new(limit as usize);
    let mut rows = found.rows.into_iter();
    let mut events: Vec<StoredEvent> = Vec::new();
    'batches: for batch in rows.next().into_iter().flatten() {
        let Row::Events(batch) = batch else { continue };
        for event in batch.after(place.after) {
            if !room.takes(event.payload.len()) {
                break 'batches;
            }
            events.push(event);
        }
    }
    let last = events.last().map_or(place.after, |last| last.seq);
    let mut deltas: Vec<StoredDelta> = Vec::new();
    if let Some(read) = row.deltas_after(&place, last) {
        if read < delta {
            return Err(());
        }
        for row in rows.next().into_iter().flatten() {
            let Row::Delta(delta) = row else { continue };
            if !room.takes(delta.payload.len()) {
                break;
            }
            deltas.push(delta);
        }
    }
    Ok(row.event_page(cursor, events, deltas))
}

/// Returns the runs that were read, each with its place.
pub(in super::super) fn runs(rows: Vec<Row>) -> Vec<(Vec<u8>, RunRecord)> {
    let run = |row| picked!(row, Row::Run(run) => (run.epoch.0.to_be_bytes().to_vec(), run));
    rows.into_iter().filter_map(run).collect()
}

/// Returns the checkpoints that were read, each with its place.
pub(in super::super) fn checkpoints(rows: Vec<Row>) -> Vec<(Vec<u8>, Checkpoint)> {
    let checkpoint = |row| picked!(row, Row::Checkpoint(at) => (at.id.0.to_be_bytes().to_vec(), at));
    rows.into_iter().filter_map(checkpoint).collect()
}

/// Returns the checkpoint `id`, if it was read.
pub(in super::super) fn checkpoint(facts: &Facts, id: CheckpointId) -> Option<Checkpoint> {
    picked!(facts.get(&Row::checkpoint(id)), Some(Row::Checkpoint(checkpoint)) => checkpoint.clone())
}
