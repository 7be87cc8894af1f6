//! The machine of a session: its state, and everything else that it remembers.

use serde::{Deserialize, Serialize};

use super::Ending;
use super::batch::Batch;
use super::briefing::Briefings;
use super::call::CallState;
use super::handoff::Handoff;
use super::standing::StandingApprovals;
use super::state::AgentState;
use super::view::View;
use crate::store::SessionStatus;
use crate::time::Timestamp;
use crate::words::background::{BACKGROUND_MAX, Background};
use crate::words::children::{Allowance, Children, ReplyTo};
use crate::words::custom::CustomState;
use crate::words::ending::HandedTo;
use crate::words::history::{TurnRequest, Withheld};
use crate::words::ids::{CallId, MessageSeq, PendingId, StepNumber, TurnNumber};
use crate::words::mode::Mode;
use crate::words::payload::is_default;
use crate::words::plan::PlanStanding;
use crate::words::procedure::{ProcedureMove, StateName};
use crate::words::usage::Usage;

/// The most successors that a session remembers. Beyond it, the oldest is forgotten.
const SUCCESSORS_MAX: usize = 64;

/// Everything that a session's machine remembers. As JSON, this is the state of the session in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The state of the session.
    pub state: AgentState,
    /// The turn that runs, or ran last.
    pub turn: Turn,
    /// The newest step.
    pub step: StepNumber,
    /// The usage of the whole session.
    pub usage: Usage,
    /// The calls that a person approved for the rest of the session.
    #[serde(default, skip_serializing_if = "StandingApprovals::is_empty")]
    pub always: StandingApprovals,
    /// The mode in which the agent works. `None`: the default mode of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The message with the system prompt that a caller gave. 0: the agent's own prompt is used.
    #[serde(default, skip_serializing_if = "is_default")]
    pub prompt: MessageSeq,
    /// The values of mode and prompt before messages changed them, for when the messages are taken back.
    #[serde(default, skip_serializing_if = "Briefings::is_empty")]
    pub briefings: Briefings,
    /// The part of the transcript that the model sees.
    #[serde(default, skip_serializing_if = "View::is_whole")]
    pub view: View,
    /// The custom state of the agent's tools.
    #[serde(default, skip_serializing_if = "CustomState::is_empty")]
    pub custom: CustomState,
    /// The handoff that is being prepared, until its extract exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
    /// The background children, in the order in which they began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<Background>,
    /// The sessions to which this one was handed over, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub successors: Vec<HandedTo>,
    /// The state of the procedure in which the work stands. `None` if the agent has no procedure, or before its first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub procedure: Option<StateName>,
}

/// A turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The number of the turn; 0 before the first.
    pub number: TurnNumber,
    /// True from the beginning of the turn to the end of its teardown.
    pub open: bool,
    /// The usage of the session before the turn. `None` in the first turn, before which nothing was used, and in a
    /// turn that an older version began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_before: Option<Usage>,
    /// The newest message before the turn. 0 if there was none, and in a turn that an older version began.
    #[serde(default, skip_serializing_if = "is_default")]
    pub began: MessageSeq,
    /// The view of the model before the first summary since this turn began. Kept until the next turn begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_before: Option<Box<View>>,
    /// The number of steps that the model has answered.
    #[serde(default, skip_serializing_if = "is_default")]
    pub steps: u32,
    /// The number of steps that people have granted beyond the agent's own limit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub granted: u32,
    /// The number of calls that the model asked for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub calls: u32,
    /// The tools that are withheld from the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
    /// The number of times in this turn that the model should have returned a value and did not, or returned one
    /// that does not fit the schema. Steps that only call other tools do not count.
    #[serde(default, skip_serializing_if = "is_default")]
    pub no_output: u32,
    /// The number of steps of this turn after which hooks corrected the model.
    #[serde(default, skip_serializing_if = "is_default")]
    pub corrections: u32,
    /// The step before which a summary was last tried. It is tried again for the same step only if a provider refuses
    /// the request as too long. While another model is left, the last summary must also have failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<StepNumber>,
    /// The number of times that the present model refused the newest step as too long.
    #[serde(default, skip_serializing_if = "is_default")]
    pub refused: u32,
    /// The number of the model that is asked in this step: 0 is the agent's first model, 1 its first fallback, and so
    /// on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub model: u32,
    /// The latest instant until which an open breaker holds the model. Errors of the breaker until then do not count
    /// as new attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Timestamp>,
    /// The number of calls in a row that could not be run, or whose outcome was lost. A call that succeeds, or returns
    /// a result for later, resets it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub broken: u32,
    /// True if calls of the turn that end in doubt can be settled by hand.
    #[serde(default, skip_serializing_if = "is_default")]
    pub asks_in_doubt: bool,
    /// True if the turn has surroundings that are not freed yet. Set when the turn begins, before they are
    /// provisioned.
    #[serde(default, skip_serializing_if = "is_default")]
    pub provisioned: bool,
    /// True if the model has finished its answer and no message has come since. Then there is nothing to ask the
    /// model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
    /// The usage of the turn, counted only if hooks receive it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spent: Spent,
    /// The time that runs had worked on the turn by `claimed_at`, in milliseconds. The time of a run that died does
    /// not count.
    #[serde(default, skip_serializing_if = "is_default")]
    pub worked_ms: u64,
    /// The addresses to which the outcome of the turn is sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<ReplyTo>,
    /// True if the next turn owes its outcome to the addresses in `replies`, because the session took over from
    /// another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inherits: bool,
    /// The session that takes over once the step is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handing_over: Option<Box<HandedTo>>,
    /// The standing of the code that plans the turn. `None` in a turn that a model plans, and before the code was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Box<PlanStanding>>,
    /// The instant from which the present work on the turn is counted: the latest claim or parking, or the beginning
    /// of the turn.
    pub claimed_at: Timestamp,
}

