//! Reads the inbox while a run works.

use crate::engine::action::ActionId;
use crate::engine::context::Context;
use crate::engine::context::out::News;
use crate::engine::inbox::InboxHandler;
use crate::engine::mind::Mind;
use crate::engine::reply::Found;
use crate::store::{Interrupt, InterruptKind, Receipt, StoredItem};
use crate::words::ending::StopCause;
use crate::words::error::ErrorInfo;
use crate::words::history::Input;

impl Context {
    /// Notes that items or an interrupt must be read, if the receipt reports any that are new.
    pub(crate) fn hear(&mut self, receipt: &Receipt) {
        let unread = receipt.last_item > self.mind.inbox.seen;
        // A turn that winds down takes a second stop.
        let known = self.mind.inbox.interrupt.is_some() && !self.mind.machine.turn.winds_down();
        let stop = receipt.interrupt && !known;
        if unread || stop {
            self.out.news.hear();
        }
    }

    /// Returns true if everything that is known to have come was read.
    pub(crate) fn is_up_to_date(&self) -> bool {
        self.out.news == News::Read
    }
}

impl InboxHandler<'_> {
    pub(crate) fn on_read(&mut self, id: ActionId, result: Result<Found, ErrorInfo>) {
        if !self.cx.out.news.came(id) {
            return;
        }
        match result {
            Ok(found) => {
                self.cx.mind.keep_items(found.items);
                if let Some(interrupt) = found.interrupt {
                    self.cx.mind.take_up_stop(interrupt);
                }
            }
            Err(error) => self.cx.give_up(error),
        }
    }

    pub(crate) fn take_interrupt(&mut self) -> bool {
        let Some(interrupt) =
            self.cx.mind.inbox.interrupt.clone().filter(|_| !self.cx.mind.inbox.interrupt_told)
        else {
            return false;
        };
        self.cx.mind.inbox.interrupt_told = true;
        let moved = self.cx.feed(Input::Interrupted { kind: interrupt.kind, cause: StopCause::Asked });
        // An abort that comes after the outcome is fixed stays in place: the next claim carries it out.
        if moved || interrupt.kind == InterruptKind::Soft {
            self.cx.mind.draft.interrupt_confirmed = Some(interrupt.id);
            self.cx.mind.draft.decided = true;
        }
        moved
    }
}

impl Mind {
    /// Keeps a stop that was read. Only a turn that winds down because of an earlier stop takes another one.
    fn take_up_stop(&mut self, interrupt: Interrupt) {
        let winds_down = self.machine.turn.winds_down();
        let is_new = |before: &Interrupt| winds_down && before.id != interrupt.id;
        if self.inbox.interrupt.as_ref().is_none_or(is_new) {
            (self.inbox.interrupt, self.inbox.interrupt_told) = (Some(interrupt), false);
        }
    }

    /// Keeps the items that did not fit into the claim. Earlier runs may have seen them.
    pub(crate) fn keep_rest(&mut self, items: Vec<StoredItem>) {
        let last = items.last().map_or(self.inbox.seen, |item| item.seq);
        self.inbox.seen = self.inbox.seen.max(last);
        self.inbox.items.extend(items);
    }

    /// Keeps the items that are new to the run.
    pub(crate) fn keep_items(&mut self, items: Vec<StoredItem>) {
        for item in items {
            if item.seq > self.inbox.seen {
                self.inbox.seen = item.seq;
                self.inbox.items.push(item);
            }
        }
    }
}
