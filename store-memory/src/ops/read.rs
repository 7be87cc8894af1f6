//! Reads of a session's messages, inbox and events.

use holdover_store::ids::{InboxSeq, SessionKey};
use holdover_store::payload::Payload;
use holdover_store::rules::PageRoom;
use holdover_store::{
    EventCursor, EventPage, InboxPage, MessagePage, MessageRange, PAGE_ROWS_MAX, StoreError, StoreErrorKind,
    StoredEvent,
};

use crate::table::{Record, Sessions};

/// Returns the record of `key`, or fails with `NotFound` if there is none.
pub(super) fn find<'a>(
    sessions: &'a Sessions,
    operation: &'static str,
    key: &SessionKey,
) -> Result<&'a Record, StoreError> {
    let missing = || StoreError::new(StoreErrorKind::NotFound, operation, "no such session").on(key);
    sessions.get(key).ok_or_else(missing)
}

fn check_limit(operation: &'static str, key: &SessionKey, limit: u32) -> Result<(), StoreError> {
    if limit == 0 { Err(StoreError::invalid(operation, "limit: 0 reads nothing").on(key)) } else { Ok(()) }
}

/// Reads messages by ranges, in the order of the ranges.
pub fn read_messages(
    sessions: &Sessions,
    key: &SessionKey,
    ranges: &[MessageRange],
) -> Result<MessagePage, StoreError> {
    let messages = &find(sessions, "read_messages", key)?.messages;
    let slice = |range: &MessageRange| {
        let from = messages.partition_point(|message| message.seq < range.from);
        let to = messages.partition_point(|message| message.seq <= range.to);
        messages.get(from..to).unwrap_or_default()
    };
    let mut room = PageRoom::new(usize::MAX);
    let mut read = Vec::new();
    for (index, range) in ranges.iter().enumerate() {
        for message in slice(range) {
            if !room.takes(message.payload.len()) {
                return Ok(MessagePage::cut(read, &ranges[index..], message.seq));
            }
            read.push(message.clone());
        }
    }
    Ok(MessagePage::whole(read))
}

/// Reads the items after `after` that are not consumed.
pub fn read_inbox(
    sessions: &Sessions,
    key: &SessionKey,
    after: InboxSeq,
    limit: u32,
) -> Result<InboxPage, StoreError> {
    check_limit("read_inbox", key, limit)?;
    Ok(find(sessions, "read_inbox", key)?.unread_after(after, limit))
}

/// Reads events after a cursor and, at the end of the log, the deltas of the stream that runs.
pub fn read_events(
    sessions: &Sessions,
    key: &SessionKey,
    after: &EventCursor,
    limit: u32,
) -> Result<EventPage, StoreError> {
    check_limit("read_events", key, limit)?;
    let Some(record) = sessions.get(key) else {
        return Ok(EventPage::NotFound);
    };
    let Some(place) = after.place_in(record.row.incarnation) else {
        return Ok(EventPage::Gone);
    };
    let mut room = PageRoom::new(limit.min(PAGE_ROWS_MAX) as usize);
    let was_read = |event: &StoredEvent| event.seq <= place.after;
    let events = next(&record.events, was_read, &mut room, |event| &event.payload);
    let last = events.last().map_or(place.after, |last| last.seq);
    let deltas = match record.row.deltas_after(&place, last) {
        Some(read) => next(&record.deltas, |delta| delta.place <= read, &mut room, |delta| &delta.payload),
        None => Vec::new(),
    };
    Ok(record.row.event_page(after, events, deltas))
}

/// Returns the rows after those that the reader has read, as far as they fit in the page.
fn next<T: Clone>(
    rows: &[T],
    was_read: impl Fn(&T) -> bool,
    room: &mut PageRoom,
    payload: impl Fn(&T) -> &Payload,
) -> Vec<T> {
    let from = rows.partition_point(was_read);
    rows[from..].iter().take_while(|row| room.takes(payload(row).len())).cloned().collect()
}
