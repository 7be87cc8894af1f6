//! Reading a session's logs.

use holdover_core::ids::{InboxSeq, SessionKey};
use holdover_core::store::{
    EventCursor, EventPage, MessageRange, PAGE_ROWS_MAX, StoreError, StoreErrorKind, StoredItem,
    StoredMessage,
};

use crate::table::{Record, Sessions};

/// The record of `key`, or that there is none.
pub(super) fn find<'a>(
    sessions: &'a Sessions,
    operation: &'static str,
    key: &SessionKey,
) -> Result<&'a Record, StoreError> {
    let missing = || StoreError::new(StoreErrorKind::NotFound, operation, "no such session").on(key);
    sessions.get(key).ok_or_else(missing)
}

fn check_limit(operation: &'static str, limit: u32) -> Result<(), StoreError> {
    if limit == 0 { Err(StoreError::invalid(operation, "limit: 0 reads nothing")) } else { Ok(()) }
}

/// Messages by ranges, in the order of the ranges.
pub fn read_messages(
    sessions: &Sessions,
    key: &SessionKey,
    ranges: &[MessageRange],
) -> Result<Vec<StoredMessage>, StoreError> {
    let messages = &find(sessions, "read_messages", key)?.messages;
    let slice = |range: &MessageRange| {
        let from = messages.partition_point(|message| message.seq < range.from);
        let to = messages.partition_point(|message| message.seq <= range.to);
        messages.get(from..to).unwrap_or_default()
    };
    Ok(ranges.iter().flat_map(slice).cloned().collect())
}

/// Items that are not consumed.
pub fn read_inbox(
    sessions: &Sessions,
    key: &SessionKey,
    after: InboxSeq,
    limit: u32,
) -> Result<Vec<StoredItem>, StoreError> {
    check_limit("read_inbox", limit)?;
    Ok(find(sessions, "read_inbox", key)?.unread_after(after, limit))
}

/// Events after a cursor.
pub fn read_events(
    sessions: &Sessions,
    key: &SessionKey,
    after: &EventCursor,
    limit: u32,
) -> Result<EventPage, StoreError> {
    check_limit("read_events", limit)?;
    let Some(record) = sessions.get(key) else {
        return Ok(EventPage::NotFound);
    };
    let Some(place) = after.place_in(record.row.incarnation) else {
        return Ok(EventPage::Gone);
    };
    let limit = limit.min(PAGE_ROWS_MAX) as usize;
    let events: Vec<_> = rest(&record.events, |event| event.seq <= place.after, limit).to_vec();
    let last = events.last().map_or(place.after, |last| last.seq);
    let deltas = match record.row.deltas_after(&place, last) {
        Some(read) => rest(&record.deltas, |delta| delta.place <= read, limit - events.len()).to_vec(),
        None => Vec::new(),
    };
    Ok(record.row.event_page(after, events, deltas))
}

/// What comes after the rows that were read, at most `limit`.
fn rest<T>(rows: &[T], was_read: impl Fn(&T) -> bool, limit: usize) -> &[T] {
    let from = rows.partition_point(was_read);
    &rows[from..rows.len().min(from + limit)]
}