impl Machine {
    /// Returns the children that the calls of the session wait for or are about to begin.
    pub fn children(&self) -> Vec<Children> {
        self.state.batch().map(Batch::children).unwrap_or_default()
    }

    /// Returns the background children that have not ended, as far as the session knows.
    pub fn running_children(&self) -> impl Iterator<Item = &Background> {
        self.background.iter().filter(|child| !child.has_ended())
    }

    /// Returns true if others may work for this session: background children, or successors whose outcomes somebody
    /// awaits. Even at rest, such a session needs a worker from time to time, to look for them.
    pub fn has_others_at_work(&self) -> bool {
        self.awaited_successors().next().is_some() || self.running_children().next().is_some()
    }

    /// Returns the successors whose outcomes somebody awaits, the newest last. They are found by way of this session.
    pub(crate) fn awaited_successors(&self) -> impl DoubleEndedIterator<Item = &HandedTo> {
        self.successors.iter().filter(|to| to.awaited)
    }

    /// Returns the usage of the session, plus the amount that is set aside for its background children.
    pub(crate) fn used_and_set_aside(&self) -> Usage {
        let mut all = self.usage;
        self.background.iter().for_each(|child| all.add(child.set_aside()));
        all
    }

    /// Remembers new background children. Beyond the limit, the oldest ones that have ended are forgotten.
    pub(super) fn remember_children(&mut self, begun: Vec<Background>) {
        self.background.extend(begun);
        while self.background.len() > BACKGROUND_MAX
            && let Some(oldest) = self.background.iter().position(Background::has_ended)
        {
            self.background.remove(oldest);
        }
    }

    /// Remembers the session that this one was handed over to. Beyond the limit, the oldest one is forgotten.
    pub(super) fn remember_successor(&mut self, to: HandedTo) {
        if self.successors.len() >= SUCCESSORS_MAX {
            self.successors.remove(0);
        }
        self.successors.push(to);
    }

    /// Moves the work to the state to which the last of these moves leads. Does nothing without moves.
    pub(super) fn follow(&mut self, moves: &[ProcedureMove]) {
        if let Some(last) = moves.last() {
            self.procedure = Some(last.to.clone());
        }
    }

    /// Forgets the tasks of calls that ended before they gave the task to a child.
    pub(super) fn forget_tasks(&mut self, batch: &Batch) {
        let never_gave = |task: &CallId| {
            batch.call(task).is_some_and(|call| {
                matches!(
                    call.state,
                    CallState::Error | CallState::RejectedByUser | CallState::Cancelled { .. }
                )
            })
        };
        self.background.iter_mut().for_each(|child| child.owes.retain(|task| !never_gave(task)));
    }

    /// Returns the background child with this pending id and index.
    pub(super) fn child_mut(&mut self, pending: &PendingId, index: u32) -> Option<&mut Background> {
        self.background.iter_mut().find(|child| child.pending == *pending && child.index == index)
    }

    /// Returns the children that must not outlive a turn with this ending. If the session is aborted, these are its
    /// successors and its background children. If the turn owes its outcome to another session, they are its
    /// background children. Detached children always go on.
    pub(super) fn left_behind(&self, ending: &Ending) -> Vec<Children> {
        let mut left: Vec<Children> = Vec::new();
        if ending.status() == SessionStatus::Aborted {
            // An abort also stops the sessions that this one was handed over to.
            let gone_on = self.successors.iter();
            left.extend(gone_on.map(|to| Children::here(to.pending.clone(), 1)));
        }
        if ending.status() == SessionStatus::Aborted || !self.turn.replies.is_empty() {
            for child in self.running_children().filter(|child| !child.terms.detached) {
                match left.iter_mut().find(|children| children.pending == child.pending) {
                    Some(children) => children.count = children.count.max(child.index + 1),
                    None => left.push(Children::here(child.pending.clone(), child.index + 1)),
                }
            }
        }
        left
    }

