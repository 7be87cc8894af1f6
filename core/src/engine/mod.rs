//! The engine of a run. It makes all decisions, and leaves all effects to a runtime.
//!
//! [`StepIterator`] is a sans-I/O object: a runtime asks it for the next [`Action`], performs the action, and
//! reports the result with a [`Reply`]. The core decides *when* something must be durable and *what*, so every
//! runtime gives the same guarantees. A test can stop after any action and start again from the store.
//!
//! The engine follows three rules:
//! - **One write at a time.** A session has at most one commit or staging in flight. Later decisions are drafted,
//!   and are written with the next commit.
//! - **Held commits.** The engine waits for a commit that closes a pending call, releases the session, or ends a
//!   turn. Nothing starts before it is acknowledged, and replies that arrive meanwhile wait in a queue.
//! - **Restored state.** The store may refuse such a commit, because the inbox holds an answer that the run has not
//!   read ([`AnswerWaiting`](crate::store::CommitOutcome::AnswerWaiting)). Then the run returns to the state before
//!   its decision, reads the inbox, and decides again.

use std::collections::VecDeque;

use crate::engine::context::Context;
use crate::engine::writes::{Writes, Writing};
use crate::machine::{AgentState, Facts, Machine};
use crate::time::Timestamp;
use crate::words::hook::Moved;
use crate::words::ids::{Fence, SessionKey};

mod action;
mod calls;
mod children;
pub mod compaction;
mod context;
pub mod fork;
mod gate;
mod inbox;
mod mind;
mod model;
mod plan;
mod progress;
mod reply;
mod start;
mod steering;
mod stuck;
mod turn;
mod writes;

pub use crate::machine::format::{
    STATE_FORMAT, STATE_FORMAT_ALONE, STATE_FORMAT_ASKING, STATE_FORMAT_LATER, STATE_FORMAT_LED,
    STATE_FORMAT_LINKED,
};
pub use crate::words::run::{RunDetail, RunKind, RunOutcome};
pub use action::{Action, ActionId, CallOut, ModelCall, Outcome, Shown};
pub use calls::doubts::DOUBTS_OPEN_MAX;
pub use reply::{Correction, Found, HookStop, Reply, Ruling, Shortened, ShortenedInVain, Summarised};
pub use start::aside::set_aside;
pub use turn::draining::Drain;

/// The number of runs in a row that may die without a commit. After that, the turn fails with `engine.poisoned`.
pub const ATTEMPTS_MAX: u32 = 5;

/// The longest time for which an answer is held back if its calls are all read-only, in milliseconds. It is
/// committed with their results, or by itself after this time.
pub(crate) const ANSWER_HELD_MS_MAX: i64 = 1_000;

/// The largest output of a deferred result, in bytes. It is limited because it is kept in the state.
pub const DEFERRED_OUTPUT_BYTES_MAX: usize = 8 * 1024;

/// The error of a run that cannot begin, because this version cannot use a stored record or its own table of moves.
/// Nothing was changed. A session that this version cannot read can be [set aside](set_aside).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("session {key}: {what}: {detail}")]
pub struct StartError {
    /// The session.
    pub key: SessionKey,
    /// The faulty part.
    pub what: &'static str,
    /// The details, such as the expected and the found value.
    pub detail: String,
}

/// One run of a session, from claim to exit.
#[derive(Debug)]
pub struct StepIterator {
    cx: Context,
    writes: Writes,
    /// Replies that came while a held commit was on its way.
    replies: VecDeque<Reply>,
}

impl StepIterator {
    /// Returns the next action. Returns [`Action::Await`] if there is nothing to start, and [`Action::Exit`] once
    /// the run is over.
    pub fn next_action(&mut self) -> Action {
        if let Some(outcome) = &self.cx.end.exit {
            return Action::Exit(outcome.clone());
        }
        match self.cx.output.actions.pop_front() {
            Some(action) => action,
            None => Action::Await { until: self.awaits_until() },
        }
    }

