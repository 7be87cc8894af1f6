//! A stuck run: nothing has changed, and nothing will wake it. The turn ends with an error, so that the session is
//! not held for ever.

use crate::engine::steering::hooks::StepHooks;
use crate::engine::{RunOutcome, StepIterator};
use crate::machine::AgentState;
use crate::words::error::ErrorInfo;
use crate::words::ids::InboxSeq;
use crate::words::suspension::{OwedKind, Suspension};

/// The values of which at least one changes with every decision of a run.
#[derive(PartialEq)]
pub(super) struct Mark {
    rows: usize,
    events: usize,
    actions: u64,
    read: InboxSeq,
    unread: usize,
    to_send: usize,
    leaving: bool,
}

impl StepIterator {
    pub(super) fn mark_of_progress(&self) -> Mark {
        Mark {
            rows: self.cx.mind.draft.history.len(),
            events: self.cx.mind.draft.events.len(),
            actions: self.cx.output.last_id,
            read: self.cx.mind.inbox.seen,
            unread: self.cx.mind.inbox.items.len(),
            to_send: self.cx.out.to_send.len(),
            leaving: self.cx.end.leaving.is_some(),
        }
    }

    /// Returns true if this run waits for nothing: no action is in progress, no answer is owed, and no instant will
    /// wake it.
    pub(super) fn is_going_nowhere(&self) -> bool {
        self.cx.out.is_empty()
            && !self.cx.code.is_asked()
            && !self.cx.past.is_reading()
            && self.cx.end.exit.is_none()
            && self.cx.end.leaving.is_none()
            && self.writes.writing.is_none()
            && !matches!(self.cx.mind.step.hooks, StepHooks::Asked(_))
            && self.cx.mind.consulting.is_empty()
            && self.wakes_at().is_none()
    }

    /// Returns true if no one can provide the answers that this suspension waits for.
    pub(super) fn is_owed_by_nobody(&self, suspension: &Suspension) -> bool {
        let drafted = &self.cx.mind.draft.open;
        suspension.until.is_none()
            && suspension.owed.iter().all(|owed| match &owed.pending {
                Some(pending) => {
                    !self.cx.mind.open.contains(pending)
                        && !drafted.iter().any(|new| new.id == *pending)
                        && !self.writes.writing.as_ref().is_some_and(|writing| writing.opens_this(pending))
                }
                // The ends of background children and signals have no pending call.
                None => !matches!(owed.kind, OwedKind::Child | OwedKind::Signal),
            })
    }

    pub(super) fn end_going_nowhere(&mut self) {
        let state = self.cx.mind.machine.state.kind().as_str();
        let why = format!("the turn stands in {state}: nothing changes there, and nothing will wake it");
        if let AgentState::TearingDown { .. } = self.cx.mind.machine.state {
            // The outcome is fixed; the next run frees the rest.
            self.cx.end.exit = Some(RunOutcome::Lost);
            return;
        }
        self.cx.mind.draft.decided = true;
        self.cx.give_up(ErrorInfo::new("engine.no_progress", why));
    }
}
