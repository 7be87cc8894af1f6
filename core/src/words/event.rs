//! The event log of a session, which its followers read.
//!
//! Events are committed with the changes that they report. An event for a message holds the message's place,
//! not a copy. An event for a call that is out shows its arguments in short, without values that look like
//! secrets ([`shown_parameters`](crate::words::parameters::shown_parameters)).
//!
//! The order within a turn:
//!
//! | event | when | how often |
//! |---|---|---|
//! | [`Init`](Event::Init) | first of all, so the first event of a session, too | once |
//! | [`RunStarted`](Event::RunStarted) | a run takes the turn up | once a run |
//! | [`StepStarted`](Event::StepStarted) | the model is about to be asked | once a step |
//! | [`Message`](Event::Message), [`Call`](Event::Call) | something was said, a call is out, a call has ended | |
//! | [`StepEnded`](Event::StepEnded) | its calls have ended, or the turn ends | once a step |
//! | [`Error`](Event::Error) | the turn has failed | once, if it fails |
//! | [`AgentEnd`](Event::AgentEnd) | what it held is freed | once |
//! | [`Done`](Event::Done) | last of all | once |
//!
//! Events are numbered through the whole session, and so are steps and turns. The rows of the machine's
//! history stand between them, before the events that end a turn.

use serde::{Deserialize, Serialize};

use crate::store::{OutcomeKind, PendingKind, SessionStatus, StreamId};
use crate::time::Timestamp;
use crate::words::ending::{DoneReason, Ending};
use crate::words::error::ErrorInfo;
use crate::words::history::{self, HistoryRow};
use crate::words::ids::{
    CallId, CheckpointId, Epoch, MessageSeq, PendingId, SessionId, SessionKey, StepNumber, TurnNumber,
};
use crate::words::mode::Mode;
use crate::words::parameters::Parameters;
use crate::words::payload::is_default;
use crate::words::run::RunKind;
use crate::words::suspension::Owed;
use crate::words::usage::Usage;

/// Why what is old is summarised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryCause {
    /// It is more than the model should be shown, or can be.
    #[default]
    TooLong,
    /// Somebody asked for it.
    Asked,
    /// It is handed over to a new session.
    Handoff,
}

