//! The inputs of a session's machine, as they are recorded in its history.

use serde::{Deserialize, Serialize};

use super::call::CallInput;
use super::withheld;
use crate::store::{InterruptKind, MessageRange};
use crate::time::Timestamp;
use crate::words::background::Background;
use crate::words::custom::Undo;
use crate::words::ending::{Ending, StopCause};
use crate::words::error::ErrorInfo;
use crate::words::history::Withheld;
use crate::words::ids::{CallId, MessageSeq, PendingId};
use crate::words::mode::Mode;
use crate::words::model::StopReason;
use crate::words::payload::is_default;
use crate::words::reply::{Allowance, ReplyTo};
use crate::words::tool::{EffectClass, RunsOn};
use crate::words::usage::Usage;

/// An input of a session's machine. Inputs are small, refer to data by place, and are complete: folding the
/// recorded inputs from the start gives the stored state (INV-10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// A turn begins.
    TurnRequested {
        /// The kind of the request.
        request: TurnRequest,
        /// Whether something must be provisioned for it.
        provisions: bool,
        /// The newest message before it.
        #[serde(default, skip_serializing_if = "is_default")]
        after: MessageSeq,
    },
    /// Everything after a message is taken back, while the session rests, including changes there of how the
    /// agent works.
    Rewound {
        /// The message.
        to: MessageSeq,
        /// The place of the notice that says so.
        at: MessageSeq,
        /// The number of tokens that the model is shown from now on.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// The changes that restore the custom state of that message.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        state: Vec<Undo>,
    },
    /// Somebody says how the agent works from now on.
    Briefed {
        /// The new mode; none: as before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
        /// The place of the system prompt that replaces the agent's; none: as before. 0: the agent's own
        /// again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<MessageSeq>,
        /// The message that says so. 0: no message does, so the change is never taken back.
        #[serde(default, skip_serializing_if = "is_default")]
        said: MessageSeq,
    },
    /// A run claimed the session in the middle of a turn.
    Claimed {
        /// Whether the run before it died.
        takeover: bool,
    },
    /// The surroundings of the turn are ready.
    Provisioned,
    /// The model is asked.
    ModelCalled {
        /// The place at which the answer will stand.
        entry: MessageSeq,
        /// The tools that are withheld from the model for a while, because their calls repeat.
        #[serde(default, with = "withheld::one_or_more", skip_serializing_if = "Vec::is_empty")]
        withheld: Vec<Withheld>,
    },
    /// The model makes the same calls again and again, and is not asked once more.
    LoopFound {
        /// The tool.
        tool: String,
        /// The number of similar calls.
        count: u32,
    },
    /// The model answered.
    ModelAnswered {
        /// The place of the answer.
        message: MessageSeq,
        /// The calls of the answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<NewCall>,
        /// The reason why the model stopped.
        stop: StopReason,
        /// The usage of the model call.
        usage: Usage,
        /// The number of tokens that the model has been shown and has said.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// Whether the usage of the step is counted separately.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        counted: bool,
    },
    /// The model call failed.
    ModelFailed {
        /// The error.
        error: ErrorInfo,
        /// The instant of the next try; none if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
        /// The latest end of the hold by an open circuit; none if the model was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_until: Option<Timestamp>,
        /// Whether the provider refused the step as too long, and the refusal counts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        too_long: bool,
        /// Whether old messages are summarised first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        compact: bool,
        /// Whether the agent's next model is asked instead.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        next: bool,
        /// The usage of an answer that could not be taken, or broke off.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
    },
    /// A model call was stopped before its end, together with the turn or the summary that it was for.
    ModelStopped {
        /// The usage of that call.
        usage: Usage,
    },
    /// An input of a call.
    Call {
        /// The call.
        call: CallId,
        /// The input.
        #[serde(rename = "does")]
        input: CallInput,
    },
    /// Steering decided.
    Steered {
        /// The ending of the turn. None: the next step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<Ending>,
        /// Whether the turn must return a value, and the step gave none, or one that does not fit.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        no_output: bool,
        /// The number of tokens that came since the model's answer.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// The places of the results of the step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        results: Option<MessageRange>,
        /// The newest result that is shown as cleared from now on, together with all before it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cleared: Option<MessageSeq>,
        /// The request to a person for more steps, where the turn would end otherwise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asks: Option<Box<AskedForMore>>,
        /// The usage of summaries of old results.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
        /// Whether a hook corrects the course of the turn before the model is asked again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        corrected: bool,
    },
    /// Old messages are to be summarised: before the model is asked, or because somebody asks for it while
    /// the session rests.
    CompactionRequested,
    /// Old messages were summarised.
    Compacted {
        /// The place of the summary.
        summary: MessageSeq,
        /// The first message that the summary does not cover: it stands for everything that was shown before.
        from: MessageSeq,
        /// The number of tokens that the model is shown from now on.
        tokens: u64,
        /// The number of tokens that the model was shown before; 0 if an older version made the summary.
        #[serde(default, skip_serializing_if = "is_default")]
        before: u64,
        /// The usage of the summary.
        usage: Usage,
    },
    /// Nothing was summarised.
    NotCompacted {
        /// The error; none if there was nothing to summarise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
        /// The usage of the attempt.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
        /// The instant of the next try; none if there is none. Only extracts are retried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
        /// The latest end of the hold by an open circuit; none if the model was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_until: Option<Timestamp>,
        /// The results that are shown shorter instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shorter: Option<Shorter>,
        /// The error of a turn that cannot be shown any shorter; none: the refusal itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dead_end: Option<ErrorInfo>,
        /// Whether the agent's next model is asked instead: for an extract, or for a step that is too long
        /// for this one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        next: bool,
    },
    /// The back-off is over.
    TimerRang,
    /// The run exits: it must wait, or another run goes on.
    Parked,
    /// Somebody stops the turn, or the session.
    Interrupted {
        /// The kind of stop.
        kind: InterruptKind,
        /// The origin of the stop.
        #[serde(default, skip_serializing_if = "is_default")]
        cause: StopCause,
    },
    /// The turn ends from within, before its step is over: its time is up, or its circuit is open.
    CutShort {
        /// The ending of the turn.
        ending: Ending,
        /// Whether calls that are out may first come back by themselves.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        drains: bool,
    },
    /// An error that no retry can fix.
    Failed {
        /// The error.
        error: ErrorInfo,
    },
    /// The turn owes its outcome to another session, whose call began it.
    Owed {
        /// The address of the outcome.
        reply: Box<ReplyTo>,
    },
    /// A child began in the background, because somebody outside asked for it.
    ChildBegan {
        /// The child.
        child: Box<Background>,
    },
    /// A background child is given a task more: a call that sends it a message was let through.
    ChildResumed {
        /// The id from which the names of the child follow.
        pending: PendingId,
        /// The place of the child among those that were begun together.
        index: u32,
        /// The call.
        task: CallId,
        /// What the child may use for it.
        #[serde(default, skip_serializing_if = "is_default")]
        share: Allowance,
    },
    /// A turn of a background child has ended, or a child has answered a call that is stopped now.
    ChildEnded {
        /// The id from which the names of the child follow.
        pending: PendingId,
        /// The place of the child among those that were begun together.
        index: u32,
        /// The tasks of the turn.
        tasks: Vec<CallId>,
        /// The usage of the turn.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
    },
    /// The session could not be handed over, so its turn has failed.
    NotHandedOver {
        /// The reason.
        error: ErrorInfo,
    },
    /// Other sessions were told of the end of the turn: its children are stopped, and the session that waited
    /// for its outcome has it.
    Told,
    /// The surroundings of the turn are freed.
    TornDown,
    /// From here on the history is that of a fork. Calls that were out or owed stay behind with the source.
    Forked,
    /// From here on the session works on a goal, with an extract of the earlier conversation.
    HandedOff {
        /// The last message of the earlier conversation. The goal follows it.
        after: MessageSeq,
        /// The number of tokens of the goal.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// Whether the session waits once it is prepared.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        draft: bool,
        /// Whether another agent goes on. It begins with its own mode and its own system prompt.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        another: bool,
        /// The addresses to which the outcome of its turn is sent: those of the turn that handed over.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replies: Vec<ReplyTo>,
    },
}

