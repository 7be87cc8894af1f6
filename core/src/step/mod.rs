//! The engine without its engine room.
//!
//! [`StepIterator`] is a sans-I/O object: a runtime asks it for the next [`Action`], performs it, and
//! tells it with a [`Reply`] what became of it. The core decides *when* something must be durable and
//! *what*, so every runtime has the same guarantees, and a test can stop after the k-th action and start
//! again from the store.
//!
//! Three rules shape it:
//! - **One write at a time.** A session has at most one commit or staging in flight; what is decided
//!   meanwhile is drafted and travels with the next.
//! - **Held commits.** A commit that closes a pending call, releases, or ends a turn is awaited: nothing
//!   starts while it is on its way, and replies that come meanwhile wait their turn.
//! - **The state before.** When the store answers that somebody's answer was not read
//!   ([`AnswerWaiting`](crate::store::CommitOutcome::AnswerWaiting)), everything decided since that state
//!   is forgotten, the inbox is read, and it is decided again.

mod action;
mod answers;
mod asking;
mod begin;
mod briefing;
mod broken;
mod calls;
mod compacting;
mod correcting;
mod custom;
mod cutting;
mod decisions;
mod draining;
mod early;
mod gating;
mod hooking;
mod looping;
mod mailbox;
mod mind;
mod more;
mod nowhere;
mod outcome;
mod partial;
mod progress;
mod record;
mod reply;
mod rest;
pub(crate) mod results;
mod shortening;
mod stopping;
mod surroundings;
mod telling;
mod thinking;
mod transcript;
mod used;
mod writes;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

pub use action::{Action, ActionId, CallOut, ModelCall, Shown};
pub use draining::Drain;
pub use outcome::RunOutcome;
pub use record::{RunDetail, RunKind};
pub use reply::{Correction, Found, HookStop, Reply, Ruling, Shortened, ShortenedInVain, Summarised};

use early::Early;
use mind::Mind;
use partial::StoppedModel;
use writes::{Wanted, Writing};

use crate::agent::{AgentSpec, Durability};
use crate::error::ErrorInfo;
use crate::event::Event;
use crate::hook::Moved;
use crate::ids::{CallId, Fence, MessageSeq, SessionKey, StateFormat, Version};
use crate::machine::history::HistoryRow;
use crate::machine::{AgentState, Effect, Facts, Input, Machine, Refused, Usage, transition};
use crate::store::{Receipt, SessionStatus};
use crate::time::Timestamp;

/// The format of the state bytes that this version writes, and the newest it reads.
pub const STATE_FORMAT: StateFormat = StateFormat(1);

/// A session is ended as poisoned when its run has died this often in a row without any commit.
pub const ATTEMPTS_MAX: u32 = 5;

/// A model's answer whose calls are all read-only is committed with their results, or on its own after
/// this long, in milliseconds.
pub const ANSWER_HELD_MS_MAX: i64 = 1_000;

/// The largest output that a call may leave to be given later, in bytes: it is kept in the state.
pub const DEFERRED_OUTPUT_BYTES_MAX: usize = 8 * 1024;

/// A stored record that disagrees with the code. The run stops; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("session {key}: {what}: {detail}")]
pub struct StartError {
    /// Which session.
    pub key: SessionKey,
    /// Which part of it.
    pub what: &'static str,
    /// Expected and found.
    pub detail: String,
}

/// One run of a session, from claim to exit.
#[derive(Debug)]
pub struct StepIterator {
    agent: Option<Arc<AgentSpec>>,
    fence: Fence,
    found: SessionStatus,
    /// What the run was begun for.
    kind: RunKind,
    attempts: u32,
    now: Timestamp,
    version: Version,
    usage_before: Usage,

    /// What is decided, and what of it the store has acknowledged.
    mind: Mind,
    durable: Mind,
    /// The state before pending calls were closed by what is drafted, and the replies taken since.
    before: Option<(Mind, Vec<Reply>)>,
    /// What the model may see of the transcript as the claim found it.
    claimed_messages: MessageSeq,

