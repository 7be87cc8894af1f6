//! The event log of a session, which followers read.
//!
//! Events are committed together with the changes that they report. The event for a message holds the
//! position of the message, not a copy. The event for a running call shows its arguments in short form,
//! without values that look like secrets (see [`parameters`](crate::words::parameters)).
//!
//! The main events of a turn, in order:
//!
//! | event | when | how often |
//! |---|---|---|
//! | [`Init`](Event::Init) | a turn begins; this is its first event | once |
//! | [`RunStarted`](Event::RunStarted) | a run claims the session | at most once per run |
//! | [`StepStarted`](Event::StepStarted) | the model is about to be asked | once per step |
//! | [`Message`](Event::Message), [`Call`](Event::Call) | message appended; call began, waits or ended | varies |
//! | [`StepEnded`](Event::StepEnded) | the calls of the step have ended, or the turn ends | once per step |
//! | [`Error`](Event::Error) | the turn has failed | at most once |
//! | [`AgentEnd`](Event::AgentEnd) | other sessions are informed, and the surroundings are freed | once |
//! | [`Done`](Event::Done) | the turn has ended; this is its last event | once |
//!
//! Events, steps and turns are numbered across the whole session. The rows of the machine's history are also
//! events; they are written before the events that end a turn.

use serde::{Deserialize, Serialize};

use crate::store::{OutcomeKind, PendingKind, SessionStatus, StreamId};
use crate::time::Timestamp;
use crate::words::ending::{DoneReason, Ending};
use crate::words::error::ErrorInfo;
use crate::words::history::{self, HistoryRow};
use crate::words::ids::{
    CallId, CheckpointId, Epoch, MessageSeq, PendingId, SessionId, SessionKey, StepNumber, TurnNumber,
};
use crate::words::message::Mentions;
use crate::words::mode::Mode;
use crate::words::parameters::Parameters;
use crate::words::payload::is_default;
use crate::words::plan::Divergence;
use crate::words::run::RunKind;
use crate::words::suspension::Owed;
use crate::words::usage::Usage;

/// The reason for a summary of old messages.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryCause {
    /// The old messages exceed the agent's threshold, or the provider refused them as too long.
    #[default]
    TooLong,
    /// A request from outside.
    Asked,
    /// A handoff of the session to a new one.
    Handoff,
}