/// A request to a person for more steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedForMore {
    /// The call that stands for the request.
    pub call: CallId,
    /// The id of the pending call, under which it is answered.
    pub pending: PendingId,
    /// The instant at which it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The notice that states the number of steps.
    pub notice: MessageSeq,
}

/// A call of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewCall {
    /// The id of the call.
    pub id: CallId,
    /// The tool, as the model named it.
    pub tool: String,
    /// The effect class of the tool.
    #[serde(default, skip_serializing_if = "is_default")]
    pub effect: EffectClass,
    /// Whether the tool is dangerous.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dangerous: bool,
    /// The party that runs the call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub runs_on: RunsOn,
}

impl Input {
    /// The usage of a model, if this input reports one.
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
            | Self::Owed { .. }
            | Self::NotHandedOver { .. }
            | Self::ChildBegan { .. }
            | Self::ChildResumed { .. }
            | Self::ChildEnded { .. }
            | Self::Told
            | Self::TornDown
            | Self::Forked
            | Self::HandedOff { .. } => None,
        }
    }
}

/// The reason for which a turn begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnRequest {
    /// A message.
    Message,
    /// A failed or interrupted turn goes on, on the transcript as it stands.
    Resume,
}

/// A way to show results shorter where a provider refuses them as too long and nothing is left to summarise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shorter {
    /// Each result up to this message is cut short.
    InPart(MessageSeq),
    /// All results up to this message are shown as cleared.
    Cleared(MessageSeq),
}
