//! The inputs of a session's machine, as they are recorded in its history.

use serde::{Deserialize, Serialize};

use super::call::CallInput;
use super::kinds::InputKind;
use super::withheld;
use crate::store::{InterruptKind, MessageRange};
use crate::time::Timestamp;
use crate::words::custom::Undo;
use crate::words::ending::{Ending, StopCause};
use crate::words::error::ErrorInfo;
use crate::words::history::Withheld;
use crate::words::ids::{CallId, MessageSeq, PendingId};
use crate::words::mode::Mode;
use crate::words::model::StopReason;
use crate::words::payload::is_default;
use crate::words::tool::{EffectClass, RunsOn};
use crate::words::usage::Usage;

/// What happens to a session's machine. Small, by reference, and whole: folding the recorded inputs from
/// the start gives the stored state (INV-10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// A turn begins.
    TurnRequested {
        /// What began it.
        request: TurnRequest,
        /// Whether something must be provisioned for it.
        provisions: bool,
        /// The newest message before it.
        #[serde(default, skip_serializing_if = "is_default")]
        after: MessageSeq,
    },
    /// What stands after a message is taken back, while the session rests: also what was said there of how the agent is
    /// to work.
    Rewound {
        /// After which.
        to: MessageSeq,
        /// Where the notice stands that says so.
        at: MessageSeq,
        /// How many tokens the model is shown from now on.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// How the custom state becomes that of then.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        state: Vec<Undo>,
    },
    /// Somebody says how the agent is to work from here on.
    Briefed {
        /// In which mode; none: as before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
        /// Where the system prompt stands that replaces the agent's; none: as before. 0: the agent's again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<MessageSeq>,
        /// The message that says so; 0: none does, so nothing takes it back.
        #[serde(default, skip_serializing_if = "is_default")]
        said: MessageSeq,
    },
    /// A run claimed the session in the middle of a turn.
    Claimed {
        /// Whether the run before it died.
        takeover: bool,
    },
    /// What the turn needs is ready.
    Provisioned,
    /// The model is asked.
    ModelCalled {
        /// Where its answer will stand.
        entry: MessageSeq,
        /// The tools that are withheld from it for a while, because their calls repeat.
        #[serde(default, with = "withheld::one_or_more", skip_serializing_if = "Vec::is_empty")]
        withheld: Vec<Withheld>,
    },
    /// The model asks for the same again and again: it is not asked once more.
    LoopFound {
        /// Which tool.
        tool: String,
        /// How many of its calls were alike.
        count: u32,
    },
    /// The model answered.
    ModelAnswered {
        /// Where its answer stands.
        message: MessageSeq,
        /// The calls it asks for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<NewCall>,
        /// Why it stopped.
        stop: StopReason,
        /// What it used.
        usage: Usage,
        /// How many tokens the model has been shown and has said.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// Whether what the step uses is counted apart.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        counted: bool,
    },
    /// The model call failed.
    ModelFailed {
        /// Why.
        error: ErrorInfo,
        /// When it is tried again; none if it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
        /// Until when an open circuit holds it at most; none if it was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_until: Option<Timestamp>,
        /// Whether the provider refuses the step as too long, and that counts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        too_long: bool,
        /// Whether what is old is summarised first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        compact: bool,
        /// Whether the agent's next model is asked instead.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        next: bool,
        /// What an answer used that could not be taken, or broke off.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
    },
    /// A model call was stopped on its way, with the turn or the summary that it was for.
    ModelStopped {
        /// What it had used.
        usage: Usage,
    },
    /// Something happened to a call.
    Call {
        /// Which.
        call: CallId,
        /// What.
        #[serde(rename = "does")]
        input: CallInput,
    },
    /// Steering decided.
    Steered {
        /// None: the next step. Else how the turn ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<Ending>,
        /// Whether the step gave no value, or none that fits, though the turn owes one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        no_output: bool,
        /// How many tokens came since the model's answer.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// Where the results of the step stand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        results: Option<MessageRange>,
        /// Up to where results are shown as cleared from now on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cleared: Option<MessageSeq>,
        /// Somebody is asked for more steps, where the turn would else end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asks: Option<Box<AskedForMore>>,
        /// What putting old results in short used.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
        /// Whether a hook corrects the course of the turn before the model is asked again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        corrected: bool,
    },
    /// What is old is to be summarised: before the model is asked, or because somebody asks for it while the
    /// session rests.
    CompactionRequested,
    /// What is old was summarised.
    Compacted {
        /// Where the summary stands.
        summary: MessageSeq,
        /// It stands for all that was shown before this message.
        from: MessageSeq,
        /// How many tokens the model is shown from now on.
        tokens: u64,
        /// How many it was shown before; 0 where an older version summarised.
        #[serde(default, skip_serializing_if = "is_default")]
        before: u64,
        /// What making it used.
        usage: Usage,
    },
    /// Nothing was summarised.
    NotCompacted {
        /// What went wrong; none if there was nothing to summarise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
        /// What trying used.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
        /// When it is tried again; none if it is not. Only an extract is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
        /// Until when an open circuit holds it at most; none if it was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_until: Option<Timestamp>,
        /// What is shown shorter instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shorter: Option<Shorter>,
        /// How a turn ends that cannot be shown any shorter; none: with the refusal itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dead_end: Option<ErrorInfo>,
        /// Whether the agent's next model is asked instead: for an extract, or for the step that is too long for this one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        next: bool,
    },
    /// The back-off is over.
    TimerRang,
    /// The run exits: it must wait, or another is to go on.
    Parked,
    /// Somebody stops the turn, or the session.
    Interrupted {
        /// How hard.
        kind: InterruptKind,
        /// What it comes from.
        #[serde(default, skip_serializing_if = "is_default")]
        cause: StopCause,
    },
    /// The turn ends from within, before its step is over: its time is up, or its circuit is open.
    CutShort {
        /// How.
        ending: Ending,
        /// Whether what is out may come back by itself first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        drains: bool,
    },
    /// Something failed that no retry mends.
    Failed {
        /// What.
        error: ErrorInfo,
    },
    /// What the turn held is freed.
    TornDown,
    /// From here on the history is that of a fork: what was out or owed stays behind with the source.
    Forked,
    /// From here on the session works on a goal, with what matters for it of what was said before.
    HandedOff {
        /// The last message of before; the goal stands behind it.
        after: MessageSeq,
        /// How many tokens the goal has.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// Whether the session waits once it is prepared.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        draft: bool,
    },
}

