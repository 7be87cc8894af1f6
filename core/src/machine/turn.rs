//! The machine of a session: its state, and everything else that it remembers.

use serde::{Deserialize, Serialize};

use super::briefing::Briefings;
use super::handoff::Handoff;
use super::standing::StandingApprovals;
use super::state::AgentState;
use super::view::View;
use crate::time::Timestamp;
use crate::words::custom::CustomState;
use crate::words::history::Withheld;
use crate::words::ids::{MessageSeq, StepNumber, TurnNumber};
use crate::words::mode::Mode;
use crate::words::payload::is_default;
use crate::words::usage::Usage;

/// All that a session's machine remembers; the bytes of a session's state are this, as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Where the session stands.
    pub state: AgentState,
    /// The turn that runs, or ran last.
    pub turn: Turn,
    /// The newest step.
    pub step: StepNumber,
    /// What the whole session has used.
    pub usage: Usage,
    /// The tools that a person approved for the rest of the session.
    #[serde(default, skip_serializing_if = "StandingApprovals::is_empty")]
    pub always: StandingApprovals,
    /// The mode in which the agent works; none: the one in which its sessions begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Where the system prompt stands that a caller gave; 0: the agent's own is used.
    #[serde(default, skip_serializing_if = "is_default")]
    pub prompt: MessageSeq,
    /// What messages changed of the two, to be taken back with them.
    #[serde(default, skip_serializing_if = "Briefings::is_empty")]
    pub briefings: Briefings,
    /// What the model sees of the transcript.
    #[serde(default, skip_serializing_if = "View::is_whole")]
    pub view: View,
    /// What its tools remember.
    #[serde(default, skip_serializing_if = "CustomState::is_empty")]
    pub custom: CustomState,
    /// The handoff that is being prepared: until its extract exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
}

/// A turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Its number; 0 before the first.
    pub number: TurnNumber,
    /// Whether it runs.
    pub open: bool,
    /// What the session had used before it. None in the first turn, before which nothing was used, and in a turn that an
    /// older version began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_before: Option<Usage>,
    /// The newest message before it; 0 also in a turn that an older version began.
    #[serde(default, skip_serializing_if = "is_default")]
    pub began: MessageSeq,
    /// What the model was shown before the first summary since this turn began; until the next one begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_before: Option<Box<View>>,
    /// Finished model calls.
    #[serde(default, skip_serializing_if = "is_default")]
    pub steps: u32,
    /// Steps that people have granted beyond those that the agent may take.
    #[serde(default, skip_serializing_if = "is_default")]
    pub granted: u32,
    /// Calls that the model has asked for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub calls: u32,
    /// The tools that are withheld from the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
    /// Steps that gave no value, or none that fits, though the turn owes one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub no_output: u32,
    /// After how many of its steps hooks have corrected its course.
    #[serde(default, skip_serializing_if = "is_default")]
    pub corrections: u32,
    /// The step before which a summary was tried last. It is tried again for the same step
    /// only where it failed and a provider refuses the request as too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<StepNumber>,
    /// How often the provider of its model has refused the newest step as too long.
    #[serde(default, skip_serializing_if = "is_default")]
    pub refused: u32,
    /// Which of the agent's models this step is asked of: 0 is its own, then those that it falls back on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub model: u32,
    /// Until when an open circuit holds its model at most: what is heard of the circuit before counts as no new attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Timestamp>,
    /// How many calls in a row could not be run, with none among them that did what it was asked for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub broken: u32,
    /// Whether something is provisioned for it, also if only half.
    #[serde(default, skip_serializing_if = "is_default")]
    pub provisioned: bool,
    /// Whether the model has said all it wanted and nobody has spoken since: there is nothing to ask it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
    /// What it has used, where hooks are told of it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spent: Spent,
    /// How long runs have worked on it, before the one that does now.
    #[serde(default, skip_serializing_if = "is_default")]
    pub worked_ms: u64,
    /// Since when a run works on it.
    pub claimed_at: Timestamp,
}

impl Machine {
    /// Takes how the agent is to work from here on, as the message at `said` says it; 0: as nothing says that could be
    /// taken back. False: it works so already.
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

    /// Works again as before the first message after `to` that said otherwise.
    pub(super) fn unbrief(&mut self, to: MessageSeq) {
        if let Some((mode, prompt)) = self.briefings.take_back(to) {
            (self.mode, self.prompt) = (mode, prompt);
        }
    }

    /// What the session has used since its last turn began. None before the first turn, and of a later one that an older
    /// version began.
    pub fn used_in_turn(&self) -> Option<Usage> {
        match self.turn.used_before {
            Some(before) => Some(self.usage.since(&before)),
            None => (self.turn.number == TurnNumber(1)).then_some(self.usage),
        }
    }

    /// What the model is shown again once what stands after `to` is taken back, if a summary of the newest turn goes with
    /// it.
    pub fn seen_again_at(&self, to: MessageSeq) -> Option<&View> {
        self.turn.seen_before.as_deref().filter(|_| !self.view.shows(to.next()))
    }
}

impl Turn {
    /// The agent's next model is asked: what the one before refused as too long says nothing of it.
    pub(super) fn next_model(&mut self) {
        self.model += 1;
        self.refused = 0;
    }

    /// Which attempt follows `attempt`, that failed at `now`. What an open circuit holds until `held_until` is one attempt,
    /// however often it is looked at meanwhile.
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

    /// Whether a circuit holds its model still, as far as it heard.
    pub(crate) fn is_held(&self, now: Timestamp) -> bool {
        self.held_until.is_some_and(|until| now < until)
    }

    /// How long runs have worked on it until `now`, in milliseconds. Time spent suspended does not count.
    pub fn worked_until(&self, now: Timestamp) -> u64 {
        let running = self.claimed_at.until(now).as_millis();
        self.worked_ms.saturating_add(u64::try_from(running).unwrap_or(u64::MAX))
    }
}

/// What a turn has used, counted only where hooks are told of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Its newest step.
    pub step: Usage,
    /// All of its steps.
    pub turn: Usage,
    /// Where the model's answer of that step stands.
    pub answer: MessageSeq,
}

impl Spent {
    /// The model answered: a step begins to count.
    pub(super) fn answered(&mut self, answer: MessageSeq, usage: Usage) {
        self.step = usage;
        self.turn.add(usage);
        self.answer = answer;
    }

    /// A call of the step that counts was not sent after all.
    pub(super) fn call_unsent(&mut self) {
        if self.answer != MessageSeq::default() {
            self.step.tool_calls = self.step.tool_calls.saturating_sub(1);
            self.turn.tool_calls = self.turn.tool_calls.saturating_sub(1);
        }
    }

    /// A call of the step that counts is sent.
    pub(super) fn call_sent(&mut self) {
        if self.answer != MessageSeq::default() {
            self.step.tool_calls += 1;
            self.turn.tool_calls += 1;
        }
    }
}
