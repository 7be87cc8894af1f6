//! The event log of a session, which its followers read.
//!
//! Events are committed with the changes that they report. An event for a message holds the message's place,
//! not a copy. An event for a call that is out shows its arguments in short, without values that look like
//! secrets (see [`parameters`](crate::words::parameters)).
//!
//! The order within a turn:
//!
//! | event | when | how often |
//! |---|---|---|
//! | [`Init`](Event::Init) | a turn begins; this is its first event | once |
//! | [`RunStarted`](Event::RunStarted) | a run takes the turn up | once a run |
//! | [`StepStarted`](Event::StepStarted) | the model is about to be asked | once a step |
//! | [`Message`](Event::Message), [`Call`](Event::Call) | a message was appended; a call is in a new state | |
//! | [`StepEnded`](Event::StepEnded) | the calls of the step have ended, or the turn ends | once a step |
//! | [`Error`](Event::Error) | the turn has failed | once, if it fails |
//! | [`AgentEnd`](Event::AgentEnd) | the surroundings of the turn are freed | once |
//! | [`Done`](Event::Done) | the turn has ended; this is its last event | once |
//!
//! Events, steps and turns are numbered through the whole session. The rows of the machine's history stand
//! between the events, before those that end a turn.

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

/// The reason for which old messages are summarised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryCause {
    /// The old messages are more than the model should be shown, or can be shown.
    #[default]
    TooLong,
    /// Somebody asked for the summary.
    Asked,
    /// The session is handed over to a new one.
    Handoff,
}

