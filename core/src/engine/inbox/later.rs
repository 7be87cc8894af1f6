//! Messages for later: no turn takes one before its instant. From then on, it is a message like any other.

use crate::engine::context::Context;
use crate::engine::mind::{Inbox, Mind};
use crate::store::{ItemKind, StoredItem, Wake};
use crate::time::Timestamp;
use crate::words::mailbox::{is_later, is_message, not_before, said};
use crate::words::signal::is_signal;

impl Mind {
    /// Turns the messages for later whose instant has come into messages that wait. Their places in the inbox stay.
    pub(crate) fn ripen(&mut self, now: Timestamp) {
        for item in &mut self.inbox.items {
            if not_before(item).is_some_and(|at| at <= now) {
                item.kind = ItemKind::Message { wake: Wake::Now };
            }
        }
    }
}

impl Inbox {
    /// Returns true if the inbox holds items that versions before
    /// [`STATE_FORMAT_LATER`](crate::engine::STATE_FORMAT_LATER) do not handle.
    pub(crate) fn holds_new(&self) -> bool {
        // A message for later whose instant has come still has the new kind in the store.
        let came = |item: &StoredItem| is_message(item) && said(item).not_before.is_some();
        self.items.iter().any(|item| is_later(item) || is_signal(item) || came(item))
    }
}

impl Context {
    /// Returns the earliest instant that is still to come at which a message for later may be taken.
    pub(crate) fn next_later(&self) -> Option<Timestamp> {
        let instants = self.mind.inbox.items.iter().filter_map(not_before);
        instants.filter(|at| *at > self.run.now).min()
    }

    /// Returns the alarm of a session at rest: the next look at its children, or the next message for later.
    pub(crate) fn rests_until(&mut self) -> Option<Timestamp> {
        let later = self.next_later();
        self.children().alarm(later)
    }
}