    actions: VecDeque<Action>,
    /// The calls that were sent or told to stop, and have not come back.
    out: BTreeSet<CallId>,
    /// The reads that have not been answered.
    reads: BTreeSet<ActionId>,
    last_id: u64,
    writing: Option<Writing>,
    wanted: Option<Wanted>,
    /// Replies that came while a held commit was on its way.
    held_back: VecDeque<Reply>,
    /// Calls whose start mark is acknowledged, to be sent.
    to_send: Vec<CallId>,
    /// Whether the machine knows of the claim.
    begun: bool,
    /// Calls whose start mark was staged when the session was claimed.
    claimed_marks: Vec<CallId>,
    /// The read that is out, and whether the run can begin only after it.
    reading: Option<ActionId>,
    loading: bool,
    news_due: bool,
    model_call: Option<ActionId>,
    /// Calls that began while the model was writing.
    early: Early,
    summarising: Option<ActionId>,
    /// The model call that was stopped, while it is waited for what it had said.
    stopped_model: Option<StoppedModel>,
    /// The newest messages of before the claim, for loop detection.
    before_claim: looping::Before,
    /// What is to be taken back before a turn begins.
    undone: mailbox::Undone,
    /// A word for the next model call alone.
    note: Option<String>,
    sleeping: Option<ActionId>,
    provisioning: Option<ActionId>,
    tearing_down: Option<ActionId>,
    operations: u64,
    /// Model calls of this run.
    streams: u32,
    /// How the run ends once its last commit is acknowledged.
    leaving: Option<RunOutcome>,
    exit: Option<RunOutcome>,
    /// Transitions that hooks are to be told of.
    moves: Vec<Moved>,
    /// Set once the run has given up on an error, so that a second one ends it at once.
    given_up: bool,
    /// Why the turn is to end at once, whatever it was about to do.
    failing: Option<ErrorInfo>,
    /// Whether it ends the turn of another run, under the claim of that one.
    stands_in: bool,
    /// How far it goes on, once it was told to leave the session to another run.
    draining: Option<Drain>,
}

impl StepIterator {
    /// What to do next. [`Action::Await`] when there is nothing to start; [`Action::Exit`] for ever once
    /// the run is over.
    pub fn next_action(&mut self) -> Action {
        if let Some(outcome) = &self.exit {
            return Action::Exit(outcome.clone());
        }
        match self.actions.pop_front() {
            Some(action) => action,
            None => Action::Await { until: self.wakes_at() },
        }
    }

    /// Takes what became of an action, or what happened meanwhile. A reply that nothing waits for any more
    /// changes nothing.
    pub fn apply(&mut self, reply: Reply, facts: Facts) {
        self.now = self.now.max(facts.now);
        if self.exit.is_some() {
            return;
        }
        if let Reply::Read { id, .. } = &reply {
            self.reads.remove(id);
        }
        match reply {
            Reply::LeaseLost => self.exit = Some(RunOutcome::Lost),
            Reply::Drain(drain) => self.drain(drain),
            Reply::Committed { id, outcome } => self.on_committed(id, outcome),
            Reply::Staged { id, outcome } => self.on_staged(id, outcome),
            other @ (Reply::Read { .. }
            | Reply::Provisioned { .. }
            | Reply::ModelAnswered { .. }
            | Reply::ModelStopped { .. }
            | Reply::Summarised { .. }
            | Reply::Shortened { .. }
            | Reply::Consulted { .. }
            | Reply::CallWritten { .. }
            | Reply::Foreseen { .. }
            | Reply::HooksRan { .. }
            | Reply::CallEnded { .. }
            | Reply::CallUnsent { .. }
            | Reply::Slept { .. }
            | Reply::TornDown { .. }
            | Reply::News(_)
            | Reply::TimePassed) => self.held_back.push_back(other),
        }
        self.go_on();
        self.drop_early();
    }

    /// The machine as decided so far; the store may not have acknowledged all of it.
    pub fn machine(&self) -> &Machine {
        &self.mind.machine
    }

    /// Which session, which life of it, which run.
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Takes one reply after another, as long as no held commit is on its way.
    fn go_on(&mut self) {
        self.crank(None);
        while self.exit.is_none() && !self.is_held() {
            match self.held_back.pop_front() {
                Some(reply) => self.crank(Some(reply)),
                None if self.is_going_nowhere() => {
                    self.end_going_nowhere();
                    self.crank(None);
                }
                None => return,
            }
        }
        // A read is the one thing that a loading run waits for.
        if self.loading && self.exit.is_none() {
            let awaited = self.reading;
            let read = |reply: &Reply| matches!(reply, Reply::Read { id, .. } if Some(*id) == awaited);
            if let Some(reply) = self.held_back.iter().position(read).and_then(|at| self.held_back.remove(at))
            {
                self.on_loaded(reply);
                self.go_on();
            }
        }
    }

