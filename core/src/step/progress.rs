//! What a run does next, state by state. Each call decides one thing; false means that nothing is left to
//! decide until a reply comes.

use super::{ANSWER_HELD_MS_MAX, Action, ActionId, Found, RunOutcome, StepIterator};
use crate::agent::AtMax;
use crate::error::ErrorInfo;
use crate::event::Event;
use crate::ids::CallId;
use crate::machine::{
    AgentState, CallInput, CallState, DoneReason, Ending, Input, StateKind, SteeringFrom, StopCause,
    classify_suspension, retry, steering,
};
use crate::message::{Message, Notice, UserMessage};
use crate::store::{InterruptKind, OutcomeKind, Release, SessionStatus, Staging, StoredItem};
use crate::time::Timestamp;
use crate::tool::EffectClass;

impl StepIterator {
    pub(super) fn progress(&mut self) -> bool {
        self.drop_early();
        if self.leaving.is_some() {
            return false;
        }
        self.read_news();
        self.settle_inbox();
        let kind = self.mind.machine.state.kind();
        if matches!(kind, StateKind::Idle | StateKind::Done) {
            // A summary that somebody asked for at rest was stopped: what it used is still to be counted.
            return self.stopped_model.is_none() && self.rest();
        }
        if self.take_interrupt() {
            return true;
        }
        if self.hands_over() {
            return self.hand_over();
        }
        if kind == StateKind::TearingDown {
            return self.heed_messages() || self.tear_down();
        }
        if self.agent.is_none() {
            self.pass_on();
            return true;
        }
        if self.heed_messages() || self.cut_short() || self.send_marked() || self.stop_one() {
            return true;
        }
        match &self.mind.machine.state {
            AgentState::Provisioning { .. } => self.provision(),
            AgentState::Thinking { .. } => self.think(),
            AgentState::Streaming { .. } => self.commit_if_due(),
            AgentState::Executing { .. } => self.execute(),
            AgentState::Confirming { .. } => self.confirm(),
            AgentState::Steering { from } => self.steer(*from),
            AgentState::Compacting { .. } => self.compact(),
            AgentState::BackingOff { until, error, .. } => self.back_off(*until, error.clone()),
            AgentState::Idle | AgentState::Done { .. } | AgentState::TearingDown { .. } => false,
        }
    }

    // News

    fn read_news(&mut self) {
        if self.news_due && self.reading.is_none() {
            self.news_due = false;
            let id = self.read(Vec::new(), self.mind.inbox_seen, true);
            self.reading = Some(id);
        }
    }

    /// Whether it is known that nothing has come that was not read.
    pub(super) fn is_up_to_date(&self) -> bool {
        !self.news_due && self.reading.is_none()
    }

    pub(super) fn on_read(&mut self, id: ActionId, result: Result<Found, ErrorInfo>) {
        if self.reading != Some(id) {
            return;
        }
        self.reading = None;
        match result {
            Ok(found) => {
                self.keep_items(found.items);
                if self.mind.interrupt.is_none() {
                    self.mind.interrupt = found.interrupt;
                }
            }
            Err(error) => self.give_up(error),
        }
    }

    pub(super) fn keep_items(&mut self, items: Vec<StoredItem>) {
        for item in items {
            if item.seq > self.mind.inbox_seen {
                self.mind.inbox_seen = item.seq;
                self.mind.inbox.push(item);
            }
        }
    }

    fn take_interrupt(&mut self) -> bool {
        let Some(interrupt) = self.mind.interrupt.clone().filter(|_| !self.mind.interrupt_told) else {
            return false;
        };
        self.mind.interrupt_told = true;
        let moved = self.feed(Input::Interrupted { kind: interrupt.kind, cause: StopCause::Asked });
        // An abort that comes when the outcome is fixed goes on waiting: the next claim carries it out.
        if moved || interrupt.kind == InterruptKind::Soft {
            self.mind.draft.interrupt_confirmed = Some(interrupt.id);
            self.mind.draft.decided = true;
        }
        moved
    }

    // Provisioning

    // Calls

