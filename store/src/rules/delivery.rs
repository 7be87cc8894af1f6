//! The rules for deliveries and interrupts.

use super::SessionRow;
use crate::ids::{Fence, InboxSeq};
use crate::payload::Digest;
use crate::time::Timestamp;
use crate::{
    Delivery, InboxItem, Interrupt, InterruptCheck, InterruptKind, InterruptOutcome, ItemKind, PendingCall,
    SessionStatus, Wake,
};

/// The facts about the pending call that an answer names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingFacts {
    /// The number of answers that the call needs.
    pub needed: u32,
    /// The number of answers that the call has.
    pub answered: u32,
    /// The instant from which answers are refused, if there is one.
    pub deadline: Option<Timestamp>,
}

impl From<&PendingCall> for PendingFacts {
    fn from(pending: &PendingCall) -> Self {
        Self { needed: pending.needed, answered: pending.answered, deadline: pending.deadline }
    }
}

/// The values that a store must write for an accepted item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The place of the item in the inbox.
    pub seq: InboxSeq,
    /// The way in which the item counts towards waking the session.
    pub wake: Wake,
    /// For an answer: the number of answers that the pending call has now.
    pub answered: Option<u32>,
}

impl SessionRow {
    /// Decides a delivery. If the item is accepted, counts it and, if it wakes the session, makes the session
    /// due now.
    ///
    /// `known` is the place and digest of the accepted item with the same key, if there is one, even if it is
    /// consumed. `pending` is the open pending call that an answer names, if there is one.
    pub fn accept(
        &mut self,
        item: &InboxItem,
        known: Option<(InboxSeq, Digest)>,
        pending: Option<PendingFacts>,
        now: Timestamp,
    ) -> Result<Arrival, Delivery> {
        match (item.incarnation, &item.kind) {
            (Some(named), _) if named != self.incarnation => return Err(Delivery::NotFound),
            (None, ItemKind::Answer { .. }) => return Err(Delivery::NotFound),
            (_, _) => {}
        }
        if let Some((seq, digest)) = known {
            let same = digest == item.digest();
            return Err(if same { Delivery::Duplicate { seq } } else { Delivery::Conflict { seq } });
        }
        let (wake, answered) = match &item.kind {
            ItemKind::Message { .. } | ItemKind::Signal { .. } | ItemKind::Other { .. }
                if self.status == SessionStatus::Aborted =>
            {
                return Err(Delivery::Aborted);
            }
            ItemKind::Message { wake } | ItemKind::Signal { wake } | ItemKind::Other { wake, .. } => {
                (*wake, None)
            }
            ItemKind::Answer { settles, .. } => {
                let answered = take_slot(pending, *settles, now)?;
                let complete = pending.is_some_and(|pending| answered >= pending.needed);
                (if complete { Wake::Now } else { Wake::Quiet }, Some(answered))
            }
        };
        let seq = self.last_item.next();
        self.last_item = seq;
        self.unread += 1;
        self.unseen.add(wake);
        self.updated_at = now;
        if self.wakes(wake) {
            self.ring_at(now);
        }
        Ok(Arrival { seq, wake, answered })
    }

    /// Returns true if the item that was just counted wakes the session. No item wakes an active or aborted
    /// session.
    fn wakes(&self, wake: Wake) -> bool {
        match self.status {
            SessionStatus::Active | SessionStatus::Aborted => false,
            SessionStatus::Idle | SessionStatus::Interrupted | SessionStatus::Failed => wake != Wake::Quiet,
            SessionStatus::Suspended => self.unseen.reaches(self.wake_on),
        }
    }

    /// Decides a request to stop. If the request is accepted and the session is not active, makes the session due
    /// now.
    pub fn request_interrupt(&mut self, interrupt: Interrupt, now: Timestamp) -> InterruptOutcome {
        if interrupt.incarnation.is_some_and(|named| named != self.incarnation) {
            return InterruptOutcome::NotFound;
        }
        if self.status == SessionStatus::Aborted {
            return InterruptOutcome::Aborted;
        }
        if self.last_interrupt.as_ref() == Some(&interrupt.id) {
            return InterruptOutcome::Over;
        }
        if let Some(waiting) = self.interrupt.as_ref().filter(|waiting| waiting.kind >= interrupt.kind) {
            return InterruptOutcome::AlreadyWaiting { id: waiting.id.clone() };
        }
        let soft = interrupt.kind == InterruptKind::Soft;
        if soft && self.status.at_rest() {
            return InterruptOutcome::AtRest;
        }
        self.interrupt = Some(interrupt);
        self.interrupt_handed_to = None;
        self.updated_at = now;
        if self.status != SessionStatus::Active {
            self.ring_at(now);
        }
        InterruptOutcome::Requested
    }

    /// Hands the waiting interrupt to the run that asks, and remembers that run.
    pub fn hand_interrupt(&mut self, fence: &Fence) -> InterruptCheck {
        if !self.admits(fence) {
            return InterruptCheck::StaleFence;
        }
        match &self.interrupt {
            Some(interrupt) => {
                self.interrupt_handed_to = Some(self.epoch);
                InterruptCheck::Waiting(interrupt.clone())
            }
            None => InterruptCheck::Clear,
        }
    }
}

fn take_slot(pending: Option<PendingFacts>, settles: bool, now: Timestamp) -> Result<u32, Delivery> {
    let pending = pending.ok_or(Delivery::NotPending)?;
    if pending.answered >= pending.needed {
        return Err(Delivery::AlreadyAnswered);
    }
    if pending.deadline.is_some_and(|deadline| deadline <= now) {
        return Err(Delivery::NotPending);
    }
    Ok(if settles { pending.needed } else { pending.answered + 1 })
}
