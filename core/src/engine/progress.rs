//! The main loop of a run. For each state, it decides what to do next and when to wait for the store. The
//! handlers make the decisions within a state.

use crate::engine::action::Action;
use crate::engine::context::Context;
use crate::engine::context::out::{News, SurroundingsOut};
use crate::engine::{ANSWER_HELD_MS_MAX, RunOutcome, StepIterator};
use crate::machine::{AgentState, Call, CallState, SteeringFrom, classify_suspension};
use crate::store::OutcomeKind;
use crate::time::Timestamp;
use crate::words::agent::retries;
use crate::words::error::ErrorInfo;
use crate::words::event::Event;
use crate::words::history::{Input, StateKind};
use crate::words::ids::CallId;
use crate::words::tool::EffectClass;

impl StepIterator {
    /// Makes one decision after another, until nothing is left to decide.
    pub(super) fn progress_while_it_moves(&mut self) {
        while self.cx.end.exit.is_none() && !self.is_held() {
            let before = self.mark_of_progress();
            let moves = self.progress();
            self.settle();
            if !moves {
                return;
            }
            if before == self.mark_of_progress() {
                self.end_going_nowhere();
            }
        }
    }

    /// Makes one decision. False: nothing is left to decide until a reply comes.
    fn progress(&mut self) -> bool {
        self.cx.calls().drop_early();
        if self.cx.end.leaving.is_some() {
            return false;
        }
        self.read_news();
        self.cx.mind.settle_inbox();
        if let Some(moves) = self.begin_from_outside() {
            return moves;
        }
        let kind = self.cx.mind.machine.state.kind();
        if matches!(kind, StateKind::Idle | StateKind::Done) {
            // A summary that somebody asked for at rest was stopped: what it used is still to be counted.
            let waits = self.cx.out.model.is_stopped() || self.cx.children().are_attended_to();
            return !waits && self.cx.turn().at_rest_or_leave();
        }
        if self.cx.inbox().take_interrupt() {
            return true;
        }
        if self.cx.turn().hands_over() {
            return self.cx.turn().hand_over();
        }
        if kind == StateKind::TearingDown {
            return self.cx.inbox().heed_messages() || self.tear_down();
        }
        if self.cx.run.agent.is_none() {
            self.cx.turn().pass_on();
            return true;
        }
        if self.cx.inbox().heed_messages()
            || self.cx.turn().cut_short()
            || self.send_marked()
            || self.cx.calls().stop_one()
        {
            return true;
        }
        match &self.cx.mind.machine.state {
            AgentState::Provisioning { .. } => self.provision(),
            AgentState::Thinking { .. } => self.commit_first() && self.cx.model().think(),
            AgentState::Streaming { .. } => self.commit_if_due(),
            AgentState::Executing { .. } => self.execute(),
            AgentState::Confirming { .. } | AgentState::Dispatching { .. } => self.confirm(),
            AgentState::Steering { from } => self.steer(*from),
            AgentState::Compacting { .. } => self.compact(),
            AgentState::BackingOff { until, error, .. } => self.back_off(*until, error.clone()),
            AgentState::Idle | AgentState::Done { .. } | AgentState::TearingDown { .. } => false,
        }
    }

    /// Begins a background child that somebody outside asked for. None: there is none. The request stays in the inbox
    /// until the child exists, so a run that dies leaves it to the next.
    fn begin_from_outside(&mut self) -> Option<bool> {
        if self.cx.out.outside.begun.is_some() {
            return Some(false);
        }
        let request = self.cx.children().asked_outside()?;
        // A commit that has seen the request is refused if another run has the session.
        if self.cx.out.outside.noted.insert(request.seq()) {
            self.cx.mind.draft.decided = true;
        }
        if self.writes.writing.is_some() || self.cx.mind.draft.is_due() {
            self.commit_if_due();
            return Some(false);
        }
        self.cx.children().begin_outside(request);
        Some(true)
    }

    // News

    fn read_news(&mut self) {
        if self.cx.out.news == News::Due {
            let id = self.cx.read(Vec::new(), self.cx.mind.inbox.seen, true);
            self.cx.out.news.read_by(id, false);
        }
    }

    // Calls