/// An event of a session. Its JSON form has a `type`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A turn began. This is the first event of a turn.
    Init {
        /// The number of the turn.
        turn: TurnNumber,
        /// The session. In a fork, copied events name the source session. `None` in events of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
    },
    /// A step began: the model is about to be asked. Written exactly once per step.
    StepStarted {
        /// The number of the step in the session.
        step: StepNumber,
    },
    /// A step ended: all of its calls have ended, it had no calls, or the turn ends. Written exactly once per
    /// step.
    StepEnded {
        /// The number of the step in the session.
        step: StepNumber,
    },
    /// The mode or the system prompt of the agent changed.
    Briefed {
        /// The new mode. `None` if the mode did not change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
        /// The position of the new system prompt. `None` if the prompt did not change; 0 if the agent's own
        /// prompt applies again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<MessageSeq>,
    },
    /// The surroundings of the turn are provisioned. Not written if they have no descriptions.
    Provisioned {
        /// Descriptions of the provisioned surroundings, for people.
        what: Vec<String>,
    },
    /// A run claimed the session. Written with the first commit of the run, unless the run leaves without a change.
    RunStarted {
        /// The number of the run.
        run: Epoch,
        /// The status of the session before the claim. Active means that the previous run died.
        found: SessionStatus,
        /// The purpose of the run, if the status does not imply it
        /// ([`RunKind::by_status`](crate::engine::RunKind::by_status)).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<RunKind>,
    },
    /// A message was appended.
    Message {
        /// The position of the message.
        seq: MessageSeq,
        /// The wire name of the message's role.
        role: String,
        /// The stream that this message completes, if a model wrote the message. The deltas of that stream
        /// are now void.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stream: Option<StreamId>,
        /// The files that the message mentions, as its sender saw them.
        #[serde(default, skip_serializing_if = "Mentions::is_empty")]
        mentions: Mentions,
    },
    /// A call started, began to wait, or ended.
    Call {
        /// The id of the call.
        call: CallId,
        /// The tool of the call.
        tool: String,
        /// The wire name of the new state.
        is: String,
        /// The parameters of the call in short form, if this event reports its start. Empty otherwise.
        #[serde(default, skip_serializing_if = "Parameters::is_empty")]
        parameters: Parameters,
        /// The time that the call ran, in milliseconds, if this event reports that the call has returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// A call waits for an answer: a person's decision, a client's result, or the outcomes of children. Also, a call that
    /// ended in doubt can now be [settled](Event::CallSettled).
    Asked {
        /// The id of the call.
        call: CallId,
        /// The tool of the call.
        tool: String,
        /// The kind of the answer that the call needs.
        kind: PendingKind,
        /// The id of the pending call. Answers must name it.
        pending: PendingId,
        /// The reason for asking, cut after 1000 characters. If the call is asked about again because an answer was
        /// invalid, the details are only in the [pending call](crate::words::message::PendingBody), because they
        /// may quote that answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The number of children that answer the call, or 0 if no children do. Their ids are derived from
        /// `pending` ([`ChildNames`](crate::children::ChildNames)).
        #[serde(default, skip_serializing_if = "is_default")]
        children: u32,
    },
    /// Background children began. The parent does not wait for them.
    Began {
        /// The sub-agent, by the name under which the model calls it.
        agent: String,
        /// The id from which the ids of the children are derived
        /// ([`ChildNames`](crate::children::ChildNames)).
        pending: PendingId,
        /// The number of children.
        children: u32,
        /// The call that began the children. `None` if a request from outside did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },
    /// A background child was not begun, although a request from outside asked for it.
    NotBegun {
        /// The sub-agent, by the name under which the model calls it.
        agent: String,
        /// The id from which the id of the child would have been derived.
        pending: PendingId,
        /// The reason why the child was not begun.
        why: String,
    },
    /// A call has waited for a long time, and more people may now decide on it.
    Escalated {
        /// The id of the call.
        call: CallId,
        /// The tool of the call.
        tool: String,
        /// The id of the pending call. Answers must name it.
        pending: PendingId,
        /// The people who may now decide in addition.
        to: Vec<String>,
    },
    /// A call that ended in doubt was settled by hand. Its result did not change.
    CallSettled {
        /// The id of the call.
        call: CallId,
        /// The tool of the call.
        tool: String,
        /// The id of the pending call that asked what became of the call.
        pending: PendingId,
        /// True if the call was done, false if it did not act.
        done: bool,
        /// The name of the person or program that settled the call, cut after 1000 characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A warning: calls that could run in parallel changed the same key of the custom state, and the result depends
    /// on their order. The later call won.
    StateConflict {
        /// The key in the custom state.
        key: String,
        /// The calls, in call order.
        calls: Vec<CallId>,
    },
    /// Code that plans the session decided otherwise than the transcript records. The turn waits for other code, with
    /// all that it has. Reported once for each place at which code diverges.
    Diverged {
        /// The place.
        found: Divergence,
    },
    /// The run exits, because the turn must wait or another run is to continue it.
    Suspended {
        /// The kind of the suspension.
        kind: OutcomeKind,
        /// The instant at which the turn continues by itself. `None` if it waits only for others, without a deadline.
        until: Option<Timestamp>,
        /// The answers, outcomes and timers that the turn waits for. Empty if another run is to continue it.
        owed: Vec<Owed>,
    },
    /// The model call failed, and the model is asked again later.
    BackingOff {
        /// The instant of the next attempt.
        until: Timestamp,
        /// The number of the next attempt.
        attempt: u32,
        /// The error of the last attempt.
        error: ErrorInfo,
    },
    /// The step continues with another model of the agent, because the previous model failed.
    FellBack {
        /// The name of the new model.
        model: String,
        /// The error of the previous model.
        error: ErrorInfo,
    },
    /// A call could not be run or gave no result, and it is sent again later.
    CallRetried {
        /// The id of the call.
        call: CallId,
        /// The tool of the call.
        tool: String,
        /// The instant at which the call is sent again.
        until: Timestamp,
        /// The number of the next try. The first try was number 0.
        attempt: u32,
        /// The reason why the call gave no result.
        why: String,
    },
    /// A call could not be run or gave no result, and the fallback of its tool is called in its place.
    CallFellBack {
        /// The id of the call.
        call: CallId,
        /// The tool that was called before.
        from: String,
        /// The tool that is called in its place, if the gate allows it.
        to: String,
        /// The reason why the call gave no result.
        why: String,
    },
    /// The circuit of the turn opened, because too many calls in a row could not be run or gave no result.
    CircuitOpened {
        /// The number of these calls.
        calls: u32,
        /// The reason why the last of these calls gave no result, cut after 1000 characters.
        why: String,
    },
    /// A summary of old messages begins.
    CompactionStarted {
        /// The number of tokens that the model would read.
        tokens: u64,
        /// The number of tokens above which old messages are summarised. 0 if they are never summarised
        /// automatically.
        threshold: u64,
        /// The reason for the summary.
        #[serde(default, skip_serializing_if = "is_default")]
        cause: SummaryCause,
    },
    /// A summary of old messages ended: it was made, it failed, or there was nothing to summarise. Not written if
    /// the summary was stopped.
    CompactionEnded {
        /// The number of tokens that the model read before the summary.
        before: u64,
        /// The number of tokens that the model reads from now on.
        after: u64,
        /// The usage of the summary itself.
        usage: Usage,
        /// The error, if the summary failed. If there is no summary, `before` and `after` are equal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
        /// The reason for the summary.
        #[serde(default, skip_serializing_if = "is_default")]
        cause: SummaryCause,
    },
    /// The session began as a fork. All events before this one are copies from the source.
    Forked {
        /// The source session of the fork.
        from: SessionKey,
        /// The checkpoint of the source at which the fork began.
        at: CheckpointId,
        /// The position of the goal, if the fork is a handoff.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<MessageSeq>,
    },
    /// Freeing the surroundings of the turn failed, or was not tried, because earlier runs died or could not go on.
    /// The outcome of the turn does not change.
    TeardownFailed {
        /// The error of the teardown.
        error: ErrorInfo,
    },
    /// The turn failed and ends. Written before `done`, at most once per turn.
    Error {
        /// The error that ends the turn.
        error: ErrorInfo,
    },
    /// The turn ended. This is the last event of a turn, written exactly once (INV-12).
    Done {
        /// The number of the turn.
        turn: TurnNumber,
        /// The reason and details of the ending.
        #[serde(flatten)]
        ending: Ending,
        /// The total usage of the session so far.
        usage: Usage,
    },
    /// The agent has left the turn: others are informed of the outcome, and the surroundings are freed or could not
    /// be freed. Written exactly once per turn, before `done` (INV-12).
    AgentEnd {
        /// The number of the turn.
        turn: TurnNumber,
        /// The session that the turn belongs to. `None` in events of older versions, and for a turn that a fork
        /// ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// The number of completed model calls in the turn.
        steps: u32,
        /// The reason for which the turn ended. `None` in events of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<DoneReason>,
    },
    /// The transitions of the machine since the last commit.
    History {
        /// The transitions, in order.
        #[serde(with = "history::compact")]
        #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
        rows: Vec<HistoryRow>,
    },
}

impl Event {
    /// Returns the event as watchers are shown it: the rows of a history are
    /// [redacted](history::HistoryRow::redacted).
    #[must_use]
    pub fn redacted(self) -> Self {
        if let Self::History { rows } = self {
            return Self::History { rows: rows.into_iter().map(HistoryRow::redacted).collect() };
        }
        self
    }
}