    /// Changes the mode and the prompt, as the message `said` asks. If `said` is 0, no message asks for the change,
    /// and the mode stays even if messages are taken back. Returns false if nothing changes.
    pub(super) fn brief(&mut self, mode: Option<Mode>, prompt: Option<MessageSeq>, said: MessageSeq) -> bool {
        let before = (self.mode, self.prompt);
        self.mode = mode.or(self.mode);
        self.prompt = prompt.unwrap_or(self.prompt);
        let changed = (self.mode, self.prompt) != before;
        if said == MessageSeq(0) {
            return self.briefings.outlast(mode) || changed;
        }
        if changed {
            self.briefings.remember(said, before);
        }
        changed
    }

    /// Undoes the changes of mode and prompt by messages after `to`.
    pub(super) fn unbrief(&mut self, to: MessageSeq) {
        if let Some((mode, prompt)) = self.briefings.take_back(to) {
            (self.mode, self.prompt) = (mode, prompt);
        }
    }

    /// Returns the usage of the session since its last turn began. `None` before the first turn, and for a later
    /// turn that an older version began.
    pub fn used_in_turn(&self) -> Option<Usage> {
        match self.turn.used_before {
            Some(before) => Some(self.usage.since(&before)),
            None => (self.turn.number == TurnNumber(1)).then_some(self.usage),
        }
    }

    /// Returns the view that the model has again once everything after `to` is taken back. `None` if no summary of
    /// the newest turn is taken back with it.
    pub(crate) fn seen_again_at(&self, to: MessageSeq) -> Option<&View> {
        self.turn.seen_before.as_deref().filter(|_| !self.view.shows(to.next()))
    }
}

impl Turn {
    /// Returns the limits that the receivers of the outcome set for the turn: the strictest of each kind.
    pub(crate) fn allowance(&self) -> Allowance {
        self.replies.iter().fold(Allowance::default(), |all, reply| all.and(reply.allowance))
    }

    /// Prepares the plan of a new turn. A turn that resumes tells the code what the last one told it. To be called while
    /// `began` is still that of the last turn.
    pub(super) fn begin_plan(&mut self, request: TurnRequest, planned: bool) {
        if request == TurnRequest::Message {
            self.plan = None;
        } else if planned {
            self.plan_mut();
        }
        if let Some(plan) = &mut self.plan {
            plan.stops = false;
            plan.diverged = None;
        }
    }

    /// Returns the standing of the code that plans the turn, which begins with this if the code is asked first.
    pub(super) fn plan_mut(&mut self) -> &mut PlanStanding {
        let after = self.began;
        self.plan.get_or_insert_with(|| Box::new(PlanStanding { after, ..PlanStanding::default() }))
    }

    /// Returns true if code that plans the turn was told to stop.
    pub(crate) fn winds_down(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.stops)
    }

    /// Moves on to the agent's next model. Refusals of the previous model as too long do not count for it.
    pub(super) fn next_model(&mut self) {
        self.model += 1;
        self.refused = 0;
    }

    /// Returns the number of the attempt that follows `attempt`, which failed at `now`. All failures while an open
    /// breaker holds the model until `held_until` count as one attempt.
    pub(super) fn attempt_after(
        &mut self,
        attempt: u32,
        held_until: Option<Timestamp>,
        now: Timestamp,
    ) -> u32 {
        if held_until.is_some() && self.is_held(now) {
            return attempt;
        }
        self.held_until = held_until;
        attempt.saturating_add(1)
    }

    /// Returns true if an open breaker holds the model at `now`, as the turn last noted it. The shared breaker may
    /// have changed since.
    pub(crate) fn is_held(&self, now: Timestamp) -> bool {
        self.held_until.is_some_and(|until| now < until)
    }

    /// Returns the time that runs have worked on the turn until `now`, in milliseconds. Time in which the session was
    /// suspended does not count, nor does the time of a run that died.
    pub(crate) fn worked_until(&self, now: Timestamp) -> u64 {
        let running = self.claimed_at.until(now).as_millis();
        self.worked_ms.saturating_add(u64::try_from(running).unwrap_or(u64::MAX))
    }
}

/// The usage of a turn, counted only if hooks receive it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// The usage of the newest step.
    pub step: Usage,
    /// The usage of all steps of the turn.
    pub turn: Usage,
    /// The place of the model's answer of the newest step.
    pub answer: MessageSeq,
}

impl Spent {
    /// Starts the count of a step, with the usage of the model's answer.
    pub(super) fn answered(&mut self, answer: MessageSeq, usage: Usage) {
        self.step = usage;
        self.turn.add(usage);
        self.answer = answer;
    }

    /// Takes back the count of a call that was not sent after all, if its step is counted.
    pub(super) fn call_unsent(&mut self) {
        if self.answer != MessageSeq::default() {
            self.step.tool_calls = self.step.tool_calls.saturating_sub(1);
            self.turn.tool_calls = self.turn.tool_calls.saturating_sub(1);
        }
    }

    /// Counts a call that is sent, if its step is counted.
    pub(super) fn call_sent(&mut self) {
        if self.answer != MessageSeq::default() {
            self.step.tool_calls += 1;
            self.turn.tool_calls += 1;
        }
    }
}