    /// Starts calls, stages results and commits, in the order that durability requires.
    fn execute(&mut self) -> bool {
        if self.cx.children().take_outcomes()
            || self.cx.calls().take_answer()
            || self.cx.inbox().deny_by_message()
            || self.cx.calls().take_expiry()
        {
            return true;
        }
        let Some(batch) = self.cx.mind.machine.state.batch() else { return false };
        if batch.stopping.is_some() {
            // What may come back by itself may take long: that it is waited for is durable.
            let takes_long =
                |call: &Call| call.state == CallState::Executing || call.state.children().is_some();
            if batch.calls.iter().any(takes_long) {
                self.commit_if_due();
            }
            // That the step is being stopped is durable before a child is.
            let durable = self.writes.writing.is_none() && !self.cx.mind.draft.is_due();
            return durable && self.cx.children().stop();
        }
        let durable = self.writes.writing.is_none() && !self.cx.mind.draft.is_due();
        if self.cx.children().start(durable) {
            return true;
        }
        let Some(batch) = self.cx.mind.machine.state.batch() else { return false };
        let asking = batch.is_asking() && !self.cx.end.starts_nothing();
        let startable = if self.cx.end.starts_nothing() { Vec::new() } else { batch.startable() };
        let (free, marked): (Vec<CallId>, Vec<CallId>) = startable.into_iter().partition(|id| {
            batch.call(id).is_some_and(|call| call.effect == EffectClass::ReadOnly && !call.dangerous)
        });
        let only_reads = batch.calls.iter().all(|call| {
            call.state.is_end()
                || (call.effect == EffectClass::ReadOnly && !call.dangerous && !call.state.is_parked())
        });
        if !self.cx.mind.draft.close.is_empty() {
            // Nothing starts before the commit that closes; it waits for the gate's word.
            if !asking {
                self.cx.calls().mark(&marked);
                self.hold_for_commit(marked);
            }
            return false;
        }
        let durable = !self.cx.mind.draft.is_due() && self.writes.writing.is_none();
        if !free.is_empty() && (!self.cx.run.is_sync() || durable) {
            self.cx.calls().send(&free);
            return true;
        }
        if self.writes.writing.is_some() || asking {
            return false;
        }
        if !marked.is_empty() {
            self.cx.calls().mark(&marked);
            if self.cx.mind.draft.is_due() {
                self.commit(None, marked);
            } else {
                self.stage(marked);
            }
            return false;
        }
        if self.cx.mind.draft.is_due() {
            let held_until =
                self.cx.mind.step.answered_at.map(|at| at.as_ms().saturating_add(ANSWER_HELD_MS_MAX));
            let may_wait = only_reads && held_until.is_some_and(|until| self.cx.run.now.as_ms() < until);
            if !may_wait || self.cx.run.is_sync() {
                self.commit(None, Vec::new());
            }
            return false;
        }
        if self.cx.mind.has_unstaged() {
            self.stage(Vec::new());
        }
        false
    }

    /// Sends calls whose start mark is acknowledged, unless nothing starts any more.
    fn send_marked(&mut self) -> bool {
        if self.cx.out.to_send.is_empty() || !self.cx.mind.draft.close.is_empty() {
            return false;
        }
        let calls = std::mem::take(&mut self.cx.out.to_send);
        if self.cx.end.starts_nothing() {
            self.cx.calls().take_marks_back(&calls);
        } else {
            self.cx.calls().send(&calls);
        }
        true
    }

    /// Takes the answers that have come for waiting calls; else the run parks.
    fn confirm(&mut self) -> bool {
        if self.cx.children().take_outcomes()
            || self.cx.calls().take_answer()
            || self.cx.inbox().deny_by_message()
            || self.cx.calls().take_expiry()
        {
            return true;
        }
        if !self.cx.is_up_to_date() || self.cx.children().are_attended_to() {
            return false;
        }
        if self.cx.children().look() {
            return true;
        }
        let Some(batch) = self.cx.mind.machine.state.batch() else { return false };
        let Some(suspension) = classify_suspension(batch, self.cx.run.now) else { return false };
        if self.is_owed_by_nobody(&suspension) {
            self.end_going_nowhere();
            return true;
        }
        let short = suspension.kind == OutcomeKind::SuspendedUntil;
        if let Some(until) = suspension.until.filter(|until| short && self.cx.is_short(*until)) {
            return self.sleep(until);
        }
        let deadline = self.cx.rings_at(suspension.until);
        let alarm = self.cx.children().alarm(deadline);
        let (kind, owed) = (suspension.kind, suspension.owed.clone());
        self.cx.mind.emit(Event::Suspended { kind, until: deadline, owed });
        self.cx.turn().park(RunOutcome::Suspended(suspension), alarm);
        true
    }