/// An event of a session. JSON with a `type`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A turn began. The first event of a turn.
    Init {
        /// The turn.
        turn: TurnNumber,
        /// The session. In a fork, the copied events name the source.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
    },
    /// A step began: the model is about to be asked. Exactly once a step.
    StepStarted {
        /// The step, counted over the session.
        step: StepNumber,
    },
    /// A step is over: all of its calls have ended, or it had none, or the turn ends. Exactly once a step.
    StepEnded {
        /// The step, counted over the session.
        step: StepNumber,
    },
    /// Somebody said how the agent works from now on.
    Briefed {
        /// The new mode; none: as before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
        /// The place of the system prompt that replaces the agent's; none: as before. 0: the agent's own
        /// again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<MessageSeq>,
    },
    /// The surroundings of the turn are ready.
    Provisioned {
        /// Descriptions of what was prepared, for people.
        what: Vec<String>,
    },
    /// A run took the session up. Written with the first commit of the run.
    RunStarted {
        /// The run.
        run: Epoch,
        /// The status that the run found; active means that the run before it died.
        found: SessionStatus,
        /// The purpose of the run, if the status does not imply it
        /// ([`RunKind::by_status`](crate::engine::RunKind::by_status)).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<RunKind>,
    },
    /// A message was appended.
    Message {
        /// The place of the message.
        seq: MessageSeq,
        /// The role of its author.
        role: String,
        /// The stream that the message ends, if a model said it. The deltas of that stream are void.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stream: Option<StreamId>,
    },
    /// A call is in a new state.
    Call {
        /// The call.
        call: CallId,
        /// The tool of the call.
        tool: String,
        /// The wire name of the call's state.
        is: String,
        /// The parameters of the call in short, once it is out.
        #[serde(default, skip_serializing_if = "Parameters::is_empty")]
        parameters: Parameters,
        /// How long the call was out, in milliseconds, once it came back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// Somebody outside is asked about a call: a person for approval, a client for its result, or children.
    Asked {
        /// The call.
        call: CallId,
        /// The tool of the call.
        tool: String,
        /// The kind of answer that is asked for.
        kind: PendingKind,
        /// The id of the pending call, under which it is answered.
        pending: PendingId,
        /// The reason for asking, in at most 1000 characters. If an answer was faulty and is asked for again,
        /// the description of the fault may repeat the answer, so only those who are asked see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The number of children that answer, if children do; else 0. Their ids follow from `pending`
        /// ([`ChildNames`](crate::children::ChildNames)).
        #[serde(default, skip_serializing_if = "is_default")]
        children: u32,
    },
    /// Background children began: nobody waits for them.
    Began {
        /// The sub-agent, by the name under which the model calls it.
        agent: String,
        /// The id from which the ids of the children follow ([`ChildNames`](crate::children::ChildNames)).
        pending: PendingId,
        /// The number of children.
        children: u32,
        /// The call that began them; none: somebody outside did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },
    /// A background child that somebody outside asked for was not begun.
    NotBegun {
        /// The sub-agent, by the name under which the model calls it.
        agent: String,
        /// The id from which the id of the child would have followed.
        pending: PendingId,
        /// The reason.
        why: String,
    },
    /// A call has waited for long, and more people may now decide on it.
    Escalated {
        /// The call.
        call: CallId,
        /// The tool of the call.
        tool: String,
        /// The id of the pending call, under which it is answered.
        pending: PendingId,
        /// The people who may now decide too.
        to: Vec<String>,
    },
    /// A warning: calls that ran side by side changed one key of the custom state. The later call won.
    StateConflict {
        /// The key.
        key: String,
        /// The calls, in call order.
        calls: Vec<CallId>,
    },
    /// The run exits because it must wait.
    Suspended {
        /// The kind of suspension.
        kind: OutcomeKind,
        /// The instant at which time alone wakes the session.
        until: Option<Timestamp>,
        /// The things that are owed.
        owed: Vec<Owed>,
    },
    /// The model is asked again later.
    BackingOff {
        /// The instant of the next attempt.
        until: Timestamp,
        /// The number of the next attempt.
        attempt: u32,
        /// The error of the last attempt.
        error: ErrorInfo,
    },
    /// From now on, another model of the agent is asked for the step.
    FellBack {
        /// The new model.
        model: String,
        /// The error because of which the model before it is not asked any more.
        error: ErrorInfo,
    },
    /// A call could not be run, and is sent again later.
    CallRetried {
        /// The call.
        call: CallId,
        /// The tool of the call.
        tool: String,
        /// The instant at which it is sent again.
        until: Timestamp,
        /// The number of the next try; the first was 0.
        attempt: u32,
        /// The reason why it could not be run.
        why: String,
    },
    /// The agent's circuit opened, because too many calls in a row could not be run.
    CircuitOpened {
        /// The number of those calls.
        calls: u32,
        /// The reason why the last of them could not be run, in at most 1000 characters.
        why: String,
    },
    /// A summary of old messages begins.
    CompactionStarted {
        /// The number of tokens that the model would be shown.
        tokens: u64,
        /// The number of tokens beyond which a summary is made.
        threshold: u64,
        /// The reason for the summary.
        #[serde(default, skip_serializing_if = "is_default")]
        cause: SummaryCause,
    },
    /// A summary of old messages was made, or failed, or had nothing to summarise.
    CompactionEnded {
        /// The number of tokens that the model was shown before.
        before: u64,
        /// The number of tokens that the model is shown now.
        after: u64,
        /// The usage of the summary.
        usage: Usage,
        /// The error, if the summary failed. Then, and if there was nothing to summarise, both numbers are
        /// equal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
        /// The reason for the summary.
        #[serde(default, skip_serializing_if = "is_default")]
        cause: SummaryCause,
    },
    /// The session began as a fork. All events before this one are copies.
    Forked {
        /// The source of the fork.
        from: SessionKey,
        /// The checkpoint of the source.
        at: CheckpointId,
        /// The place of the goal, if the fork is a handoff.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<MessageSeq>,
    },
    /// Freeing the surroundings of the turn failed. The outcome of the turn stands.
    TeardownFailed {
        /// The error.
        error: ErrorInfo,
    },
    /// The turn has failed, and ends. Before its `done`, at most once a turn.
    Error {
        /// The error.
        error: ErrorInfo,
    },
    /// The turn ended. Exactly once a turn, and its last event (INV-12).
    Done {
        /// The turn.
        turn: TurnNumber,
        /// The ending.
        #[serde(flatten)]
        ending: Ending,
        /// The usage of the session so far.
        usage: Usage,
    },
    /// The agent has left the turn, and its surroundings are freed. Exactly once a turn, before `done`
    /// (INV-12).
    AgentEnd {
        /// The turn.
        turn: TurnNumber,
        /// The session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// The number of finished model calls of the turn.
        steps: u32,
        /// The reason for which the turn ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<DoneReason>,
    },
    /// The transitions since the last commit.
    History {
        /// The transitions, in order.
        #[serde(with = "history::compact")]
        rows: Vec<HistoryRow>,
    },
}
