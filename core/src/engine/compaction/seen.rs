//! The messages that a model sees, kept from one call of a run to the next.

use std::sync::Arc;

use super::{Cleared, shown};
use crate::engine::Shown;
use crate::engine::compaction::pictures::Pictures;
use crate::store::MessageRange;
use crate::words::ids::MessageSeq;
use crate::words::list::SharedList;
use crate::words::message::Message;

/// The messages that a model sees, kept so that the next call costs only the new ones.
///
/// The result is the same as if each call built the list again: messages as [`shown`] returns them, and pictures
/// within their bounds. An update looks at the messages since the last call, and at those from the first result on
/// that is shown differently now. If the shown messages are not those of the last call plus newer ones, the whole
/// list is built again.
///
/// ```
/// use std::sync::Arc;
/// use holdover_core::compaction::Seen;
/// use holdover_core::ids::MessageSeq;
/// use holdover_core::message::{Message, UserMessage};
/// use holdover_core::engine::Shown;
/// use holdover_core::store::MessageRange;
///
/// let said = |seq, text: &str| (MessageSeq(seq), Arc::new(Message::User(UserMessage::new(text))));
/// let mut shown = Shown::default();
/// let mut seen = Seen::default();
/// for seq in 1..=3 {
///     shown.added.push(said(seq, "go on"));
///     shown.ranges = vec![MessageRange::new(MessageSeq(1), MessageSeq(seq))];
///     let messages = seen.update(&shown, &[], usize::MAX);
///     assert_eq!(messages.len() as u64, seq);
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The messages that the last call asked for.
    of: Shown,
    most: usize,
    cleared: Cleared,
    /// The messages as the model sees them. `places` has the place of each in the transcript.
    messages: SharedList<Arc<Message>>,
    places: Vec<MessageSeq>,
    pictures: Pictures,
}

impl Seen {
    /// Returns the messages that a model sees of `now`, with at most `most` characters of each result. `read` holds
    /// the messages at the places of [`to_read`](Shown::to_read). It must stay the same as long as `to_read` does,
    /// and all calls must come from one run.
    pub fn update(
        &mut self,
        now: &Shown,
        read: &[(MessageSeq, Arc<Message>)],
        most: usize,
    ) -> SharedList<Arc<Message>> {
        // The kept list is empty during the change, so a panic leaves no half-made list.
        let before = std::mem::take(self);
        let (mut seen, new) = match before.news_of(now).filter(|_| before.most == most) {
            Some(new) => (before, new),
            None => (Self { most, ..Self::default() }, now.ranges.clone()),
        };
        let new = match seen.clear(now, &new, read) {
            Some(from) => from_on(&now.ranges, from),
            None => new,
        };
        for (seq, message) in new.iter().flat_map(|range| now.messages_in(*range, read)) {
            let Some(message) = shown(*seq, message, &seen.cleared, most) else { continue };
            seen.pictures.note(seen.messages.len(), &message);
            seen.messages.push(message);
            seen.places.push(*seq);
        }
        seen.pictures.bound(&mut seen.messages);
        seen.of = now.clone();
        *self = seen;
        self.messages.clone()
    }

    /// Returns the messages that are shown now and were not shown at the last call. Returns `None` unless
    /// everything that was shown then comes before them.
    fn news_of(&self, now: &Shown) -> Option<Vec<MessageRange>> {
        let Some((last, first)) = self.of.ranges.split_last() else { return Some(now.ranges.clone()) };
        let begins =
            now.ranges.get(first.len()).filter(|range| range.from == last.from && range.to >= last.to);
        let grown = *begins.filter(|_| now.ranges.starts_with(first) && now.claimed == self.of.claimed)?;
        // After decisions were taken back, other messages may have their places.
        let newest = self.of.added.len().checked_sub(1).map(|at| (self.of.added.get(at), now.added.get(at)));
        let same = newest.is_none_or(|(before, now)| match (before, now) {
            (Some((_, before)), Some((_, now))) => Arc::ptr_eq(before, now),
            (_, None) | (None, _) => false,
        });
        let rest = (grown.to > last.to).then(|| MessageRange::new(last.to.next(), grown.to));
        let behind = now.ranges.iter().skip(first.len() + 1).copied();
        same.then(|| rest.into_iter().chain(behind).collect())
    }

    /// Updates the cleared results and their summaries, also from the `new` messages. Forgets everything from the
    /// first message on that may look different. Returns the place of that message, unless it is new.
    fn clear(
        &mut self,
        now: &Shown,
        new: &[MessageRange],
        read: &[(MessageSeq, Arc<Message>)],
    ) -> Option<MessageSeq> {
        let new = new.iter().flat_map(|range| now.messages_in(*range, read));
        let other = self.cleared.change(now.cleared, now.in_part, new.map(|(_, message)| &**message))?;
        let kept = self.places.iter().rposition(|place| *place < other).map_or(0, |at| at + 1);
        let from = self.places.get(kept).copied();
        self.places.truncate(kept);
        self.messages.truncate(kept);
        self.pictures.truncate(kept);
        from
    }
}

/// Returns the shown places from this message on. The message itself must be shown.
fn from_on(ranges: &[MessageRange], from: MessageSeq) -> Vec<MessageRange> {
    let mut rest = ranges.iter().skip_while(|range| !range.contains(from)).copied();
    let first = rest.next().map(|range| MessageRange::new(from, range.to));
    first.into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests;
