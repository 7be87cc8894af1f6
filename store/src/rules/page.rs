//! The rules for how much one page holds.

use crate::ids::MessageSeq;
use crate::payload::Digest;
use crate::{
    InboxPage, MessagePage, MessageRange, PAGE_BYTES_MAX, Page, PageCursor, PageRequest, StoreError,
    StoredItem, StoredMessage,
};

/// The number of rows and of payload bytes that still fit in a page. The first row always fits, whatever its
/// size, so that every walk ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRoom {
    rows: usize,
    bytes: usize,
    empty: bool,
}

impl PageRoom {
    /// Returns the room of an empty page: `rows` rows and [`PAGE_BYTES_MAX`] bytes.
    pub fn new(rows: usize) -> Self {
        Self { rows, bytes: PAGE_BYTES_MAX, empty: true }
    }

    /// Counts a row with `bytes` of payload if it still fits, and returns whether it does. Once a row does
    /// not fit, no later row fits, even if it is smaller.
    pub fn takes(&mut self, bytes: usize) -> bool {
        let fits = self.rows > 0 && (self.empty || bytes <= self.bytes);
        if fits {
            self.rows -= 1;
            self.bytes = self.bytes.saturating_sub(bytes);
            self.empty = false;
        } else {
            self.rows = 0;
        }
        fits
    }

    /// Returns the number of rows that still fit if their payloads do.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Takes rows as long as they fit. `bytes` returns the payload bytes of a row. Returns the rows that fit,
    /// and the first row that does not. Later rows are not read.
    pub fn fill<T, E>(
        &mut self,
        rows: impl IntoIterator<Item = Result<T, E>>,
        bytes: impl Fn(&T) -> usize,
    ) -> Result<(Vec<T>, Option<T>), E> {
        let mut taken = Vec::new();
        for row in rows {
            let row = row?;
            if !self.takes(bytes(&row)) {
                return Ok((taken, Some(row)));
            }
            taken.push(row);
        }
        Ok((taken, None))
    }
}

impl PageRequest {
    /// Returns the place to continue after, in the store's own bytes, or none at the start. A cursor of
    /// another query than `query` fails with [`InvalidArgument`](crate::StoreErrorKind::InvalidArgument) in
    /// `operation`.
    pub fn position(&self, operation: &'static str, query: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let place = self.after.as_ref().map(|cursor| cursor.position_in(query)).transpose();
        place.map_err(|why| StoreError::invalid(operation, format!("after: {why}")))
    }
}

impl<T> Page<T> {
    /// Returns the page that `request` asks for. `rows` are the rows after the request's
    /// [`position`](PageRequest::position) in the order of the list, each with its place in the store's own
    /// bytes. `bytes` returns the payload bytes of a row. At most one row beyond the page is read.
    pub fn fill<E>(
        request: &PageRequest,
        query: Digest,
        rows: impl IntoIterator<Item = Result<(Vec<u8>, T), E>>,
        bytes: impl Fn(&T) -> usize,
    ) -> Result<Self, E> {
        let mut room = PageRoom::new(request.rows() as usize);
        let (shown, more) = room.fill(rows, |(_, row)| bytes(row))?;
        let last = shown.last().filter(|_| more.is_some());
        let next = last.map(|(place, _)| PageCursor::at(query, place));
        Ok(Self { items: shown.into_iter().map(|(_, row)| row).collect(), next })
    }
}

impl MessagePage {
    /// Returns a page that holds all messages that were asked for.
    pub fn whole(messages: Vec<StoredMessage>) -> Self {
        Self { messages, rest: Vec::new() }
    }

    /// Returns a page that ends before message `next` of the first of `ranges`. [`rest`](Self::rest) begins
    /// with that message and goes on with the other ranges.
    pub fn cut(messages: Vec<StoredMessage>, ranges: &[MessageRange], next: MessageSeq) -> Self {
        let mut rest = ranges.to_vec();
        if let Some(first) = rest.first_mut() {
            first.from = next;
        }
        Self { messages, rest }
    }
}

impl InboxPage {
    /// Returns the page of these items. `more` says whether there are items after them.
    pub fn new(items: Vec<StoredItem>, more: bool) -> Self {
        let next = items.last().filter(|_| more).map(|last| last.seq);
        Self { items, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_always_goes_in_and_the_page_ends_at_its_bounds() {
        let mut room = PageRoom::new(9);
        assert!(room.takes(PAGE_BYTES_MAX + 1));
        assert!(!room.takes(1));
        assert!(!room.takes(0), "what comes after the end of a page is not in it");

        let mut room = PageRoom::new(9);
        assert!(room.takes(1) && room.takes(PAGE_BYTES_MAX - 1) && room.takes(0));
        assert!(!room.takes(1));

        let mut room = PageRoom::new(2);
        assert!(room.takes(1) && room.takes(1) && !room.takes(1));
    }

    #[test]
    fn a_cut_page_goes_on_in_the_range_where_it_ended() {
        let range = |from, to| MessageRange::new(MessageSeq(from), MessageSeq(to));
        let page = MessagePage::cut(Vec::new(), &[range(1, 5), range(2, 3)], MessageSeq(4));
        assert_eq!(page.rest, [range(4, 5), range(2, 3)]);
    }

    #[test]
    fn a_page_of_a_list_goes_on_after_its_last_row() {
        let query = Digest::of(b"query");
        let rows = |from: u8| (from..=3).map(|n| Ok::<_, StoreError>((vec![n], n)));
        let mut request = PageRequest::first(2.try_into().unwrap());
        let page = Page::fill(&request, query, rows(1), |_| 1).unwrap();
        assert_eq!(page.items, [1, 2]);
        request.after = page.next;
        assert_eq!(request.position("list", query).unwrap(), Some(vec![2]));
        let last = Page::fill(&request, query, rows(3), |_| 1).unwrap();
        assert_eq!((last.items, last.next), (vec![3], None));
        let other = request.position("list", Digest::of(b"other")).unwrap_err();
        assert_eq!(
            other.to_string(),
            "store: list: invalid argument: after: not a cursor: it belongs to another query"
        );
    }
}