    /// One turn of the crank: a reply is taken, then everything that follows from it is decided.
    fn crank(&mut self, reply: Option<Reply>) {
        if self.is_held() || self.exit.is_some() {
            return;
        }
        if self.before.is_none() && self.somebody_may_answer() {
            self.before = Some((self.mind.clone(), Vec::new()));
        }
        if let Some(reply) = reply {
            if let Some((_, taken)) = &mut self.before {
                taken.push(reply.clone());
            }
            self.take(reply);
        }
        self.progress_while_it_moves();
        if self.mind.draft.close.is_empty() && self.writing.as_ref().is_none_or(|writing| !writing.closes) {
            self.before = None;
        }
    }

    fn take(&mut self, reply: Reply) {
        match reply {
            Reply::Read { id, result } => {
                if !self.on_window(id, &result) && !self.on_undone(id, &result) {
                    self.on_read(id, result);
                }
            }
            Reply::Provisioned { id, result } => self.on_provisioned(id, result),
            Reply::ModelAnswered { id, result } => self.on_model(id, result),
            Reply::ModelStopped { of, said, used } => self.on_model_stopped(of, said, used),
            Reply::Summarised { id, result, shorter } => self.on_summarised(id, result, shorter),
            Reply::Shortened { id, made, in_vain } => self.on_shortened(id, made, &in_vain),
            Reply::Consulted { id, rulings } => self.on_rulings(id, rulings),
            Reply::CallWritten { of, index, tool, arguments } => {
                self.on_call_written(of, index, tool, arguments);
            }
            Reply::Foreseen { id, profile } => self.on_foreseen(id, profile),
            Reply::HooksRan { id, stop, corrections } => self.on_hooks_ran(id, stop, corrections),
            Reply::CallEnded { call, result, duration_ms } => self.on_call_ended(&call, result, duration_ms),
            Reply::CallUnsent { call } => self.on_call_unsent(call),
            Reply::Slept { id } => {
                if self.sleeping == Some(id) {
                    self.sleeping = None;
                }
            }
            Reply::TornDown { id, result } => self.on_torn_down(id, result),
            Reply::News(receipt) => self.hear(&receipt),
            Reply::TimePassed => {}
            // Taken in `apply`.
            Reply::Committed { .. } | Reply::Staged { .. } | Reply::LeaseLost | Reply::Drain(_) => {}
        }
    }

    /// What cannot be taken back has happened: a decision that the store refuses goes back to here.
    fn keep_before(&mut self) {
        if self.mind.draft.close.is_empty() {
            self.before = self.somebody_may_answer().then(|| (self.mind.clone(), Vec::new()));
        }
    }

    /// Whether a pending call is open, or will be once the write that is on its way is applied.
    fn somebody_may_answer(&self) -> bool {
        !self.mind.open.is_empty() || self.writing.as_ref().is_some_and(Writing::opens)
    }

    /// Nothing is decided while a held commit waits or is on its way, or before the run has begun.
    fn is_held(&self) -> bool {
        self.loading || self.wanted.is_some() || self.writing.as_ref().is_some_and(|writing| writing.held)
    }

