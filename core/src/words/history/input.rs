//! The inputs of a session's machine, as the history records them.

use serde::{Deserialize, Serialize};

use super::asks::{EngineRequest, NewCall};
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
use crate::words::plan::Divergence;
use crate::words::procedure::{ProcedureBack, ProcedureBegins};
use crate::words::reply::{Allowance, ReplyTo};
use crate::words::usage::Usage;

/// An input of a session's machine. Inputs are small, refer to data by position, and are complete: applying
/// the recorded inputs from the start gives the stored state (INV-10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// A turn begins.
    TurnRequested {
        /// The kind of the request.
        request: TurnRequest,
        /// True if surroundings must be provisioned for the turn.
        provisions: bool,
        /// The newest message before the turn.
        #[serde(default, skip_serializing_if = "is_default")]
        after: MessageSeq,
        /// True if calls of the turn that end in doubt can be settled by hand.
        #[serde(default, skip_serializing_if = "is_default")]
        asks_in_doubt: bool,
        /// The moves of the procedure with which the turn begins.
        #[serde(default, skip_serializing_if = "is_default")]
        procedure: Box<ProcedureBegins>,
        /// True if code plans the turn.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        planned: bool,
    },
    /// Everything after a message is taken back while the session rests, including changes to the mode and
    /// the system prompt.
    Rewound {
        /// The last message that is not taken back.
        to: MessageSeq,
        /// The position of the notice about the rewind.
        at: MessageSeq,
        /// The number of tokens that the model reads from now on.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// The changes that restore the custom state as of that message.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        state: Vec<Undo>,
        /// The state of the procedure as of that message. `None` if no move of it is taken back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        procedure: Option<Box<ProcedureBack>>,
    },
    /// The mode or the system prompt of the agent changes.
    Briefed {
        /// The new mode. `None` if the mode does not change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
        /// The position of the new system prompt. `None` if the prompt does not change; 0 if the agent's own
        /// prompt applies again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<MessageSeq>,
        /// The message that carries the change. 0 means that no message carries it, so the change is never
        /// taken back.
        #[serde(default, skip_serializing_if = "is_default")]
        said: MessageSeq,
    },
    /// A run claimed the session in the middle of a turn.
    Claimed {
        /// True if the previous run died.
        takeover: bool,
    },
    /// The surroundings of the turn are ready, or the turn needs none.
    Provisioned,
    /// The model is about to be asked.
    ModelCalled {
        /// The position at which the answer will be stored.
        entry: MessageSeq,
        /// The tools that are withheld from the model for a while, because it repeated their calls.
        #[serde(default, with = "withheld::one_or_more", skip_serializing_if = "Vec::is_empty")]
        withheld: Vec<Withheld>,
    },
    /// The model repeated the same calls too often and is not asked again.
    LoopFound {
        /// The name of the tool.
        tool: String,
        /// The number of similar calls.
        count: u32,
    },
    /// The model answered.
    ModelAnswered {
        /// The position of the answer.
        message: MessageSeq,
        /// The calls of the answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<NewCall>,
        /// The reason why the model stopped writing.
        stop: StopReason,
        /// The usage of the model call.
        usage: Usage,
        /// The number of tokens that the model has read and written.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// True if the usage of the step is counted separately.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        counted: bool,
    },
    /// Code that plans in place of a model decided: calls are added to its step, or the turn ends.
    Planned {
        /// The position of the record. 0 if nothing had to be recorded.
        #[serde(default, skip_serializing_if = "is_default")]
        message: MessageSeq,
        /// The new calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<NewCall>,
        /// The ending of the turn, once the code has ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ending: Option<Ending>,
        /// True if the code starts over with a new input, which the record holds.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        carries_on: bool,
    },
    /// Code that plans in place of a model decided otherwise than the transcript records. The turn waits.
    Diverged {
        /// The place.
        found: Box<Divergence>,
    },
    /// The model call failed.
    ModelFailed {
        /// The error of the model call.
        error: ErrorInfo,
        /// The instant of the next try. `None` if there is no further try.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
        /// The latest instant until which an open breaker blocks the model. `None` if the model was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_until: Option<Timestamp>,
        /// True if the provider refused the request as too long.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        too_long: bool,
        /// True if old messages are summarised before the next try.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        compact: bool,
        /// True if the next fallback model is asked instead.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        next: bool,
        /// The usage of an answer that was invalid or broke off.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
    },
    /// A model call was stopped before its end, together with its turn or its summary.
    ModelStopped {
        /// The usage of the stopped model call.
        usage: Usage,
    },
    /// An input of a call.
    Call {
        /// The id of the call.
        call: CallId,
        /// The input of the call.
        #[serde(rename = "does")]
        input: CallInput,
    },
    /// Steering decided: the next step follows, the turn ends, a person is asked for more steps, or the procedure waits.
    Steered {
        /// The ending of the turn. `None` if the next step follows or something is asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<Ending>,
        /// True if the turn must return a value and the step gave no valid one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        no_output: bool,
        /// The number of tokens added since the model's answer.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// The positions of the step's results.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        results: Option<MessageRange>,
        /// The newest cleared result. The model sees this result and all earlier ones as cleared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cleared: Option<MessageSeq>,
        /// The request to a person for more steps, if the turn would otherwise end; or the wait of a parked state of
        /// the procedure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asks: Option<Box<EngineRequest>>,
        /// The usage of summaries of old results.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
        /// True if a hook adds a correction before the model is asked again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        corrected: bool,
    },
    /// A summary is needed: old messages are too long, a handoff needs its extract, or a request came while the
    /// session rests.
    CompactionRequested,
    /// Old messages were summarised.
    Compacted {
        /// The position of the summary.
        summary: MessageSeq,
        /// The first message that the summary does not cover. The summary replaces everything that the model saw
        /// before that message.
        from: MessageSeq,
        /// The number of tokens that the model reads from now on.
        tokens: u64,
        /// The number of tokens that the model read before. 0 if an older version made the summary.
        #[serde(default, skip_serializing_if = "is_default")]
        before: u64,
        /// The usage of the summary.
        usage: Usage,
    },
    /// The summary was not made.
    NotCompacted {
        /// The error. `None` if there was nothing to summarise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
        /// The usage of the failed attempt.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
        /// The instant of the next try. `None` if there is no further try. Only extracts are retried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
        /// The latest instant until which an open breaker blocks the model. `None` if the model was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_until: Option<Timestamp>,
        /// The results that the model sees shortened instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shorter: Option<Shorter>,
        /// The error of a turn that cannot be shortened further. `None` means the provider's refusal itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dead_end: Option<ErrorInfo>,
        /// True if the next fallback model is asked instead, for an extract or for a step that is too long
        /// for this model.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        next: bool,
    },
    /// The back-off ended.
    TimerRang,
    /// The run exits: the session must wait, or another run continues.
    Parked,
    /// A request or a message from outside stops the turn or the session.
    Interrupted {
        /// The kind of stop.
        kind: InterruptKind,
        /// The origin of the stop.
        #[serde(default, skip_serializing_if = "is_default")]
        cause: StopCause,
    },
    /// The turn ends early, before its step is over, because its time is up, its budget is used up or its circuit
    /// is open.
    CutShort {
        /// The ending of the turn.
        ending: Ending,
        /// True if running calls may return before the turn ends.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        drains: bool,
    },
    /// An error occurred that no retry can fix.
    Failed {
        /// The error that ends the turn.
        error: ErrorInfo,
    },
    /// The turn must report its outcome to the session or program that gave it a task.
    Owed {
        /// The address to which the outcome is sent.
        reply: Box<ReplyTo>,
    },
    /// A background child began at a request from outside.
    ChildBegan {
        /// The new child.
        child: Box<Background>,
    },
    /// A background child received another task, because a call that sends it a message was allowed.
    ChildResumed {
        /// The id from which the names of the child are derived.
        pending: PendingId,
        /// The index of the child among the children that the same call began.
        index: u32,
        /// The call that gave the task.
        task: CallId,
        /// The share of the limits that the child may use for the task.
        #[serde(default, skip_serializing_if = "is_default")]
        share: Allowance,
    },
    /// A turn of a background child ended, or a child answered a call that is being stopped.
    ChildEnded {
        /// The id from which the names of the child are derived.
        pending: PendingId,
        /// The index of the child among the children that the same call began.
        index: u32,
        /// The calls that gave the tasks of the turn. Empty if the child answered a call.
        tasks: Vec<CallId>,
        /// The usage of the child's turn.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
    },
    /// The session could not be handed over, so the turn failed.
    NotHandedOver {
        /// The reason for the failure.
        error: ErrorInfo,
    },
    /// Others were informed of the end of the turn: children that must not outlive it are stopped, its successor
    /// exists, and the outcome was sent to those who wait for it.
    Told,
    /// The surroundings of the turn have been freed.
    TornDown,
    /// The session begins as a fork. Pending and running calls stay with the source.
    Forked,
    /// The session received a goal, and its model will work from an extract of the earlier conversation.
    HandedOff {
        /// The last message of the earlier conversation. The goal follows it.
        after: MessageSeq,
        /// The number of tokens in the goal.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// True if the session waits for a message after the extract is made.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        draft: bool,
        /// True if another agent continues. It begins with its own mode and system prompt.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        another: bool,
        /// The addresses to which the outcome of the new turn is sent. They are those of the turn that handed
        /// over.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replies: Vec<ReplyTo>,
    },
}

impl Input {
    /// Returns the model usage that this input reports, if it reports any.
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
            | Self::Planned { .. }
            | Self::Diverged { .. }
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
    /// A message arrived.
    Message,
    /// A failed or interrupted turn continues with the current transcript, or a session begins to work on the goal of
    /// a handoff.
    Resume,
}

/// A way to shorten results when a provider refuses a request as too long and nothing is left to summarise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shorter {
    /// The model sees only a part of each long result up to this message.
    InPart(MessageSeq),
    /// The model sees all results up to this message as cleared.
    Cleared(MessageSeq),
}
