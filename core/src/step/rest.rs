//! A session at rest: what begins a turn, and how one is left.

use super::mailbox::is_note;
use super::{RunKind, RunOutcome, StepIterator};
use crate::event::Event;
use crate::ids::InboxSeq;
use crate::machine::{AgentState, DoneReason, Ending, Input, StopCause, TurnRequest};
use crate::mailbox;
use crate::message::SignalBody;
use crate::store::{InterruptKind, ItemKind, Release, SessionStatus, StoredItem, Wake};

/// The words that ask for what waits to be tried again, or for a turn to go on.
const HURRIES: [SignalBody; 2] = [SignalBody::Retry, SignalBody::Resume];

impl StepIterator {
    pub(super) fn rest(&mut self) -> bool {
        let turn_ended_here = self.mind.draft.events.iter().any(|event| matches!(event, Event::Done { .. }));
        let AgentState::Done { ending, .. } = &self.mind.machine.state else { return self.at_rest() };
        if !turn_ended_here && !self.aborts(ending) {
            return self.at_rest();
        }
        let ending = ending.clone();
        let status = ending.status();
        self.leave_at_rest(RunOutcome::Ended(ending), status);
        true
    }

    /// Leaves a session at rest in which no turn ran; what begins one is for the next run, at once.
    pub(super) fn leave_as_it_was(&mut self) {
        let status = self.mind.machine.state.status_at_rest();
        match self.what_begins() {
            None => self.leave_at_rest(RunOutcome::Released, status),
            Some(_) => {
                let now = Some(self.now);
                self.leave_for(RunOutcome::Released, Release::To { status, deadline: now, wake_on: 0 });
            }
        }
    }

    /// Leaves a session at rest; messages that wait are for the next run, at once.
    pub(super) fn leave_at_rest(&mut self, outcome: RunOutcome, status: SessionStatus) {
        self.consume_rest();
        let deadline = self.message_waits().then_some(self.now);
        self.leave_for(outcome, Release::To { status, deadline, wake_on: 0 });
    }

    /// Whether this run ends a session at rest for ever.
    fn aborts(&self, ending: &Ending) -> bool {
        ending.status() == SessionStatus::Aborted && self.mind.moved
    }

    /// A session at rest in the hands of a run: a turn begins, or there is nothing to do.
    fn at_rest(&mut self) -> bool {
        let begins = self.what_begins();
        let aborts =
            self.mind.interrupt.as_ref().is_some_and(|interrupt| interrupt.kind == InterruptKind::Abort);
        // What somebody asked for is done before a turn begins, and not dropped for it.
        let stops = self.mind.interrupt.is_some() && !self.mind.interrupt_told;
        // What there is to do is for another run.
        if !stops && self.draining.is_some() {
            if self.mind.moved {
                self.leave_as_it_was()
            } else {
                self.pass_on()
            }
            return true;
        }
        if !stops && self.agent.is_some() && self.begin_compaction() {
            return true;
        }
        let by_message = begins == Some(TurnRequest::Message) && !aborts && self.agent.is_some();
        if by_message && !self.rewind() {
            return false;
        }
        if let Some(interrupt) = self.mind.interrupt.clone().filter(|_| !self.mind.interrupt_told) {
            match (interrupt.kind, begins) {
                // It was asked for when this turn was about to begin: that is the turn it stops.
                (InterruptKind::Soft, Some(request)) => self.begin_turn(request),
                (InterruptKind::Soft, None) => self.come_to_rest(),
                (InterruptKind::Abort, _) => {
                    self.mind.interrupt_told = true;
                    self.mind.draft.interrupt_confirmed = Some(interrupt.id);
                    self.feed(Input::Interrupted { kind: interrupt.kind, cause: StopCause::Asked });
                }
            }
        } else if self.agent.is_none() {
            self.pass_on();
        } else {
            match begins {
                Some(request) => self.begin_turn(request),
                None => self.come_to_rest(),
            }
        }
        true
    }

    /// Somebody asked for a summary, and there is something to summarise. Whatever else waits is for what comes after it.
    fn begin_compaction(&mut self) -> bool {
        if !self.is_asked(&[SignalBody::Compact]) {
            return false;
        }
        self.note_kind(RunKind::Compact);
        self.take_words(&[SignalBody::Compact]);
        if !self.feed(Input::CompactionRequested) {
            return false;
        }
        self.mind.draft.decided = true;
        true
    }

    /// Whether something was said that begins a turn. What is only noted does not.
    fn message_waits(&self) -> bool {
        let begins = |item: &StoredItem| mailbox::is_message(item) && !is_note(item);
        self.mind.inbox.iter().any(begins)
    }

    fn what_begins(&self) -> Option<TurnRequest> {
        if self.message_waits() {
            Some(TurnRequest::Message)
        } else if self.wants_retry() {
            Some(TurnRequest::Resume)
        } else {
            None
        }
    }

