//! Signals, and the items that a run drops from the inbox.

use crate::engine::children::background::begins_child;
use crate::engine::inbox::InboxHandler;
use crate::engine::mind::Mind;
use crate::machine::Call;
use crate::store::{ItemKind, StoredItem};
use crate::words::ids::InboxSeq;
use crate::words::mailbox;
use crate::words::message::SignalBody;

/// The signals that ask for the next attempt now, or for a turn to go on.
const HURRIES: [SignalBody; 2] = [SignalBody::Retry, SignalBody::Resume];

impl Mind {
    /// Returns true if a signal asks to make a waiting retry now (B40).
    pub(crate) fn is_hurried(&self) -> bool {
        self.is_asked(&HURRIES)
    }

    /// Takes the signals of `HURRIES`, which apply only to the attempt that waited.
    pub(crate) fn take_hurries(&mut self) {
        self.take_words(&HURRIES);
    }

    /// Takes these signals. All other items stay: for example, a mode waits for the next steering.
    pub(crate) fn take_words(&mut self, words: &[SignalBody]) {
        let inbox = std::mem::take(&mut self.inbox.items);
        let (taken, kept) = inbox.into_iter().partition(|item| asks(item, words));
        self.inbox.items = kept;
        self.consume(taken);
    }

    /// Returns true if one of these signals waits.
    pub(crate) fn is_asked(&self, for_any_of: &[SignalBody]) -> bool {
        self.inbox.items.iter().any(|item| asks(item, for_any_of))
    }

    pub(crate) fn consume(&mut self, taken: Vec<StoredItem>) {
        self.draft.consumed.extend(taken.iter().map(|item| item.seq));
    }
}

impl InboxHandler<'_> {
    /// Drops the items that no step needs: answers to calls that are no longer pending, and signals, unless they ask
    /// for a child or replace a waiting message. Takes settlements and waiting modes first, so it is used only where a
    /// message may be added and a mode may change: at rest, at the start of a turn, and in steering.
    pub(crate) fn consume_rest(&mut self) {
        self.cx.calls().take_settlements();
        self.take_modes_before(InboxSeq(u64::MAX));
        let (batch, letters) = (self.cx.mind.machine.state.batch(), &self.cx.mind.unawaited.letters);
        let messages = self.cx.mind.inbox.items.iter().filter(|item| mailbox::waits(item));
        let waiting: Vec<InboxSeq> = messages.map(|item| item.seq).collect();
        let wanted = |item: &StoredItem| match &item.kind {
            ItemKind::Message { .. } => true,
            ItemKind::Signal { .. } => {
                begins_child(item) || mailbox::replaces(item).is_some_and(|of| waiting.contains(&of))
            }
            ItemKind::Answer { pending, .. } => {
                let is_open = |call: &Call| call.state.pending() == Some(pending);
                letters.contains_key(pending) || batch.is_some_and(|batch| batch.calls.iter().any(is_open))
            }
            // A newer version may know the item.
            ItemKind::Other { .. } => true,
        };
        let (kept, rest): (Vec<StoredItem>, Vec<StoredItem>) =
            std::mem::take(&mut self.cx.mind.inbox.items).into_iter().partition(wanted);
        self.cx.mind.inbox.items = kept;
        self.cx.mind.consume(rest);
    }
}

/// Returns true if an item is one of these signals.
fn asks(item: &StoredItem, for_any_of: &[SignalBody]) -> bool {
    let signal = matches!(item.kind, ItemKind::Signal { .. });
    signal && item.payload.parse().is_ok_and(|signal| for_any_of.contains(&signal))
}
