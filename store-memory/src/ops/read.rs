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
    let from = record.events.partition_point(|event| event.seq <= place);
    let rest = &record.events[from..];
    let limit = limit.min(PAGE_ROWS_MAX) as usize;
    let events = rest[..rest.len().min(limit)].to_vec();
    let next = events.last().map_or(*after, |last| EventCursor::after(record.row.incarnation, last.seq));
    Ok(EventPage::Events { more: rest.len() > events.len(), events, next })
}
