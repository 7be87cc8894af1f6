//! Functions that shorten pages that became too large when they were decoded.

use std::num::NonZeroU32;

use holdover_store::ids::MessageSeq;
use holdover_store::{
    CheckpointQuery, InboxPage, MessagePage, MessageRange, PendingQuery, Request, StoredMessage,
};

/// Shortens a page of messages, which was read for `ranges`, to its first `rows` messages.
pub(super) fn messages(page: MessagePage, ranges: &[MessageRange], rows: usize) -> MessagePage {
    let MessagePage { messages: mut kept, rest: _ } = page;
    let left_out = kept.split_off(rows.min(kept.len()));
    let Some(next) = left_out.first() else { return MessagePage { messages: kept, rest: Vec::new() } };
    let range = range_of(&kept, ranges, next.seq);
    MessagePage::cut(kept, ranges.get(range..).unwrap_or_default(), next.seq)
}

/// Returns the index of the range in which message `next` was read after the messages `before`. Messages have
/// no gaps, so a range is read to its end or to the end of the transcript.
fn range_of(before: &[StoredMessage], ranges: &[MessageRange], next: MessageSeq) -> usize {
    let mut read = before.iter().map(|message| message.seq).chain([next]).peekable();
    for (index, range) in ranges.iter().enumerate() {
        let mut at = range.from.max(MessageSeq(1));
        while at <= range.to && read.next_if_eq(&at).is_some() {
            at = MessageSeq(at.0.saturating_add(1));
        }
        if read.peek().is_none() {
            return index;
        }
    }
    ranges.len()
}

/// Shortens a page of the inbox to its first `rows` items.
pub(super) fn inbox(page: InboxPage, rows: usize) -> InboxPage {
    let InboxPage { mut items, next: _ } = page;
    items.truncate(rows);
    InboxPage::new(items, true)
}

/// Returns the same request with `rows` as the limit. Returns none if the request has no such limit.
pub(super) fn of_rows(request: &Request, rows: usize) -> Option<Request> {
    let rows = u32::try_from(rows).ok().and_then(NonZeroU32::new)?;
    let mut shorter = request.clone();
    if let Request::ReadEvents(_, _, limit) = &mut shorter {
        *limit = rows.get();
    } else if let Request::ListRuns(_, page)
    | Request::ListPending(PendingQuery { page, .. })
    | Request::ListCheckpoints(CheckpointQuery { page, .. }) = &mut shorter
    {
        page.limit = Some(rows);
    } else {
        return None;
    }
    Some(shorter)
}
