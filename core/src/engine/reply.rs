//! The replies by which a runtime reports the results of its actions.

use crate::engine::action::ActionId;
use crate::engine::turn::draining::Drain;
use crate::store::{CommitOutcome, Interrupt, Receipt, StageOutcome, StoredItem, StoredMessage};
use crate::words::ending::Ending;
use crate::words::error::ErrorInfo;
use crate::words::gate::ApprovalTerms;
use crate::words::history::Shorter;
use crate::words::ids::{CallId, MessageSeq};
use crate::words::model::{ModelAnswer, ModelError, PartialUse, StopReason, TokenUsage};
use crate::words::plan::{PlanError, Planned};
use crate::words::tool::{ResourceProfile, ToolError, ToolOutput, ToolReturn};

/// A reply of the runtime: the result of an action, or news.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The answer to [`Action::Read`](super::Action::Read).
    Read {
        /// The id of the action.
        id: ActionId,
        /// The data that was found. An error is final: the stored data cannot be read.
        result: Result<Found, ErrorInfo>,
    },
    /// The answer to [`Action::Provision`](super::Action::Provision).
    Provisioned {
        /// The id of the action.
        id: ActionId,
        /// Descriptions of the prepared surroundings, for people; or the error.
        result: Result<Vec<String>, ErrorInfo>,
    },
    /// The answer to [`Action::CallModel`](super::Action::CallModel): the whole answer, or one error.
    ModelAnswered {
        /// The id of the action.
        id: ActionId,
        /// The answer, or the error.
        result: Result<ModelAnswer, ModelError>,
    },
    /// The answer to [`Action::Plan`](super::Action::Plan).
    Planned {
        /// The id of the action.
        id: ActionId,
        /// The decisions of the code.
        result: Result<Planned, PlanError>,
    },
    /// The answer to [`Action::StopModel`](super::Action::StopModel).
    ModelStopped {
        /// The model call that was stopped.
        of: ActionId,
        /// The text that had arrived, in order, without reasoning and calls. Empty for a summary, and if a hook
        /// must see whole answers before any text is kept.
        said: String,
        /// The usage of the call, or `None` if the model had not been asked yet.
        used: Option<PartialUse>,
    },
    /// The answer to [`Action::Summarise`](super::Action::Summarise).
    Summarised {
        /// The id of the action.
        id: ActionId,
        /// The summary, or `None` if no messages are old enough.
        result: Result<Option<Summarised>, ModelError>,
        /// The results that can be shown shorter ([`compaction::shorter`](crate::engine::compaction::shorter)).
        /// Used if nothing was summarised and no other model can be asked with the session as it is.
        shorter: Option<Shorter>,
    },
    /// The answer to [`Action::Shorten`](super::Action::Shorten).
    Shortened {
        /// The id of the action.
        id: ActionId,
        /// The summaries that were made in time.
        made: Vec<Shortened>,
        /// The usage of model calls that gave no summary.
        in_vain: Vec<ShortenedInVain>,
    },
    /// The answer to [`Action::Consult`](super::Action::Consult).
    Consulted {
        /// The id of the action.
        id: ActionId,
        /// A ruling for each question.
        rulings: Vec<(CallId, Ruling)>,
    },
    /// The model finished a call in an answer that is still being written. Sent in call order, once for each call,
    /// and only if the agent begins [reads early](crate::words::agent::AgentSpec::early_reads).
    CallWritten {
        /// The model call.
        of: ActionId,
        /// The place of the call in its answer, from 0.
        index: usize,
        /// The tool, as the model named it.
        tool: String,
        /// The arguments, as the model wrote them.
        arguments: String,
    },
    /// The answer to [`Action::Foresee`](super::Action::Foresee).
    Foreseen {
        /// The id of the action.
        id: ActionId,
        /// The resources that the call touches, or `None` if the call may not begin early. It may begin if its
        /// arguments fit and nothing else can refuse, change or answer it.
        profile: Option<ResourceProfile>,
    },
    /// The answer to [`Action::RunHooks`](super::Action::RunHooks).
    HooksRan {
        /// The id of the action.
        id: ActionId,
        /// The ending of the turn, if a hook ends it here.
        stop: Option<HookStop>,
        /// The corrections for the model, if the turn does not end.
        corrections: Vec<Correction>,
    },
    /// A call ended: it returned, could not be run, or was stopped.
    CallEnded {
        /// The call.
        call: CallId,
        /// The result.
        result: Result<ToolReturn, ToolError>,
        /// The time that the call was out, in milliseconds.
        duration_ms: u64,
    },
    /// A call was not sent and will not be sent by this run, because [no call starts](super::Drain::Calls) any
    /// more.
    CallUnsent {
        /// The call.
        call: CallId,
    },
    /// The answer to [`Action::StartChildren`](super::Action::StartChildren).
    ChildrenStarted {
        /// The id of the action.
        id: ActionId,
    },
    /// The answer to [`Action::FindChildren`](super::Action::FindChildren).
    ChildrenFound {
        /// The id of the action.
        id: ActionId,
        /// True if none of the sessions that took over works or waits.
        successors_rest: bool,
    },
    /// The answer to [`Action::StopChildren`](super::Action::StopChildren).
    ChildrenStopped {
        /// The id of the action.
        id: ActionId,
    },
    /// The answer to [`Action::TellOthers`](super::Action::TellOthers).
    OthersTold {
        /// The id of the action.
        id: ActionId,
    },
    /// The answer to [`Action::TellOthers`](super::Action::TellOthers) if the session that takes over cannot be
    /// created. No address has received the outcome.
    NotHandedOver {
        /// The id of the action.
        id: ActionId,
        /// The reason.
        error: ErrorInfo,
    },
    /// The answer to [`Action::StageResult`](super::Action::StageResult).
    Staged {
        /// The id of the action.
        id: ActionId,
        /// The outcome of the staging; an error is final.
        outcome: Result<StageOutcome, ErrorInfo>,
    },
    /// The answer to [`Action::Commit`](super::Action::Commit).
    Committed {
        /// The id of the action.
        id: ActionId,
        /// The outcome of the commit. After an error, which is final, nothing was changed.
        outcome: Result<CommitOutcome, ErrorInfo>,
    },
    /// The answer to [`Action::Sleep`](super::Action::Sleep).
    Slept {
        /// The id of the action.
        id: ActionId,
    },
    /// The answer to [`Action::TearDown`](super::Action::TearDown). A failure is recorded, and changes nothing
    /// else.
    TornDown {
        /// The id of the action.
        id: ActionId,
        /// The result.
        result: Result<(), ErrorInfo>,
    },
    /// News that arrived with a renewal of the lease.
    News(Receipt),
    /// The lease is lost, or the runtime cannot find out whether it is. Another run may own the session.
    LeaseLost,
    /// The run must leave its session to another run, for example because the process ends. It goes on as far as
    /// the [`Drain`] says. Then it leaves the session suspended and due at once, unless the turn has ended or waits.
    Drain(Drain),
    /// The instant of an [`Action::Await`](super::Action::Await) has passed.
    TimePassed,
}