    /// Takes the result of an action, or news. A reply that is no longer expected changes nothing.
    pub fn apply(&mut self, reply: Reply, facts: Facts) {
        self.cx.run.now = self.cx.run.now.max(facts.now);
        if self.cx.end.exit.is_some() {
            return;
        }
        match reply {
            Reply::LeaseLost => self.cx.end.exit = Some(RunOutcome::Lost),
            Reply::Drain(drain) => self.cx.drain(drain),
            Reply::Committed { id, outcome } => self.on_committed(id, outcome),
            Reply::Staged { id, outcome } => self.on_staged(id, outcome),
            other @ (Reply::Read { .. }
            | Reply::Provisioned { .. }
            | Reply::ModelAnswered { .. }
            | Reply::ModelStopped { .. }
            | Reply::Planned { .. }
            | Reply::Summarised { .. }
            | Reply::Shortened { .. }
            | Reply::Consulted { .. }
            | Reply::CallWritten { .. }
            | Reply::Foreseen { .. }
            | Reply::HooksRan { .. }
            | Reply::CallEnded { .. }
            | Reply::CallUnsent { .. }
            | Reply::ChildrenStarted { .. }
            | Reply::ChildrenStopped { .. }
            | Reply::ChildrenFound { .. }
            | Reply::OthersTold { .. }
            | Reply::NotHandedOver { .. }
            | Reply::Slept { .. }
            | Reply::TornDown { .. }
            | Reply::News(_)
            | Reply::TimePassed) => self.replies.push_back(other),
        }
        self.go_on();
        self.cx.calls().drop_early();
    }

    /// Returns the machine as decided so far. The store may not have acknowledged all of it.
    pub fn machine(&self) -> &Machine {
        &self.cx.mind.machine
    }

    /// Returns the fence of the run.
    pub fn fence(&self) -> &Fence {
        &self.cx.run.fence
    }

    /// Takes the queued replies in order, unless a held commit is on its way.
    fn go_on(&mut self) {
        self.crank(None);
        while self.cx.end.exit.is_none() && !self.is_held() {
            match self.replies.pop_front() {
                Some(reply) => self.crank(Some(reply)),
                None if self.is_going_nowhere() => {
                    self.end_going_nowhere();
                    self.crank(None);
                }
                None => return,
            }
        }
        // While the inbox is being read, only the answer to that read is taken.
        if let Some(awaited) = self.cx.out.news.awaited()
            && self.cx.end.exit.is_none()
        {
            let read = |reply: &Reply| matches!(reply, Reply::Read { id, .. } if *id == awaited);
            if let Some(reply) = self.replies.iter().position(read).and_then(|at| self.replies.remove(at)) {
                self.on_loaded(reply);
                self.go_on();
            }
        }
    }

    /// Takes one reply, then makes every decision that follows from it.
    fn crank(&mut self, reply: Option<Reply>) {
        if self.is_held() || self.cx.end.exit.is_some() {
            return;
        }
        if let Some(Reply::Planned { .. }) = &reply
            && !self.cx.mind.draft.close.is_empty()
        {
            // The code has gone on, so what the store may still refuse is settled first.
            self.replies.extend(reply);
            self.replies.rotate_right(1);
            return self.hold_for_commit(Vec::new());
        }
        if self.writes.before.is_none() && self.somebody_may_answer() {
            self.writes.before = Some((self.cx.mind.clone(), Vec::new()));
        }
        if let Some(reply) = reply {
            if let Some((_, taken)) = &mut self.writes.before {
                taken.push(reply.clone());
            }
            self.take(reply);
            self.settle();
        }
        self.progress_while_it_moves();
        if self.cx.mind.draft.close.is_empty()
            && self.writes.writing.as_ref().is_none_or(|writing| !writing.closes)
        {
            self.writes.before = None;
        }
    }