    fn execute(&mut self) -> bool {
        if self.take_answer() || self.deny_by_message() || self.take_expiry() {
            return true;
        }
        let Some(batch) = self.mind.machine.state.batch() else { return false };
        if batch.stopping.is_some() {
            // What may come back by itself may take long: that it is waited for is durable.
            if batch.calls.iter().any(|call| call.state == CallState::Executing) {
                self.commit_if_due();
            }
            return false;
        }
        let asking = batch.is_asking() && !self.starts_nothing();
        let startable = if self.starts_nothing() { Vec::new() } else { batch.startable() };
        let (free, marked): (Vec<CallId>, Vec<CallId>) = startable.into_iter().partition(|id| {
            batch.call(id).is_some_and(|call| call.effect == EffectClass::ReadOnly && !call.dangerous)
        });
        let only_reads = batch.calls.iter().all(|call| {
            call.state.is_end()
                || (call.effect == EffectClass::ReadOnly && !call.dangerous && !call.state.is_parked())
        });
        if !self.mind.draft.close.is_empty() {
            // Nothing starts before the commit that closes; it waits for the gate's word.
            if !asking {
                self.mark(&marked);
                self.hold_for_commit(marked);
            }
            return false;
        }
        let durable = !self.mind.draft.is_due() && self.writing.is_none();
        if !free.is_empty() && (!self.is_sync() || durable) {
            self.send(&free);
            return true;
        }
        if self.writing.is_some() || asking {
            return false;
        }
        if !marked.is_empty() {
            self.mark(&marked);
            if self.mind.draft.is_due() {
                self.commit(None, marked);
            } else {
                self.stage(marked);
            }
            return false;
        }
        if self.mind.draft.is_due() {
            let held_until = self.mind.answered_at.map(|at| at.as_ms().saturating_add(ANSWER_HELD_MS_MAX));
            let may_wait = only_reads && held_until.is_some_and(|until| self.now.as_ms() < until);
            if !may_wait || self.is_sync() {
                self.commit(None, Vec::new());
            }
            return false;
        }
        if self.has_unstaged() {
            self.stage(Vec::new());
        }
        false
    }

    fn mark(&mut self, calls: &[CallId]) {
        for call in calls {
            self.feed(Input::Call { call: call.clone(), input: CallInput::Marked });
        }
    }

    /// Sends calls whose start mark is acknowledged, unless nothing starts any more.
    fn send_marked(&mut self) -> bool {
        if self.to_send.is_empty() || !self.mind.draft.close.is_empty() {
            return false;
        }
        let calls = std::mem::take(&mut self.to_send);
        if self.starts_nothing() {
            self.take_marks_back(&calls);
        } else {
            self.send(&calls);
        }
        true
    }

    /// Whether a result is worth a write of its own while its siblings are out: reads are run again.
    fn has_unstaged(&self) -> bool {
        let Some(batch) = self.mind.machine.state.batch() else { return false };
        batch.calls.iter().any(|call| {
            call.effect != EffectClass::ReadOnly
                && self.mind.ended.get(&call.id).is_some_and(|ended| !ended.staged)
        })
    }

    /// All results that are not staged yet, in call order, with the marks of the calls that start next.
    pub(super) fn staging(&self, starts: Vec<CallId>) -> Staging {
        let results = self.unstaged();
        Staging { results, starts }
    }

    fn confirm(&mut self) -> bool {
        if self.take_answer() || self.deny_by_message() || self.take_expiry() {
            return true;
        }
        if !self.is_up_to_date() {
            return false;
        }
        let Some(batch) = self.mind.machine.state.batch() else { return false };
        let Some(suspension) = classify_suspension(batch, self.now) else { return false };
        if self.is_owed_by_nobody(&suspension) {
            self.end_going_nowhere();
            return true;
        }
        let short = suspension.kind == OutcomeKind::SuspendedUntil;
        if let Some(until) = suspension.until.filter(|until| short && self.is_short(*until)) {
            return self.sleep(until);
        }
        let deadline = suspension.until;
        let (kind, owed) = (suspension.kind, suspension.owed.clone());
        self.emit(Event::Suspended { kind, until: deadline, owed });
        self.park(RunOutcome::Suspended(suspension), deadline);
        true
    }

    // Steering