/// The decision of a hook to end the turn after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookStop {
    /// The ending of the turn.
    pub ending: Ending,
    /// A text for followers of the session.
    pub notice: String,
}

/// A correction that a hook gives to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// The name of the hook.
    pub by: String,
    /// The text for the model.
    pub text: String,
}

/// The data that an [`Action::Read`](super::Action::Read) found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The messages that were asked for.
    pub messages: Vec<StoredMessage>,
    /// The items of the inbox after the named item, to its end.
    pub items: Vec<StoredItem>,
    /// The waiting interrupt, if it was asked for.
    pub interrupt: Option<Interrupt>,
}

/// A summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summarised {
    /// The text.
    pub text: String,
    /// The first message that the summary does not cover: it stands for everything that was shown before.
    pub before: MessageSeq,
    /// The rough number of tokens of those messages.
    pub old_tokens: u64,
    /// The reason why the model stopped. Only a complete text is used.
    pub stop: StopReason,
    /// The usage of the summary.
    pub usage: TokenUsage,
}

/// The summary of an old result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortened {
    /// The place of the result.
    pub of: MessageSeq,
    /// The text.
    pub text: String,
    /// The reason why its author stopped. Only a complete text is kept.
    pub stop: StopReason,
    /// The usage of the summary.
    pub usage: TokenUsage,
}

/// The usage of a model call for the summary of an old result that gave nothing to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortenedInVain {
    /// The known usage.
    pub used: PartialUse,
    /// The rough number of tokens that the model was shown.
    pub shown: u64,
}

/// The ruling of the gate on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// The call may run.
    Allow {
        /// The resources that the call touches.
        profile: ResourceProfile,
    },
    /// A person must decide.
    NeedsApproval {
        /// The text for the person.
        prompt: Option<String>,
        /// The terms of the approval.
        terms: Box<ApprovalTerms>,
        /// The resources that the call touches.
        profile: ResourceProfile,
    },
    /// The arguments do not fit the tool's schema.
    Invalid {
        /// The details.
        detail: String,
    },
    /// The policy refuses the call.
    Deny {
        /// The reason.
        reason: String,
        /// The rule that refuses it.
        rule: Option<String>,
    },
    /// A hook replaces the arguments that were asked about with these, which fit the schema.
    Rewritten {
        /// The arguments, exactly.
        arguments: String,
        /// The name of the hook; of several hooks, the last one.
        by: String,
        /// The ruling on the call with these arguments.
        ruling: Box<Ruling>,
    },
    /// A hook gives the result of the call. Once the call is allowed, it ends with this result and is not run.
    Answered {
        /// The result.
        output: ToolOutput,
        /// The ruling on whether the call may run: allowed, or only after people have approved it.
        ruling: Box<Ruling>,
    },
    /// A hook ends the turn with an error.
    Failed {
        /// The details.
        detail: String,
    },
    /// The gate did not answer in time, or failed. This is a denial.
    Unavailable {
        /// The details.
        detail: String,
    },
}
