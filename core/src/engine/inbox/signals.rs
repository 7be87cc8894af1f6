//! Signals, and the items that are left in the inbox where a run can take them.

use crate::engine::children::background::begins_child;
use crate::engine::inbox::InboxHandler;
use crate::engine::mind::Mind;
use crate::store::{ItemKind, StoredItem};
use crate::words::ids::InboxSeq;
use crate::words::mailbox;
use crate::words::message::SignalBody;

/// The signals that ask for the next try now, or for a turn to go on.
const HURRIES: [SignalBody; 2] = [SignalBody::Retry, SignalBody::Resume];

impl Mind {
    /// Whether somebody asks that a waiting retry is made now (B40).
    pub(crate) fn is_hurried(&self) -> bool {
        self.is_asked(&HURRIES)
    }

    /// Takes the signals of `HURRIES`: they were meant for what waited when they came.
    pub(crate) fn take_hurries(&mut self) {
        self.take_words(&HURRIES);
    }

    /// Takes these signals. All other items wait for another place: a mode for the next steering, a stop for
    /// its call.
    pub(crate) fn take_words(&mut self, words: &[SignalBody]) {
        let inbox = std::mem::take(&mut self.inbox.items);
        let (taken, kept) = inbox.into_iter().partition(|item| asks(item, words));
        self.inbox.items = kept;
        self.consume(taken);
    }

    /// Whether one of these signals waits.
    pub(crate) fn is_asked(&self, for_any_of: &[SignalBody]) -> bool {
        self.inbox.items.iter().any(|item| asks(item, for_any_of))
    }

    fn consume(&mut self, taken: Vec<StoredItem>) {
        self.draft.consumed.extend(taken.iter().map(|item| item.seq));
    }
}

impl InboxHandler<'_> {
    /// Takes the items that no step needs: signals, and answers to calls that are no longer pending. Used
    /// only where a mode can be taken too: at rest, where a turn begins, and in steering.
    pub(crate) fn consume_rest(&mut self) {
        self.take_modes_before(InboxSeq(u64::MAX));
        let batch = self.cx.mind.machine.state.batch();
        let messages = self.cx.mind.inbox.items.iter().filter(|item| mailbox::is_message(item));
        let waiting: Vec<InboxSeq> = messages.map(|item| item.seq).collect();
        let wanted = |item: &StoredItem| match &item.kind {
            ItemKind::Message { .. } => true,
            ItemKind::Signal { .. } => {
                begins_child(item) || mailbox::replaces(item).is_some_and(|of| waiting.contains(&of))
            }
            ItemKind::Answer { pending, .. } => batch
                .is_some_and(|batch| batch.calls.iter().any(|call| call.state.pending() == Some(pending))),
            // Whoever knows it takes it.
            ItemKind::Other { .. } => true,
        };
        let (kept, rest): (Vec<StoredItem>, Vec<StoredItem>) =
            std::mem::take(&mut self.cx.mind.inbox.items).into_iter().partition(wanted);
        self.cx.mind.inbox.items = kept;
        self.cx.mind.consume(rest);
    }
}

/// Whether an item is one of these signals.
fn asks(item: &StoredItem, for_any_of: &[SignalBody]) -> bool {
    let signal = matches!(item.kind, ItemKind::Signal { .. });
    signal && item.payload.parse().is_ok_and(|signal| for_any_of.contains(&signal))
}
