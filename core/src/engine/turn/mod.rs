//! A session at rest: how a turn begins, and how a run leaves the session.

use crate::engine::context::Context;
use crate::engine::context::run::Doom;
use crate::engine::inbox::is_note;
use crate::engine::mind::Mind;
use crate::engine::{RunKind, RunOutcome};
use crate::machine::{AgentState, procedure};
use crate::store::{InterruptKind, ItemKind, Release, SessionStatus, StoredItem, Wake};
use crate::time::Timestamp;
use crate::words::agent::OnDoubt;
use crate::words::ending::{DoneReason, Ending, StopCause};
use crate::words::event::Event;
use crate::words::history::{Input, TurnRequest};
use crate::words::letter::LetterCause;
use crate::words::mailbox;
use crate::words::message::{Message, SignalBody};
use crate::words::signal::is_signal;

pub(crate) mod draining;
pub(crate) mod letters;
pub(crate) mod limits;
pub(crate) mod record;
pub(crate) mod surroundings;

/// The handler of a session at rest: how a turn begins and ends.
pub(crate) struct TurnHandler<'a> {
    pub(crate) cx: &'a mut Context,
}

impl TurnHandler<'_> {
    pub(crate) fn at_rest_or_leave(&mut self) -> bool {
        let turn_ended_here =
            self.cx.mind.draft.events.iter().any(|event| matches!(event, Event::Done { .. }));
        let AgentState::Done { ending, .. } = &self.cx.mind.machine.state else { return self.at_rest() };
        if !turn_ended_here && !self.cx.mind.aborts(ending) {
            return self.at_rest();
        }
        let ending = ending.clone();
        let status = ending.status();
        self.leave_at_rest(RunOutcome::Ended(ending), status);
        true
    }

    /// Leaves a session whose turn waits for news or for the deadline.
    pub(crate) fn park(&mut self, outcome: RunOutcome, deadline: Option<Timestamp>) {
        self.cx.feed(Input::Parked);
        let deadline = deadline.into_iter().chain(self.cx.next_later()).min();
        // A signal that comes while a run holds the session counts, because its sender cannot know whether a call will
        // wait for it.
        let wake_on = u32::from(self.cx.mind.machine.awaits_signal());
        let release = Release::To { status: SessionStatus::Suspended, deadline, wake_on };
        self.cx.end.leave(outcome, release);
    }

    /// Leaves a session at rest in which no turn ran. Anything that begins a turn is left to the next run, which is
    /// due at once.
    pub(crate) fn leave_as_it_was(&mut self) {
        let status = self.cx.mind.machine.state.status_at_rest();
        match self.cx.mind.what_begins() {
            None => self.leave_at_rest(RunOutcome::Released, status),
            Some(_) => self.leave_due(RunOutcome::Released, status),
        }
    }

    /// Leaves a session at rest. If a message waits, or a dead letter was answered, the next run is due at once.
    pub(crate) fn leave_at_rest(&mut self, outcome: RunOutcome, status: SessionStatus) {
        self.cx.mind.close_old_letters();
        self.cx.inbox().consume_rest();
        if status == SessionStatus::Aborted {
            self.cx.calls().close_doubts();
        }
        if self.cx.mind.message_waits() || self.cx.mind.letter_is_answered() {
            return self.leave_due(outcome, status);
        }
        let deadline = self.cx.rests_until();
        self.cx.end.leave(outcome, Release::To { status, deadline, wake_on: 0 });
    }

    /// Leaves a session at rest that wants another run at once.
    fn leave_due(&mut self, outcome: RunOutcome, status: SessionStatus) {
        let deadline = Some(self.cx.run.now);
        self.cx.end.leave(outcome, Release::To { status, deadline, wake_on: 0 });
    }

    /// Handles a session at rest: begins a summary or a turn, carries out a stop, or leaves the session. Returns
    /// false if a reply must come first.
    fn at_rest(&mut self) -> bool {
        let begins = self.cx.mind.what_begins();
        let aborts = self
            .cx
            .mind
            .inbox
            .interrupt
            .as_ref()
            .is_some_and(|interrupt| interrupt.kind == InterruptKind::Abort);
        let stops = self.cx.mind.inbox.interrupt.is_some() && !self.cx.mind.inbox.interrupt_told;
        // A draining run leaves the work to another run.
        if !stops && self.cx.end.draining.is_some() {
            if self.cx.mind.moved {
                self.leave_as_it_was()
            } else {
                self.pass_on()
            }
            return true;
        }
        // A requested summary is made before a turn begins, so that the turn does not drop it.
        if !stops && self.cx.run.agent.is_some() && self.begin_compaction() {
            return true;
        }
        let by_message = begins == Some(TurnRequest::Message) && !aborts && self.cx.run.agent.is_some();
        if by_message && !self.cx.inbox().rewind() {
            return false;
        }
        // The model reads settlements before the messages of the next turn, and they stay if that turn is taken back.
        self.cx.calls().take_settlements();
        if let Some(interrupt) =
            self.cx.mind.inbox.interrupt.clone().filter(|_| !self.cx.mind.inbox.interrupt_told)
        {
            match (interrupt.kind, begins) {
                // The stop came when this turn was about to begin, so it stops this turn.
                (InterruptKind::Soft, Some(request)) => self.begin_turn(request),
                (InterruptKind::Soft, None) => self.come_to_rest(),
                (InterruptKind::Abort, _) => {
                    self.cx.mind.inbox.interrupt_told = true;
                    self.cx.mind.draft.interrupt_confirmed = Some(interrupt.id);
                    self.cx.feed(Input::Interrupted { kind: interrupt.kind, cause: StopCause::Asked });
                }
            }
        } else if self.cx.run.agent.is_none() {
            self.pass_on();
        } else {
            match begins {
                Some(request) => self.begin_turn(request),
                // The look may bring a message in place of a child that is gone.
                None if self.cx.children().look() => return false,
                None => self.come_to_rest(),
            }
        }
        true
    }

    /// Leaves a session in which there is nothing to do, with the status of its last turn. The claim may have found
    /// the session suspended, because a caller asked it to go on, or active, because the previous run died. A
    /// waiting soft stop has nothing to stop and is confirmed.
    fn come_to_rest(&mut self) {
        self.cx.mind.close_old_letters();
        self.cx.inbox().consume_rest();
        self.cx.mind.draft.interrupt_confirmed =
            self.cx.mind.inbox.interrupt.as_ref().map(|waiting| waiting.id.clone());
        let status = self.cx.mind.machine.state.status_at_rest();
        let deadline = self.cx.rests_until();
        self.cx.end.leave(RunOutcome::Released, Release::To { status, deadline, wake_on: 0 });
    }

    /// Gives the claim back, because this run lacks the agent, or leaves the work to another run. The inbox stays
    /// unread, and the session stays due if it was.
    pub(crate) fn pass_on(&mut self) {
        let (mind, now) = (&self.cx.mind, self.cx.run.now);
        let wakes = |item: &StoredItem| match &item.kind {
            ItemKind::Other { .. } if mailbox::is_later(item) => {
                mailbox::not_before(item).is_some_and(|at| at <= now)
            }
            ItemKind::Other { .. } if is_signal(item) => false,
            ItemKind::Message { wake } | ItemKind::Signal { wake } | ItemKind::Other { wake, .. } => {
                *wake != Wake::Quiet
            }
            ItemKind::Answer { .. } => mind.unawaited.is_answered_by(item),
        };
        let alarm = match &self.cx.mind.machine.state {
            AgentState::Idle | AgentState::Done { .. } => {
                let moved = self.cx.run.found.status == SessionStatus::Suspended;
                let due = moved || self.cx.mind.inbox.items.iter().any(wakes);
                if due { Some(self.cx.run.now) } else { self.cx.rests_until() }
            }
            // The code is to be told that it stops.
            AgentState::Confirming { batch } | AgentState::Dispatching { batch }
                if batch.open && self.cx.mind.machine.turn.winds_down() =>
            {
                Some(self.cx.run.now)
            }
            AgentState::Confirming { batch } | AgentState::Dispatching { batch } => {
                let rings = self.cx.rings_at(batch.wakes_at());
                let rings = rings.into_iter().chain(self.cx.next_later()).min();
                self.cx.children().alarm(rings)
            }
            AgentState::BackingOff { until, .. } => {
                self.cx.rings_at(Some(*until)).into_iter().chain(self.cx.next_later()).min()
            }
            AgentState::Provisioning { .. }
            | AgentState::Thinking { .. }
            | AgentState::Streaming { .. }
            | AgentState::Executing { .. }
            | AgentState::Steering { .. }
            | AgentState::Compacting { .. }
            | AgentState::TearingDown { .. } => Some(self.cx.run.now),
        };
        // A session that was taken over and is given back stays due. The store sees to that after the death of a run.
        let alarm = match (self.cx.run.found.status, self.cx.run.found.midway) {
            (SessionStatus::Active, _) => None,
            (_, true) => Some(self.cx.run.now),
            (_, false) => alarm,
        };
        self.cx.end.leave(RunOutcome::Released, Release::GiveBack { alarm });
    }

    /// Begins a summary if one was requested and there is something to summarise. All other items wait until it is
    /// done.
    fn begin_compaction(&mut self) -> bool {
        if !self.cx.mind.is_asked(&[SignalBody::Compact]) {
            return false;
        }
        self.note_kind(RunKind::Compact);
        self.cx.mind.take_words(&[SignalBody::Compact]);
        if !self.cx.feed(Input::CompactionRequested) {
            return false;
        }
        self.cx.mind.draft.decided = true;
        true
    }

    fn begin_turn(&mut self, request: TurnRequest) {
        let stopped = self.cx.mind.inbox.interrupt.is_some();
        let asks_in_doubt = self.cx.run.agent.as_ref().is_some_and(|agent| agent.in_doubt == OnDoubt::Ask);
        let provisions = !stopped && self.cx.run.agent.as_ref().is_some_and(|agent| agent.has_surroundings());
        self.note_request(request);
        let after = self.cx.mind.transcript.last;
        self.cx.mind.close_letters();
        let said = request == TurnRequest::Message && self.cx.inbox().user_begins();
        let stands = self.cx.mind.machine.procedure.as_ref();
        let agent = self.cx.run.agent.clone();
        let procedure = agent.as_ref().map(|agent| procedure::at_begin(agent, stands, said));
        let procedure = Box::new(procedure.unwrap_or_default());
        let moves = procedure.moves.clone();
        let planned = self.cx.run.is_planned();
        self.cx.feed(Input::TurnRequested { request, provisions, after, asks_in_doubt, procedure, planned });
        self.cx.inbox().take_first();
        if !moves.is_empty() {
            self.cx.append(Message::Notice(procedure::notice(agent.as_deref(), &moves, None)));
        }
        self.cx.inbox().consume_rest();
        self.cx.mind.draft.decided = true;
        if self.cx.is_off_procedure() {
            let error = self.cx.procedure_error("the agent's procedure has no such state");
            self.cx.feed(Input::Failed { error });
        }
        self.fail_if_doomed();
    }

    /// Ends the turn with the error if its run cannot go on.
    pub(crate) fn fail_if_doomed(&mut self) {
        let Some(Doom { error, died }) = self.cx.run.doom.clone() else { return };
        // The outcome of a turn in teardown is fixed.
        if matches!(self.cx.mind.machine.state, AgentState::TearingDown { .. }) {
            return;
        }
        self.cx.give_up(error.clone());
        if died > 0 {
            self.cx.leave_letter(LetterCause::Poisoned, error, died);
        }
    }
}

impl Mind {
    /// Returns true if this run has aborted the session.
    fn aborts(&self, ending: &Ending) -> bool {
        ending.status() == SessionStatus::Aborted && self.moved
    }

    /// Returns true if a message waits that begins a turn. Notes do not begin one.
    fn message_waits(&self) -> bool {
        let begins = |item: &StoredItem| mailbox::is_message(item) && !is_note(item);
        self.inbox.items.iter().any(begins)
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

    fn wants_retry(&self) -> bool {
        let resumable = self.machine.state.ended().is_some_and(|ending| match ending.reason {
            DoneReason::Error | DoneReason::UserAbort => true,
            DoneReason::ModelStop
            | DoneReason::MaxTurns
            | DoneReason::BudgetExceeded
            | DoneReason::LoopDetected
            | DoneReason::ToolStop => false,
        });
        (self.is_hurried() || self.retry_is_answered()) && resumable
    }
}
