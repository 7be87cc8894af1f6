//! What goes into one page.

use crate::ids::MessageSeq;
use crate::store::{InboxPage, MessagePage, MessageRange, PAGE_BYTES_MAX, StoredItem, StoredMessage};

/// What still goes into a page: so many rows, so many bytes of payload. The first row always does, however
/// large it is, so that a walk ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRoom {
    rows: usize,
    bytes: usize,
    empty: bool,
}

impl PageRoom {
    /// An empty page of at most `rows` rows and [`PAGE_BYTES_MAX`] bytes.
    pub fn new(rows: usize) -> Self {
        Self { rows, bytes: PAGE_BYTES_MAX, empty: true }
    }

    /// Whether a row with so many bytes of payload still goes in; then it is counted. Once one does not, the page is
    /// over: no later row is smaller for its reader.
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

    /// How many rows still go in, if their payloads do.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

impl MessagePage {
    /// A page that holds all that was asked for.
    pub fn whole(messages: Vec<StoredMessage>) -> Self {
        Self { messages, rest: Vec::new() }
    }

    /// A page that ends before message `next` of the first of `ranges`: that range goes on there, the
    /// others follow.
    pub fn cut(messages: Vec<StoredMessage>, ranges: &[MessageRange], next: MessageSeq) -> Self {
        let mut rest = ranges.to_vec();
        if let Some(first) = rest.first_mut() {
            first.from = next;
        }
        Self { messages, rest }
    }
}

impl InboxPage {
    /// The page of these items; `more` says whether others come after them.
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
}