/// One event. JSON with a `type`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A turn began. The first event of a turn.
    Init {
        /// Which turn.
        turn: TurnNumber,
        /// Of which session. A fork shows that of its source in what it has copied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
    },
    /// A step began: the model is about to be asked. Exactly once a step.
    StepStarted {
        /// Which step of the session.
        step: StepNumber,
    },
    /// A step is over: all of its calls have ended, or it had none, or the turn ends. Exactly once a step.
    StepEnded {
        /// Which step of the session.
        step: StepNumber,
    },
    /// Somebody said how the agent works from here on.
    Briefed {
        /// In which mode; none: as before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
        /// Where the system prompt stands that replaces the agent's; none: as before. 0: the agent's again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<MessageSeq>,
    },
    /// What the turn needs is ready.
    Provisioned {
        /// What that is, as people are told of it.
        what: Vec<String>,
    },
    /// A run took the session up. Written with the first commit of the run.
    RunStarted {
        /// Which run.
        run: Epoch,
        /// The status it found; active means that the run before it died.
        found: SessionStatus,
        /// What it was begun for, where that status does not say so
        /// ([`RunKind::by_status`](crate::engine::RunKind::by_status)).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<RunKind>,
    },
    /// A message was appended.
    Message {
        /// Its place.
        seq: MessageSeq,
        /// Whose it is.
        role: String,
        /// The stream that it ends, if a model said it: the deltas of that stream are void.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stream: Option<StreamId>,
    },
    /// A call is in a new state.
    Call {
        /// Which call.
        call: CallId,
        /// Of which tool.
        tool: String,
        /// The wire name of its state.
        is: String,
        /// Its parameters in short, once it is out.
        #[serde(default, skip_serializing_if = "Parameters::is_empty")]
        parameters: Parameters,
        /// How long it was out, in milliseconds, once it came back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// Somebody outside is asked about a call: a person for approval, or its client for its result.
    Asked {
        /// About which call.
        call: CallId,
        /// Of which tool.
        tool: String,
        /// Who is asked.
        kind: PendingKind,
        /// What it is answered under.
        pending: PendingId,
        /// Why, in at most 1000 characters. What is wrong with an answer that is asked for anew may repeat it: that is said
        /// to whoever is asked alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A call waits for long, and more people may decide on it.
    Escalated {
        /// On which call.
        call: CallId,
        /// Of which tool.
        tool: String,
        /// What it is answered under.
        pending: PendingId,
        /// These people.
        to: Vec<String>,
    },
    /// A warning: calls that ran side by side changed one key of the custom state. The later of them won.
    StateConflict {
        /// Which key.
        key: String,
        /// Which calls, in call order.
        calls: Vec<CallId>,
    },
    /// The run exits because it must wait.
    Suspended {
        /// Why.
        kind: OutcomeKind,
        /// When time alone wakes it.
        until: Option<Timestamp>,
        /// What is owed.
        owed: Vec<Owed>,
    },
    /// The model is asked again later.
    BackingOff {
        /// When.
        until: Timestamp,
        /// The attempt that comes.
        attempt: u32,
        /// Why.
        error: ErrorInfo,
    },
    /// The step is asked of another model of the agent from now on.
    FellBack {
        /// Which.
        model: String,
        /// Why the one before it is not asked any more.
        error: ErrorInfo,
    },
    /// A call could not be run, and is sent again later.
    CallRetried {
        /// Which.
        call: CallId,
        /// Of which tool.
        tool: String,
        /// When.
        until: Timestamp,
        /// The try that comes; the first was 0.
        attempt: u32,
        /// Why.
        why: String,
    },
    /// So many calls in a row could not be run that the agent's circuit is open.
    CircuitOpened {
        /// How many.
        calls: u32,
        /// Why the last of them could not be run, in at most 1000 characters.
        why: String,
    },
    /// What is old is about to be summarised.
    CompactionStarted {
        /// How many tokens the model would be shown.
        tokens: u64,
        /// Beyond how many that is done.
        threshold: u64,
        /// Why it is done now.
        #[serde(default, skip_serializing_if = "is_default")]
        cause: SummaryCause,
    },
    /// What is old was summarised, or not.
    CompactionEnded {
        /// How many tokens the model was shown.
        before: u64,
        /// How many it is shown now.
        after: u64,
        /// What it used.
        usage: Usage,
        /// What went wrong; then, and if there was nothing to summarise, both numbers are the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
        /// Why it was done.
        #[serde(default, skip_serializing_if = "is_default")]
        cause: SummaryCause,
    },
    /// The session began as a fork. What stands before is a copy.
    Forked {
        /// Of which session.
        from: SessionKey,
        /// From which of its checkpoints.
        at: CheckpointId,
        /// Where the goal stands that it was handed; none if it is no handoff.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<MessageSeq>,
    },
    /// Freeing what the turn held failed. Its outcome stands.
    TeardownFailed {
        /// Why.
        error: ErrorInfo,
    },
    /// The turn has failed, and ends. Before its `done`, at most once a turn.
    Error {
        /// Why.
        error: ErrorInfo,
    },
    /// The turn ended. Exactly once a turn, and its last event (INV-12).
    Done {
        /// Which turn.
        turn: TurnNumber,
        /// How.
        #[serde(flatten)]
        ending: Ending,
        /// What the session has used.
        usage: Usage,
    },
    /// The agent has left the turn; what it held is freed. Exactly once a turn, before `done` (INV-12).
    AgentEnd {
        /// Which turn.
        turn: TurnNumber,
        /// Of which session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// Finished model calls of the turn.
        steps: u32,
        /// Why the turn ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<DoneReason>,
    },
    /// The transitions since the last commit.
    History {
        /// In order.
        #[serde(with = "history::compact")]
        rows: Vec<HistoryRow>,
    },
}