    fn steer(&mut self, from: SteeringFrom) -> bool {
        if !self.is_up_to_date() {
            return false;
        }
        let Some(agent) = self.agent.clone() else { return false };
        let Some((hooked, corrections)) = self.hear_of_step(from) else { return false };
        let corrections = match &hooked {
            None => self.corrections_that_count(corrections),
            Some(_) => Vec::new(),
        };
        let messages_wait = self.messages_steer();
        let view = steering::View {
            from,
            turn: &self.mind.machine.turn,
            usage: &self.mind.machine.usage,
            agent: &agent,
            now: self.now,
            messages_wait,
            corrected: !corrections.is_empty(),
            tools_done: &self.mind.tools_done,
            text: &self.mind.said,
        };
        let stop = hooked.as_ref().map(|hooked| hooked.ending.clone()).or_else(|| steering::decide(&view));
        let asks = hooked.is_none() && agent.at_max == AtMax::Ask && is_max(&stop);
        let stop = stop.filter(|_| !asks);
        // Of an answer that gave none it is said when more steps are granted.
        let now = !asks || matches!(from, SteeringFrom::Calls { .. });
        let no_output = stop.is_none() && now && steering::gives_no_output(&view);
        if let Some(hooked) = hooked {
            self.append(Message::Notice(Notice::new(hooked.notice)));
        }
        match &stop {
            // They count from the next step on, if there is one.
            None if asks => self.correct(&corrections),
            None => {
                self.take_steering();
                self.correct(&corrections);
                // A value that does not fit was answered by its result.
                if let Some(output) = agent.output.as_ref().filter(|_| no_output)
                    && !matches!(from, SteeringFrom::Calls { .. })
                {
                    self.append(Message::User(UserMessage::by_engine(output.reminder())));
                }
            }
            Some(ending) if ending.reason == DoneReason::MaxTurns => self.tell_of_max(),
            Some(_) => {}
        }
        self.consume_rest();
        self.mind.draft.decided = true;
        // Where none is ever cleared, none is remembered.
        let results = self.mind.promoted.take().filter(|_| agent.compaction.clears_results());
        let (cleared, usage) = self.clear_results(&agent.compaction, results, stop.is_some());
        let tokens = std::mem::take(&mut self.mind.grown);
        let asks = match asks {
            true => match self.ask_for_more(agent.limits.max_steps) {
                Some(asked) => Some(Box::new(asked)),
                // The run gives up.
                None => return true,
            },
            false => None,
        };
        let corrected = stop.is_none() && !corrections.is_empty();
        self.feed(Input::Steered { stop, no_output, tokens, results, cleared, usage, corrected, asks })
    }

    // Waiting

    fn back_off(&mut self, until: Timestamp, error: ErrorInfo) -> bool {
        if until <= self.now || self.is_hurried() {
            self.take_hurries();
            self.mind.draft.decided = true;
            return self.feed(Input::TimerRang);
        }
        if !self.is_up_to_date() {
            return false;
        }
        if self.is_short(until) {
            return self.sleep(until);
        }
        self.park(RunOutcome::BackingOff { until, error }, Some(until));
        true
    }

    fn is_short(&self, until: Timestamp) -> bool {
        !self.starts_nothing() && self.now.until(until) <= retry::SLEEP_MAX
    }

    fn sleep(&mut self, until: Timestamp) -> bool {
        self.commit_if_due();
        if self.sleeping.is_none() {
            let id = self.next_id();
            self.sleeping = Some(id);
            self.actions.push_back(Action::Sleep { id, until });
        }
        false
    }

    pub(super) fn park(&mut self, outcome: RunOutcome, deadline: Option<Timestamp>) {
        self.feed(Input::Parked);
        let release = Release::To { status: SessionStatus::Suspended, deadline, wake_on: 0 };
        self.leave_for(outcome, release);
    }

    pub(super) fn leave_for(&mut self, outcome: RunOutcome, release: Release) {
        self.leaving = Some(outcome);
        self.want_commit(Some(release));
    }

    /// Commits the draft if it holds anything that is due and nothing is being written. A draft that
    /// closes a pending call is awaited.
    pub(super) fn commit_if_due(&mut self) -> bool {
        if !self.mind.draft.is_due() {
            return false;
        }
        if !self.mind.draft.close.is_empty() {
            self.hold_for_commit(Vec::new());
            return true;
        }
        if self.writing.is_some() {
            return false;
        }
        self.commit(None, Vec::new());
        true
    }
}

fn is_max(stop: &Option<Ending>) -> bool {
    stop.as_ref().is_some_and(|ending| ending.reason == DoneReason::MaxTurns)
}