    /// There is nothing to do: the session is left with the status of its last turn, also if the claim found
    /// it suspended (moved there to be taken up again) or active (the run before died). A soft stop that
    /// waits has nothing to stop.
    fn come_to_rest(&mut self) {
        self.consume_rest();
        self.mind.draft.interrupt_confirmed = self.mind.interrupt.as_ref().map(|waiting| waiting.id.clone());
        let status = self.mind.machine.state.status_at_rest();
        self.leave_for(RunOutcome::Released, Release::To { status, deadline: None, wake_on: 0 });
    }

    /// Whether somebody asks that what waits to be tried again is tried now (B40).
    pub(super) fn is_hurried(&self) -> bool {
        self.is_asked(&HURRIES)
    }

    /// Takes the words that hurry: they were for what waited when they came.
    pub(super) fn take_hurries(&mut self) {
        self.take_words(&HURRIES);
    }

    /// Takes these words. All else that waits is for another place: a mode for the next steering, a stop for its call.
    fn take_words(&mut self, words: &[SignalBody]) {
        let inbox = std::mem::take(&mut self.mind.inbox);
        let (taken, kept) = inbox.into_iter().partition(|item| asks(item, words));
        self.mind.inbox = kept;
        self.consume(taken);
    }

    /// Whether one of these signals waits.
    pub(super) fn is_asked(&self, for_any_of: &[SignalBody]) -> bool {
        self.mind.inbox.iter().any(|item| asks(item, for_any_of))
    }

    fn wants_retry(&self) -> bool {
        let resumable = self.mind.machine.state.ended().is_some_and(|ending| match ending.reason {
            DoneReason::Error | DoneReason::UserAbort => true,
            DoneReason::ModelStop
            | DoneReason::MaxTurns
            | DoneReason::BudgetExceeded
            | DoneReason::LoopDetected
            | DoneReason::ToolStop => false,
        });
        self.is_hurried() && resumable
    }

    fn begin_turn(&mut self, request: TurnRequest) {
        let stopped = self.mind.interrupt.is_some();
        let provisions = !stopped && self.agent.as_ref().is_some_and(|agent| agent.has_surroundings());
        self.note_request(request);
        self.feed(Input::TurnRequested { request, provisions, after: self.mind.last_message });
        self.take_first();
        self.consume_rest();
        self.mind.draft.decided = true;
        self.fail_if_doomed();
    }

    /// Takes what no step needs: signals, and answers to calls that are pending no more. Only where a mode can be taken,
    /// too: at rest, where a turn begins, and in steering.
    pub(super) fn consume_rest(&mut self) {
        self.take_modes_before(InboxSeq(u64::MAX));
        let batch = self.mind.machine.state.batch();
        let messages = self.mind.inbox.iter().filter(|item| mailbox::is_message(item));
        let waiting: Vec<InboxSeq> = messages.map(|item| item.seq).collect();
        let wanted = |item: &StoredItem| match &item.kind {
            ItemKind::Message { .. } => true,
            ItemKind::Signal { .. } => mailbox::replaces(item).is_some_and(|of| waiting.contains(&of)),
            ItemKind::Answer { pending, .. } => batch
                .is_some_and(|batch| batch.calls.iter().any(|call| call.state.pending() == Some(pending))),
            // Whoever knows it takes it.
            ItemKind::Other { .. } => true,
        };
        let (kept, rest): (Vec<StoredItem>, Vec<StoredItem>) =
            std::mem::take(&mut self.mind.inbox).into_iter().partition(wanted);
        self.mind.inbox = kept;
        self.consume(rest);
    }

    fn consume(&mut self, taken: Vec<StoredItem>) {
        self.mind.draft.consumed.extend(taken.iter().map(|item| item.seq));
    }

    /// Gives the claim back: what there is to do needs the agent. Nothing was seen, and the session wants a
    /// worker when it did before.
    pub(super) fn pass_on(&mut self) {
        let wakes = |item: &StoredItem| match &item.kind {
            ItemKind::Message { wake } | ItemKind::Signal { wake } | ItemKind::Other { wake, .. } => {
                *wake != Wake::Quiet
            }
            ItemKind::Answer { .. } => false,
        };
        let alarm = match &self.mind.machine.state {
            AgentState::Idle | AgentState::Done { .. } => {
                let moved = self.found == SessionStatus::Suspended;
                (moved || self.mind.inbox.iter().any(wakes)).then_some(self.now)
            }
            AgentState::Confirming { batch } => batch.wakes_at(),
            AgentState::BackingOff { until, .. } => Some(*until),
            AgentState::Provisioning { .. }
            | AgentState::Thinking { .. }
            | AgentState::Streaming { .. }
            | AgentState::Executing { .. }
            | AgentState::Steering { .. }
            | AgentState::Compacting { .. }
            | AgentState::TearingDown { .. } => Some(self.now),
        };
        // A takeover that is given back stays due.
        let alarm = alarm.filter(|_| self.found != SessionStatus::Active);
        self.leave_for(RunOutcome::Released, Release::GiveBack { alarm });
    }
}

/// Whether an item is one of these signals.
fn asks(item: &StoredItem, for_any_of: &[SignalBody]) -> bool {
    let signal = matches!(item.kind, ItemKind::Signal { .. });
    signal && item.payload.parse().is_ok_and(|signal| for_any_of.contains(&signal))
}