/// An asking for more steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedForMore {
    /// The call that stands for it.
    pub call: CallId,
    /// What it is answered under.
    pub pending: PendingId,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The notice that says for how many.
    pub notice: MessageSeq,
}

/// A call that the model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewCall {
    /// Which call.
    pub id: CallId,
    /// Which tool, as the model named it.
    pub tool: String,
    /// Its class.
    #[serde(default, skip_serializing_if = "is_default")]
    pub effect: EffectClass,
    /// Whether it is dangerous.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dangerous: bool,
    /// Who runs it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub runs_on: RunsOn,
}

impl Input {
    /// What a model used, as far as this input says so.
    pub fn usage(&self) -> Option<Usage> {
        match self {
            Self::ModelAnswered { usage, .. }
            | Self::ModelFailed { usage, .. }
            | Self::ModelStopped { usage }
            | Self::Steered { usage, .. }
            | Self::Compacted { usage, .. }
            | Self::NotCompacted { usage, .. } => Some(*usage),
            Self::TurnRequested { .. }
            | Self::Briefed { .. }
            | Self::Rewound { .. }
            | Self::Claimed { .. }
            | Self::Provisioned
            | Self::ModelCalled { .. }
            | Self::LoopFound { .. }
            | Self::Call { .. }
            | Self::CompactionRequested
            | Self::TimerRang
            | Self::Parked
            | Self::Interrupted { .. }
            | Self::CutShort { .. }
            | Self::Failed { .. }
            | Self::TornDown
            | Self::Forked
            | Self::HandedOff { .. } => None,
        }
    }

    /// The input without its data.
    pub fn kind(&self) -> InputKind {
        match self {
            Self::TurnRequested { .. } => InputKind::TurnRequested,
            Self::Briefed { .. } => InputKind::Briefed,
            Self::Rewound { .. } => InputKind::Rewound,
            Self::Claimed { .. } => InputKind::Claimed,
            Self::Provisioned => InputKind::Provisioned,
            Self::ModelCalled { .. } => InputKind::ModelCalled,
            Self::ModelAnswered { .. } => InputKind::ModelAnswered,
            Self::ModelFailed { .. } => InputKind::ModelFailed,
            Self::ModelStopped { .. } => InputKind::ModelStopped,
            Self::LoopFound { .. } => InputKind::LoopFound,
            Self::Call { .. } => InputKind::Call,
            Self::Steered { .. } => InputKind::Steered,
            Self::CompactionRequested => InputKind::CompactionRequested,
            Self::Compacted { .. } => InputKind::Compacted,
            Self::NotCompacted { .. } => InputKind::NotCompacted,
            Self::TimerRang => InputKind::TimerRang,
            Self::Parked => InputKind::Parked,
            Self::Interrupted { .. } => InputKind::Interrupted,
            Self::CutShort { .. } => InputKind::CutShort,
            Self::Failed { .. } => InputKind::Failed,
            Self::TornDown => InputKind::TornDown,
            Self::Forked => InputKind::Forked,
            Self::HandedOff { .. } => InputKind::HandedOff,
        }
    }
}

/// What begins a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnRequest {
    /// Something was said.
    Message,
    /// A failed or interrupted turn is taken up again, on the transcript as it stands.
    Resume,
}

/// How results are shown shorter where a provider refuses them as too long and nothing is left to summarise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shorter {
    /// Of each up to this message [so many characters](crate::engine::compaction::PART_CHARS) stay.
    InPart(MessageSeq),
    /// All up to this message are shown as cleared.
    Cleared(MessageSeq),
}
