//! The replies by which a runtime reports the results of its actions.

use crate::engine::action::ActionId;
use crate::engine::rest::draining::Drain;
use crate::store::{CommitOutcome, Interrupt, Receipt, StageOutcome, StoredItem, StoredMessage};
use crate::words::ending::Ending;
use crate::words::error::ErrorInfo;
use crate::words::gate::ApprovalTerms;
use crate::words::history::Shorter;
use crate::words::ids::{CallId, MessageSeq};
use crate::words::model::{ModelAnswer, ModelError, PartialUse, StopReason, TokenUsage};
use crate::words::tool::{ResourceProfile, ToolError, ToolOutput, ToolReturn};

/// What became of an action, or what happened meanwhile.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The answer to [`Action::Read`](super::Action::Read).
    Read {
        /// Of which action.
        id: ActionId,
        /// What was there; an error is final: what is stored cannot be read.
        result: Result<Found, ErrorInfo>,
    },
    /// The answer to [`Action::Provision`](super::Action::Provision).
    Provisioned {
        /// Of which action.
        id: ActionId,
        /// What was made ready, as people are told of it; or why not.
        result: Result<Vec<String>, ErrorInfo>,
    },
    /// The answer to [`Action::CallModel`](super::Action::CallModel): the whole answer, or one error.
    ModelAnswered {
        /// Of which action.
        id: ActionId,
        /// What came.
        result: Result<ModelAnswer, ModelError>,
    },
    /// The answer to [`Action::StopModel`](super::Action::StopModel).
    ModelStopped {
        /// Which call of the model was stopped.
        of: ActionId,
        /// The text that had come, in order: no reasoning, no calls. Empty if none had, if it was a summary, and where a
        /// hook must see a whole answer before anything of it is kept.
        said: String,
        /// What it had used. None: the model was not asked yet.
        used: Option<PartialUse>,
    },
    /// The answer to [`Action::Summarise`](super::Action::Summarise).
    Summarised {
        /// Of which action.
        id: ActionId,
        /// What came; none if nothing is old enough.
        result: Result<Option<Summarised>, ModelError>,
        /// What else can be shown shorter ([`compaction::shorter`](crate::engine::compaction::shorter)). Taken where
        /// nothing was summarised, and no other model may read the session as it is.
        shorter: Option<Shorter>,
    },
    /// The answer to [`Action::Shorten`](super::Action::Shorten).
    Shortened {
        /// Of which action.
        id: ActionId,
        /// Those that were made in time.
        made: Vec<Shortened>,
        /// What model calls used that were made for the others.
        in_vain: Vec<ShortenedInVain>,
    },
    /// The answer to [`Action::Consult`](super::Action::Consult).
    Consulted {
        /// Of which action.
        id: ActionId,
        /// One for each question.
        rulings: Vec<(CallId, Ruling)>,
    },
    /// The model has written a call to its end, and its answer goes on. Said in call order, each once, and only if the
    /// agent begins [reads early](crate::words::agent::AgentSpec::early_reads).
    CallWritten {
        /// Which model call.
        of: ActionId,
        /// Which call of its answer, from 0.
        index: usize,
        /// Which tool, as the model named it.
        tool: String,
        /// The arguments, as the model wrote them.
        arguments: String,
    },
    /// The answer to [`Action::Foresee`](super::Action::Foresee).
    Foreseen {
        /// Of which action.
        id: ActionId,
        /// What the call touches, if its arguments fit and nothing that could refuse, change or answer it is left to be
        /// asked.
        profile: Option<ResourceProfile>,
    },
    /// The answer to [`Action::RunHooks`](super::Action::RunHooks).
    HooksRan {
        /// Of which action.
        id: ActionId,
        /// How the turn ends here, if one of them says so.
        stop: Option<HookStop>,
        /// What the model is told before it is asked again, if the turn does not end.
        corrections: Vec<Correction>,
    },
    /// A call came back.
    CallEnded {
        /// Which.
        call: CallId,
        /// With what.
        result: Result<ToolReturn, ToolError>,
        /// How long it was out, in milliseconds.
        duration_ms: u64,
    },
    /// A call that was to be sent was not, and is not sent any more: the run was told that [nothing more
    /// starts](super::Drain::Calls).
    CallUnsent {
        /// Which.
        call: CallId,
    },
    /// The answer to [`Action::StageResult`](super::Action::StageResult).
    Staged {
        /// Of which action.
        id: ActionId,
        /// What became of it; an error is final.
        outcome: Result<StageOutcome, ErrorInfo>,
    },
    /// The answer to [`Action::Commit`](super::Action::Commit).
    Committed {
        /// Of which action.
        id: ActionId,
        /// What became of it; an error is final, and nothing was changed.
        outcome: Result<CommitOutcome, ErrorInfo>,
    },
    /// The answer to [`Action::Sleep`](super::Action::Sleep).
    Slept {
        /// Of which action.
        id: ActionId,
    },
    /// The answer to [`Action::TearDown`](super::Action::TearDown). A failure is kept, and changes nothing.
    TornDown {
        /// Of which action.
        id: ActionId,
        /// Whether it worked.
        result: Result<(), ErrorInfo>,
    },
    /// A renewal of the lease brought this.
    News(Receipt),
    /// The lease is lost: another run owns the session, or it cannot be told.
    LeaseLost,
    /// The run is to leave its session to another: its process ends, say. It goes on as far as this says, then leaves the
    /// session suspended and due at once.
    Drain(Drain),
    /// The instant of an [`Action::Await`](super::Action::Await) has passed.
    TimePassed,
}

