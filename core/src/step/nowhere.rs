//! A run that goes nowhere: nothing has changed, and nothing will wake it. Such a turn ends on an error, where it
//! would else hold its session for ever.

use super::hooking::StepHooks;
use super::{RunOutcome, StepIterator};
use crate::error::ErrorInfo;
use crate::ids::InboxSeq;
use crate::machine::{AgentState, Suspension};

/// What moves when a run decides something.
#[derive(PartialEq)]
struct Mark {
    rows: usize,
    events: usize,
    actions: u64,
    read: InboxSeq,
    unread: usize,
    to_send: usize,
    leaving: bool,
}

impl StepIterator {
    /// Decides one thing after another, until nothing is left to decide.
    pub(super) fn progress_while_it_moves(&mut self) {
        while self.exit.is_none() && !self.is_held() {
            let before = self.mark_of_progress();
            if !self.progress() {
                return;
            }
            if before == self.mark_of_progress() {
                self.end_going_nowhere();
            }
        }
    }

    fn mark_of_progress(&self) -> Mark {
        Mark {
            rows: self.mind.draft.history.len(),
            events: self.mind.draft.events.len(),
            actions: self.last_id,
            read: self.mind.inbox_seen,
            unread: self.mind.inbox.len(),
            to_send: self.to_send.len(),
            leaving: self.leaving.is_some(),
        }
    }

    /// Whether this run waits for nothing: no action of it is out, no answer is owed, and no instant comes.
    pub(super) fn is_going_nowhere(&self) -> bool {
        let surroundings = [self.provisioning, self.tearing_down];
        let stopped = self.stopped_model.map(|stopped| stopped.of);
        let asked = [self.model_call, stopped, self.summarising, self.sleeping];
        asked.iter().chain(&surroundings).all(Option::is_none)
            && self.exit.is_none()
            && self.leaving.is_none()
            && self.writing.is_none()
            && self.out.is_empty()
            && self.reads.is_empty()
            && !matches!(self.mind.step_hooks, StepHooks::Asked(_))
            && self.mind.consulting.is_empty()
            && self.wakes_at().is_none()
    }

    /// Whether nobody can bring what this suspension waits for.
    pub(super) fn is_owed_by_nobody(&self, suspension: &Suspension) -> bool {
        let drafted = &self.mind.draft.open;
        suspension.until.is_none()
            && suspension.owed.iter().filter_map(|owed| owed.pending.as_ref()).all(|pending| {
                !self.mind.open.contains(pending)
                    && !drafted.iter().any(|new| new.id == *pending)
                    && !self.writing.as_ref().is_some_and(|writing| writing.opens_this(pending))
            })
    }

    pub(super) fn end_going_nowhere(&mut self) {
        let state = self.mind.machine.state.kind().as_str();
        let why = format!("the turn stands in {state}: nothing changes there, and nothing will wake it");
        if let AgentState::TearingDown { .. } = self.mind.machine.state {
            // The outcome stands; the next run frees what is left.
            self.exit = Some(RunOutcome::Lost);
            return;
        }
        self.mind.draft.decided = true;
        self.give_up(ErrorInfo::new("engine.no_progress", why));
    }
}