    // States that wait until what was decided before is on its way

    fn steer(&mut self, from: SteeringFrom) -> bool {
        if !self.cx.is_up_to_date() || (self.cx.steering().waits_for_hooks(from) && !self.commit_first()) {
            return false;
        }
        self.cx.steering().steer(from)
    }

    fn provision(&mut self) -> bool {
        if self.cx.out.surroundings != SurroundingsOut::Still {
            return false;
        }
        if !self.cx.mind.machine.turn.provisioned {
            return self.cx.feed(Input::Provisioned);
        }
        // What is made ready must be known to be freed: the turn is durable first.
        if self.cx.mind.provision_due && !self.commit_if_due() && self.writes.writing.is_none() {
            self.cx.turn().make_ready();
        }
        false
    }

    fn tear_down(&mut self) -> bool {
        if self.cx.out.model.is_stopped() {
            return false;
        }
        // What others are told is fixed until they are told.
        if self.cx.out.others.is_some() {
            return false;
        }
        if self.cx.children().take_unread() {
            return true;
        }
        let AgentState::TearingDown { left, .. } = &self.cx.mind.machine.state else { return false };
        if left.is_empty() {
            return self.cx.feed(Input::TornDown);
        }
        let is_out = matches!(self.cx.out.surroundings, SurroundingsOut::Freeing(_));
        if is_out || !self.cx.mind.teardown_due {
            return false;
        }
        let told = left.is_told();
        // The outcome is fixed before anything is freed. What is being made ready is freed once it is there, or is known not
        // to be.
        if self.cx.mind.draft.is_due() {
            self.hold_for_commit(Vec::new());
        } else if self.writes.writing.is_none() && !told {
            self.cx.children().tell();
        } else if self.writes.writing.is_none() && self.cx.out.surroundings == SurroundingsOut::Still {
            return self.cx.turn().free();
        }
        false
    }

    fn compact(&mut self) -> bool {
        // Of a turn that is open this was asked when the run began.
        if !self.cx.mind.machine.turn.open
            && let Some(error) = self.cx.run.doom.clone()
        {
            return self.cx.compaction().give_up_summary(error);
        }
        self.commit_first() && self.cx.compaction().ask()
    }

    /// Makes sure that everything due is on its way. Returns whether the run may go on meanwhile.
    fn commit_first(&mut self) -> bool {
        self.commit_if_due();
        !(self.is_held() || self.cx.run.is_sync() && self.writes.writing.is_some())
    }

    // Waiting

    fn back_off(&mut self, until: Timestamp, error: ErrorInfo) -> bool {
        if until <= self.cx.run.now || self.cx.mind.is_hurried() {
            self.cx.mind.take_hurries();
            self.cx.mind.draft.decided = true;
            return self.cx.feed(Input::TimerRang);
        }
        if !self.cx.is_up_to_date() {
            return false;
        }
        if self.cx.is_short(until) {
            return self.sleep(until);
        }
        let rings = self.cx.rings_at(Some(until));
        self.cx.turn().park(RunOutcome::BackingOff { until, error }, rings);
        true
    }

    fn sleep(&mut self, until: Timestamp) -> bool {
        self.commit_if_due();
        if self.cx.out.sleep.is_none() {
            let id = self.cx.output.next_id();
            self.cx.out.sleep = Some(id);
            self.cx.output.push(Action::Sleep { id, until });
        }
        false
    }

    /// Commits the draft if it holds anything that is due and nothing is being written. The commit of a draft
    /// that closes a pending call is awaited.
    pub(super) fn commit_if_due(&mut self) -> bool {
        if !self.cx.mind.draft.is_due() {
            return false;
        }
        if !self.cx.mind.draft.close.is_empty() {
            self.hold_for_commit(Vec::new());
            return true;
        }
        if self.writes.writing.is_some() {
            return false;
        }
        self.commit(None, Vec::new());
        true
    }
}

impl Context {
    fn is_short(&self, until: Timestamp) -> bool {
        !self.end.starts_nothing() && self.run.now.until(until) <= retries::SLEEP_MAX
    }
}