/// A hook ends a turn after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookStop {
    /// How.
    pub ending: Ending,
    /// A word for whoever reads along.
    pub notice: String,
}

/// A hook corrects the course of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// The name of the hook.
    pub by: String,
    /// What the model is told.
    pub text: String,
}

/// What an [`Action::Read`](super::Action::Read) found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The messages that were asked for.
    pub messages: Vec<StoredMessage>,
    /// What the inbox holds after the named item, to its end.
    pub items: Vec<StoredItem>,
    /// The interrupt that waits, if it was asked for.
    pub interrupt: Option<Interrupt>,
}

/// A summary as it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summarised {
    /// The text.
    pub text: String,
    /// It stands for all that was shown before this message.
    pub before: MessageSeq,
    /// How many tokens that was, roughly.
    pub old_tokens: u64,
    /// Why the model stopped: only a text that is whole stands for anything.
    pub stop: StopReason,
    /// What making it used.
    pub usage: TokenUsage,
}

/// An old result, put in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortened {
    /// Where the result stands.
    pub of: MessageSeq,
    /// The text.
    pub text: String,
    /// Why whoever wrote it stopped: only a text that is whole is kept.
    pub stop: StopReason,
    /// What making it used.
    pub usage: TokenUsage,
}

/// What a model call used that was to put an old result in short, and gave nothing that can be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortenedInVain {
    /// What is known of it.
    pub used: PartialUse,
    /// What the model was shown, in tokens, roughly.
    pub shown: u64,
}

/// What the chokepoint says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It may run.
    Allow {
        /// What it touches.
        profile: ResourceProfile,
    },
    /// A person must decide.
    NeedsApproval {
        /// What the person is told.
        prompt: Option<String>,
        /// Whose approval it takes.
        terms: Box<ApprovalTerms>,
        /// What it touches.
        profile: ResourceProfile,
    },
    /// The arguments do not fit the tool's schema.
    Invalid {
        /// Why.
        detail: String,
    },
    /// The policy refuses it.
    Deny {
        /// Why.
        reason: String,
        /// By which rule.
        rule: Option<String>,
    },
    /// A hook puts these arguments, which fit the schema, in place of those that were asked about.
    Rewritten {
        /// The arguments, exactly.
        arguments: String,
        /// The name of the hook; the last of several.
        by: String,
        /// What is said of a call with them.
        ruling: Box<Ruling>,
    },
    /// A hook gives its result: once it may run, it does not.
    Answered {
        /// What the model is told.
        output: ToolOutput,
        /// Whether it may run: allowed, or once people have approved it.
        ruling: Box<Ruling>,
    },
    /// A hook ends the turn on an error.
    Failed {
        /// Why.
        detail: String,
    },
    /// The gate did not answer in time, or failed. A denial.
    Unavailable {
        /// Why.
        detail: String,
    },
}