    fn take(&mut self, reply: Reply) {
        match reply {
            Reply::Read { id, result } => {
                if !self.cx.model().on_window(id, &result) && !self.cx.inbox().on_undone(id, &result) {
                    self.cx.inbox().on_read(id, result);
                }
            }
            Reply::Provisioned { id, result } => self.cx.turn().on_provisioned(id, result),
            Reply::ModelAnswered { id, result } => self.cx.model().on_model(id, result),
            Reply::Planned { id, result } => self.cx.plan().on_planned(id, result),
            Reply::ModelStopped { of, said, used } => self.cx.model().on_model_stopped(of, said, used),
            Reply::Summarised { id, result, shorter } => {
                self.cx.compaction().on_summarised(id, result, shorter)
            }
            Reply::Shortened { id, made, in_vain } => self.cx.compaction().on_shortened(id, made, &in_vain),
            Reply::Consulted { id, rulings } => self.cx.gate().on_rulings(id, rulings),
            Reply::CallWritten { of, index, tool, arguments } => {
                self.cx.calls().on_call_written(of, index, tool, arguments);
            }
            Reply::Foreseen { id, profile } => self.cx.calls().on_foreseen(id, profile),
            Reply::HooksRan { id, stop, corrections } => self.cx.mind.on_hooks_ran(id, stop, corrections),
            Reply::CallEnded { call, result, duration_ms } => {
                self.cx.calls().on_call_ended(&call, result, duration_ms)
            }
            Reply::CallUnsent { call } => self.cx.calls().on_call_unsent(call),
            Reply::ChildrenStarted { id } => self.cx.children().on_started(id),
            Reply::ChildrenStopped { id } => self.cx.children().on_stopped(id),
            Reply::ChildrenFound { id, successors_rest } => {
                self.cx.children().on_found(id, successors_rest);
            }
            Reply::OthersTold { id } => self.cx.children().on_told(id),
            Reply::NotHandedOver { id, error } => self.cx.children().on_not_handed_over(id, error),
            Reply::Slept { id } => {
                self.cx.out.sleep.take_if(|sleep| *sleep == id);
            }
            Reply::TornDown { id, result } => self.cx.turn().on_torn_down(id, result),
            Reply::News(receipt) => self.cx.hear(&receipt),
            Reply::TimePassed => {}
            // These replies are handled in `apply`.
            Reply::Committed { .. } | Reply::Staged { .. } | Reply::LeaseLost | Reply::Drain(_) => {}
        }
    }

    /// Handles the consequences of a decision: an error of a part that cannot be stored, an irrevocable effect, or
    /// the end of the run.
    fn settle(&mut self) {
        if let Some(error) = self.cx.mind.draft.fault.take() {
            self.cx.give_up(error);
        }
        if std::mem::take(&mut self.cx.output.irrevocable) {
            self.keep_before();
        }
        if let Some(release) = self.cx.end.release.take() {
            let release = self.cx.children().left_due(release);
            self.want_commit(Some(release));
        }
    }

    /// Saves the present state, because an irrevocable effect was sent. If the store refuses a later decision, the
    /// run returns to this state.
    fn keep_before(&mut self) {
        if self.cx.mind.draft.close.is_empty() {
            self.writes.before = self.somebody_may_answer().then(|| (self.cx.mind.clone(), Vec::new()));
        }
    }

    /// Returns true if a pending call is open, or will be once the write on its way is applied.
    fn somebody_may_answer(&self) -> bool {
        !self.cx.mind.open.is_empty() || self.writes.writing.as_ref().is_some_and(Writing::opens)
    }

    /// Returns true if everything that was decided is durable.
    fn is_all_durable(&self) -> bool {
        self.writes.writing.is_none() && !self.cx.mind.draft.is_due()
    }

    /// Returns true if decisions must wait: a held commit waits or is on its way, or the inbox must be read first.
    fn is_held(&self) -> bool {
        self.cx.out.news.awaited().is_some() || self.writes.are_held()
    }

    /// Returns the instant at which the run must act without a reply.
    fn wakes_at(&self) -> Option<Timestamp> {
        if self.is_held() {
            return None;
        }
        let batch = self.cx.mind.machine.state.batch().filter(|batch| batch.stopping.is_none());
        let calls = batch.and_then(|batch| batch.wakes_at());
        // An instant matters to a held answer only while calls run. At the gate, the ruling is awaited; parked
        // calls wait for news.
        let calls_run = matches!(self.cx.mind.machine.state, AgentState::Executing { .. })
            && batch.is_some_and(|batch| !batch.is_asking());
        let held_answer = self
            .cx
            .mind
            .step
            .answered_at
            .filter(|_| calls_run && self.writes.writing.is_none())
            .map(|at| Timestamp::from_ms(at.as_ms().saturating_add(ANSWER_HELD_MS_MAX)));
        let backing_off = self.cx.mind.machine.state.backs_off_until();
        let turn_ends = self.cx.cut_at();
        // Instants in the past were handled with the last reply. If one of them is still open, it waits for another
        // reply.
        [calls, held_answer, backing_off, turn_ends]
            .into_iter()
            .flatten()
            .filter(|at| *at > self.cx.run.now)
            .min()
    }

    /// Returns the instant at which the run must act without a reply, or at which a message for later may be taken.
    fn awaits_until(&self) -> Option<Timestamp> {
        let later = self.cx.next_later().filter(|_| !self.is_held());
        self.wakes_at().into_iter().chain(later).min()
    }

    /// Returns the transitions since the last call of this method, in order. They are recorded only if hooks
    /// receive them.
    pub fn take_moves(&mut self) -> Vec<Moved> {
        std::mem::take(&mut self.cx.output.moves)
    }
}