    /// Lets the machine take an input, notes what follows, queues what must be done. False: already there.
    fn feed(&mut self, input: Input) -> bool {
        let from = self.mind.machine.state.kind();
        let moved = match transition(&self.mind.machine, &input, &Facts { now: self.now }) {
            Ok(moved) => moved,
            Err(refused) => {
                self.on_refused(&input, &refused);
                return true;
            }
        };
        if !moved.moved {
            return false;
        }
        let before = std::mem::replace(&mut self.mind.machine, moved.next);
        self.mind.moved = true;
        self.note_move(from, &input);
        self.mind.draft.history.push(HistoryRow { from, input, at: self.now });
        let closed = moved.effects.iter().find_map(|effect| match effect {
            Effect::CloseStep(batch) => Some(batch.clone()),
            Effect::AnnounceTurn
            | Effect::Provision
            | Effect::CallModel { .. }
            | Effect::StopModel
            | Effect::Consult(_)
            | Effect::StopCalls(_)
            | Effect::StateChanged(_)
            | Effect::TearDown(_)
            | Effect::AnnounceEnd(_) => None,
        });
        let after = closed.or_else(|| self.mind.machine.state.batch().cloned());
        if let (Some(before), Some(after)) = (before.state.batch(), after) {
            self.note_calls(before, &after);
        }
        // What is done of it may move the machine on.
        let told = self.told_of_move(&before);
        for effect in moved.effects {
            self.perform(effect);
        }
        told.into_iter().for_each(|event| self.emit(event));
        true
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::AnnounceTurn => self.announce_turn(),
            Effect::Provision => self.mind.provision_due = true,
            Effect::CallModel { step, attempt, .. } => {
                let id = self.next_id();
                self.model_call = Some(id);
                self.streams = self.streams.saturating_add(1);
                let call = ModelCall {
                    step,
                    attempt,
                    model: self.mind.machine.turn.model,
                    stream: self.streams,
                    shown: self.shown(),
                    note: self.note.take(),
                    withheld: self.withheld(),
                    mode: self.mode(),
                    prompt: self.mind.machine.prompt,
                };
                self.actions.push_back(Action::CallModel { id, call });
            }
            Effect::StopModel => self.stop_listening(),
            Effect::Consult(_) if self.starts_nothing() => {}
            Effect::Consult(calls) => self.consult(&calls),
            Effect::StopCalls(calls) => {
                let until = self.grace_ends_at();
                self.out.extend(calls.iter().cloned());
                self.actions.push_back(Action::StopCalls { calls, until });
            }
            Effect::CloseStep(batch) => self.promote(&batch),
            Effect::StateChanged(merged) => self.tell_of_state(merged),
            Effect::TearDown(_) => self.mind.teardown_due = true,
            Effect::AnnounceEnd(ending) => self.announce_end(ending),
        }
    }

    /// An input that the machine does not take ends the turn. What was decided in the same breath has no place any
    /// more, and costs neither the turn its end nor the run its commit; only a turn that cannot even fail loses the run.
    fn on_refused(&mut self, input: &Input, refused: &Refused) {
        if !self.given_up || matches!(input, Input::Failed { .. }) {
            self.give_up(ErrorInfo::new("engine.refused", refused.to_string()));
        }
    }

    /// Ends the turn on an error that no retry mends; a second one ends the run at once.
    fn give_up(&mut self, error: ErrorInfo) {
        if self.given_up {
            self.exit = Some(RunOutcome::Lost);
            return;
        }
        self.given_up = true;
        self.stopped_model = None;
        self.actions.retain(|action| {
            matches!(
                action,
                Action::Commit { .. }
                    | Action::StageResult { .. }
                    | Action::Read { .. }
                    | Action::DropEarly { .. }
            )
        });
        self.feed(Input::Failed { error });
    }

    /// Until when what is told to stop now is waited for.
    fn grace_ends_at(&self) -> Timestamp {
        let grace = self.agent.as_ref().map_or(0, |agent| agent.limits.stop_grace_ms);
        self.now.after(std::time::Duration::from_millis(grace))
    }

    fn emit(&mut self, event: Event) {
        self.mind.draft.events.push(event);
    }

    fn next_id(&mut self) -> ActionId {
        self.last_id += 1;
        ActionId(self.last_id)
    }

    /// Remembers that a receipt tells of something that was not read.
    fn hear(&mut self, receipt: &Receipt) {
        let unread = receipt.last_item > self.mind.inbox_seen;
        let stop = receipt.interrupt && self.mind.interrupt.is_none();
        self.news_due |= unread || stop;
    }

    fn is_sync(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.durability == Durability::Sync)
    }

    /// When time alone gives the run something to do.
    fn wakes_at(&self) -> Option<Timestamp> {
        if self.is_held() {
            return None;
        }
        let batch = self.mind.machine.state.batch().filter(|batch| batch.stopping.is_none());
        let calls = batch.and_then(|batch| batch.wakes_at());
        // Time moves a held answer only while calls run. While the gate is asked its word is waited for, and
        // what parks waits for the news.
        let calls_run = matches!(self.mind.machine.state, AgentState::Executing { .. })
            && batch.is_some_and(|batch| !batch.is_asking());
        let held_answer = self
            .mind
            .answered_at
            .filter(|_| calls_run && self.writing.is_none())
            .map(|at| Timestamp::from_ms(at.as_ms().saturating_add(ANSWER_HELD_MS_MAX)));
        let backing_off = self.mind.machine.state.backs_off_until();
        let turn_ends = self.turn_ends_at().filter(|_| self.cuttable());
        // What lies behind was decided on with the last reply; if it still waits, then for another one.
        [calls, held_answer, backing_off, turn_ends].into_iter().flatten().filter(|at| *at > self.now).min()
    }
}
