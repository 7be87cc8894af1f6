//! The main loop of a run. For each state, it chooses the next decision and when to wait for the store. The
//! handlers make the decisions.

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
    /// Makes decisions until none is left to make.
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

    /// Makes one decision. Returns false if no decision is possible until a reply comes.
    fn progress(&mut self) -> bool {
        self.cx.calls().drop_early();
        if self.cx.end.leaving.is_some() {
            return false;
        }
        self.read_news();
        self.cx.mind.ripen(self.cx.run.now);
        self.cx.mind.settle_inbox();
        self.cx.mind.take_up_aside();
        if let Some(moves) = self.begin_from_outside() {
            return moves;
        }
        let kind = self.cx.mind.machine.state.kind();
        if matches!(kind, StateKind::Idle | StateKind::Done) {
            // A summary that was requested at rest was stopped. Its usage must still be counted.
            let waits = self.cx.out.model.is_stopped() || self.cx.children().are_attended_to();
            return !waits && self.cx.turn().at_rest_or_leave();
        }
        // The state of a procedure outlasts the turn, so an input that was accepted counts although the turn is stopped.
        let waits = self.cx.mind.machine.state.batch().is_some_and(|batch| batch.for_procedure);
        if waits && self.cx.run.agent.is_some() && self.cx.calls().take_answer() {
            return true;
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
            AgentState::Thinking { .. } if self.cx.run.is_planned() => self.ask_code(),
            AgentState::Thinking { .. } => self.think(),
            AgentState::Streaming { .. } => self.commit_if_due(),
            AgentState::Executing { .. } => self.execute(),
            AgentState::Confirming { .. } | AgentState::Dispatching { .. } => self.confirm(),
            AgentState::Steering { from } => self.steer(*from),
            AgentState::Compacting { .. } => self.compact(),
            AgentState::BackingOff { until, error, .. } => self.back_off(*until, error.clone()),
            AgentState::Idle | AgentState::Done { .. } | AgentState::TearingDown { .. } => false,
        }
    }

    /// Begins a background child that a request from outside asks for. Returns `None` if there is no request. The
    /// request stays in the inbox until the child exists, so if the run dies, the next run handles it.
    fn begin_from_outside(&mut self) -> Option<bool> {
        if self.cx.out.outside.begun.is_some() {
            return Some(false);
        }
        let request = self.cx.children().asked_outside()?;
        // First commit that the request was seen. The store refuses this commit if another run has the session.
        if self.cx.out.outside.noted.insert(request.seq()) {
            self.cx.mind.draft.decided = true;
        }
        if !self.is_all_durable() {
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
        if let Some(moves) = self.take_what_came() {
            return moves;
        }
        let Some(batch) = self.cx.mind.machine.state.batch() else { return false };
        if batch.stopping.is_some() {
            // The calls that may return by themselves may take long, so the decision to wait for them is made
            // durable.
            let takes_long =
                |call: &Call| call.state == CallState::Executing || call.state.children().is_some();
            if batch.calls.iter().any(takes_long) {
                self.commit_if_due();
            }
            // The decision to stop the step must be durable before a child is stopped.
            return self.is_all_durable() && self.cx.children().stop();
        }
        let durable = self.is_all_durable();
        if self.cx.children().start(durable) {
            return true;
        }
        let Some(batch) = self.cx.mind.machine.state.batch() else { return false };
        let asking = batch.is_asking() && !self.cx.end.starts_nothing();
        let startable = if self.cx.end.starts_nothing() { Vec::new() } else { batch.startable() };
        let (free, marked): (Vec<CallId>, Vec<CallId>) = startable.into_iter().partition(|id| {
            batch.call(id).is_some_and(|call| {
                call.effect == EffectClass::ReadOnly && !call.dangerous && call.instead_of.is_empty()
            })
        });
        // That a call fell back becomes durable while the gate is asked, and always before the fallback starts.
        let fell_back = batch.calls.iter().any(|call| {
            !call.instead_of.is_empty() && matches!(call.state, CallState::Queued | CallState::Gating)
        });
        let only_reads = batch.calls.iter().all(|call| {
            call.state.is_end()
                || (call.effect == EffectClass::ReadOnly && !call.dangerous && !call.state.is_parked())
        });
        if !self.cx.mind.draft.close.is_empty() {
            // No call starts before the closing commit is acknowledged, and that commit waits for the rulings of
            // the gate.
            if !asking {
                self.cx.calls().mark(&marked);
                self.hold_for_commit(marked);
            }
            return false;
        }
        let durable = self.is_all_durable();
        if !free.is_empty() && (!self.cx.run.is_sync() || durable) {
            self.cx.calls().send(&free);
            return true;
        }
        if fell_back && asking && self.cx.mind.draft.decided && self.writes.writing.is_none() {
            self.commit(None, Vec::new());
            return false;
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
            let in_time = held_until.is_some_and(|until| self.cx.run.now.as_ms() < until);
            let may_wait = only_reads && in_time && !self.cx.drafts_effect();
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

    /// Takes what has come for the calls, and tells it to code that plans. Returns none if nothing has come, and false if a
    /// reply must come first.
    fn take_what_came(&mut self) -> Option<bool> {
        let durable = self.is_all_durable();
        if let Some(moves) = self.cx.children().take_outcomes(durable) {
            if !moves {
                self.commit_if_due();
            }
            return Some(moves);
        }
        let came = self.cx.calls().take_answer()
            || self.cx.calls().take_signal()
            || self.cx.inbox().deny_by_message()
            || self.cx.calls().take_expiry();
        if came { Some(true) } else { self.plan_first() }
    }

    /// Sends the calls whose start mark is acknowledged. If no call starts any more, takes their marks back.
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

    /// Takes the answers that have come for waiting calls. If there are none, parks the run.
    fn confirm(&mut self) -> bool {
        if let Some(moves) = self.take_what_came() {
            return moves;
        }
        if !self.cx.is_up_to_date() || self.cx.children().are_attended_to() {
            return false;
        }
        if let Some(moves) = self.look() {
            return moves;
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

    // States that first wait for earlier decisions to be on their way to the store

    /// Asks the model, once it can be told of every correction that is known to have come.
    fn think(&mut self) -> bool {
        if !self.cx.is_up_to_date() {
            return false;
        }
        // A turn that ends here takes no correction: it waits for the next one.
        if self.cx.model().end_over_budget() {
            return true;
        }
        self.cx.inbox().take_corrections();
        self.commit_first() && self.cx.model().think()
    }

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
        // The turn must be durable before its surroundings are prepared, so that they will be freed.
        if self.cx.mind.provision_due && !self.commit_if_due() && self.writes.writing.is_none() {
            self.cx.turn().make_ready();
        }
        false
    }

    fn tear_down(&mut self) -> bool {
        if self.cx.out.model.is_stopped() {
            return false;
        }
        // The outcome does not change while others are being notified of it.
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
        // The outcome is durable before anything is freed. Surroundings that are being prepared are freed once they
        // are ready or have failed.
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
        // A run with an open turn checked this at its start.
        if !self.cx.mind.machine.turn.open
            && let Some(doom) = self.cx.run.doom.clone()
        {
            return self.cx.compaction().give_up_summary(doom.error);
        }
        self.commit_first() && self.cx.compaction().ask()
    }

    /// Commits everything that is due. Returns true if the run may go on meanwhile.
    pub(super) fn commit_first(&mut self) -> bool {
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

    /// Commits the draft if a part of it is due and no write is on its way. The run waits for the commit if the
    /// draft closes a pending call.
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
