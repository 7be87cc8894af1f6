//! The actions that the engine asks a runtime to perform. They are plain values, so tests can compare whole lists.

use std::sync::Arc;

use crate::engine::RunOutcome;
use crate::machine::Successor;
use crate::store::{Commit, MessageRange, Staging};
use crate::time::Timestamp;
use crate::words::children::{ChildPlan, Children, ReplyTo, Unanswered};
use crate::words::custom::CustomState;
use crate::words::ending::{CancelReason, Ending};
use crate::words::gate::GateQuestion;
use crate::words::hook::StepEnded;
use crate::words::ids::{CallId, InboxSeq, MessageSeq, PendingId, StepNumber, ToolName, TurnNumber};
use crate::words::list::SharedList;
use crate::words::message::Message;
use crate::words::mode::Mode;
use crate::words::usage::Usage;

/// The id of an action. Several actions may be in progress at once. Each action with an id is answered once, in any
/// order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId(pub u64);

/// An action that the runtime must perform now.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Read data from the store. Answer: [`Reply::Read`](super::Reply::Read).
    Read {
        /// The id for the answer.
        id: ActionId,
        /// Messages to read; none if empty.
        messages: Vec<MessageRange>,
        /// Read the inbox after this item, up to its end.
        inbox_after: InboxSeq,
        /// True to take the waiting interrupt ([`take_interrupt`](crate::store::StateStore::take_interrupt)).
        interrupt: bool,
    },
    /// Prepare the surroundings of the turn, and tell hooks that the turn begins. The surroundings may be partly
    /// prepared already. A turn that is stopped meanwhile waits for the answer before it frees them, so the answer
    /// must come within a time limit. Answer: [`Reply::Provisioned`](super::Reply::Provisioned).
    Provision {
        /// The id for the answer.
        id: ActionId,
        /// The turn.
        turn: TurnNumber,
    },
    /// Ask the model. Answer: [`Reply::ModelAnswered`](super::Reply::ModelAnswered).
    CallModel {
        /// The id for the answer.
        id: ActionId,
        /// The call.
        call: ModelCall,
    },
    /// Ask the code that plans the session for its next decisions. Answer: [`Reply::Planned`](super::Reply::Planned), as
    /// soon as the code waits for results.
    Plan {
        /// The id for the answer.
        id: ActionId,
        /// True to begin the code first. It is false only if this run has begun it.
        begins: bool,
        /// The messages of the transcript that the code is told again first, to be read from the store. `None` if there
        /// are none.
        again: Option<MessageRange>,
        /// The messages that the code is told then, in order.
        told: Vec<(MessageSeq, Arc<Message>)>,
        /// The most calls that the code may add.
        room: usize,
    },
    /// Summarise old messages. [`compaction`](crate::engine::compaction) decides where to cut and builds the
    /// request to the model. Answer within the agent's time limit: [`Reply::Summarised`](super::Reply::Summarised).
    Summarise {
        /// The id for the answer.
        id: ActionId,
        /// The next step, or the step that the provider refused as too long.
        step: StepNumber,
        /// The agent's model that writes the summary, as in [`ModelCall::model`].
        model: u32,
        /// True if a caller requested the summary. Then it is made even if the old messages are short.
        asked: bool,
        /// The number of times that a provider refused this step as too long. The more refusals, the fewer messages
        /// stay.
        refused: u32,
        /// For a handoff: the last message of the old conversation. The messages up to it are reduced to an extract
        /// for the goal that follows them.
        handoff: Option<MessageSeq>,
        /// The number of the attempt, from 0 for each model. Only an extract is retried.
        attempt: u32,
        /// The messages that the model is shown now.
        shown: Shown,
    },
    /// Summarise old results before they are cleared. Each summary may take
    /// [`IN_SHORT_MS_MAX`](crate::engine::compaction::IN_SHORT_MS_MAX), and at most
    /// [`IN_SHORT_AT_ONCE`](crate::engine::compaction::IN_SHORT_AT_ONCE) are made at once. The run does not wait
    /// for them. Answer: [`Reply::Shortened`](super::Reply::Shortened).
    Shorten {
        /// The id for the answer.
        id: ActionId,
        /// The step that has ended.
        step: StepNumber,
        /// The agent's model that writes the summaries, as in [`ModelCall::model`].
        model: u32,
        /// The places of the results.
        results: Vec<MessageSeq>,
        /// The messages that the model is shown now, including these results.
        shown: Shown,
    },
    /// Stop listening to the model, because its answer is no longer needed. Answer at once:
    /// [`Reply::ModelStopped`](super::Reply::ModelStopped), with the text that has arrived.
    StopModel {
        /// The [`Action::CallModel`] or [`Action::Summarise`] to stop.
        of: ActionId,
    },
    /// Ask the gate: schema, then hooks, then policy. The policy has five seconds for each call; a timeout or an
    /// error denies the call. Answer: [`Reply::Consulted`](super::Reply::Consulted), with a ruling for every question.
    Consult {
        /// The id for the answer.
        id: ActionId,
        /// The calls in question.
        questions: Vec<GateQuestion>,
    },
    /// Check whether this call, which the model has written in an unfinished answer, may begin early. Use only
    /// local data, and ask no person. Answer: [`Reply::Foreseen`](super::Reply::Foreseen).
    Foresee {
        /// The id for the answer.
        id: ActionId,
        /// The call in question.
        question: GateQuestion,
    },
    /// Begin this read if the lease is still valid, and keep its result. There is no answer and no event.
    /// [`RunCalls`](Self::RunCalls) later takes the result, or [`DropEarly`](Self::DropEarly) drops it.
    RunEarly {
        /// The call. It changes nothing, so no start mark is written for it.
        call: CallOut,
    },
    /// Stop these calls, which began early, and drop their results, because the calls will not run in this form.
    /// There is no answer. They are cleaned up before the surroundings are freed.
    DropEarly {
        /// The calls.
        calls: Vec<CallId>,
        /// The instant until which to wait for them.
        until: Timestamp,
    },
    /// Ask the hooks about a step that has ended. Each hook has a time limit. Answer:
    /// [`Reply::HooksRan`](super::Reply::HooksRan).
    RunHooks {
        /// The id for the answer.
        id: ActionId,
        /// The step.
        step: Box<StepEnded>,
    },
    /// Send these calls at the same time, if the lease is still valid. A call that began early with the same data
    /// is not sent again: its result is taken, and passes the hooks that see results. Answer for each call:
    /// [`Reply::CallEnded`](super::Reply::CallEnded) or [`Reply::CallUnsent`](super::Reply::CallUnsent).
    RunCalls {
        /// The calls. Their intents, start marks and approvals are durable, as far as their effect class requires
        /// it.
        calls: Vec<CallOut>,
        /// The stream of deltas in which the calls may be shown as running. It is the stream of the model's answer
        /// if the answer is not being written to the store yet, otherwise `own`.
        stream: u32,
        /// The stream of the step's calls. They are shown in it from the commit of the answer until the step ends.
        own: u32,
    },
    /// Ask these calls to stop. Stop a call that has not returned at `until`, and find out whether it acted. Answer for
    /// each call, as soon as the result is known: [`Reply::CallEnded`](super::Reply::CallEnded). Finding out and the
    /// cleanup of the tool have limits of their own. A call that returns by itself is answered with its result.
    StopCalls {
        /// The calls.
        calls: Vec<CallId>,
        /// The reason, which the tools see.
        reason: CancelReason,
        /// The instant until which the calls may return by themselves.
        until: Timestamp,
    },
    /// Make results and start marks durable before the step ends. Answer: [`Reply::Staged`](super::Reply::Staged).
    StageResult {
        /// The id for the answer.
        id: ActionId,
        /// The results and marks.
        staging: Staging,
    },
    /// Make all decisions so far durable. After an unknown outcome, repeat the same commit until it is answered or
    /// the lease ends. Answer: [`Reply::Committed`](super::Reply::Committed).
    Commit {
        /// The id for the answer.
        id: ActionId,
        /// The commit.
        commit: Box<Commit>,
    },
    /// Wait until an instant, which is at most a second away. Answer: [`Reply::Slept`](super::Reply::Slept).
    Sleep {
        /// The id for the answer.
        id: ActionId,
        /// The instant.
        until: Timestamp,
    },
    /// Create the children of this plan that do not exist yet, each with its task, or give the tasks to the remote
    /// agent of the plan. The names of a child follow from the pending id
    /// ([`ChildNames`](crate::words::children::ChildNames)), so repeating this is harmless. If a child cannot be
    /// created, deliver the error to this session in place of its outcome. Answer:
    /// [`Reply::ChildrenStarted`](super::Reply::ChildrenStarted).
    StartChildren {
        /// The id for the answer.
        id: ActionId,
        /// The children.
        plan: Box<ChildPlan>,
    },
    /// Abort the children of a call that have not ended, or the successors of a child that was handed over. A child
    /// that does not exist is first created without its task, so that a later attempt to create it finds it aborted.
    /// A remote agent is asked to stop the tasks. Answer: [`Reply::ChildrenStopped`](super::Reply::ChildrenStopped).
    StopChildren {
        /// The id for the answer.
        id: ActionId,
        /// The children.
        children: Children,
    },
    /// Look for these children, and change nothing in them. If a child does not exist, deliver a failure to this
    /// session in place of its outcome. Ask remote agents for outcomes, and deliver these. Also look at the sessions
    /// that took over from this one. Answer: [`Reply::ChildrenFound`](super::Reply::ChildrenFound).
    FindChildren {
        /// The id for the answer.
        id: ActionId,
        /// The children that have not answered yet.
        children: Vec<Unanswered>,
        /// The ids from which the names of the sessions that took over follow.
        successors: Vec<PendingId>,
    },
    /// Stop these children, then create the session that takes over, then send the outcome to each address. Repeat
    /// all of it even if it was done before. A parent that does not exist, or no longer waits, counts as notified.
    /// Answer: [`Reply::OthersTold`](super::Reply::OthersTold) or
    /// [`Reply::NotHandedOver`](super::Reply::NotHandedOver).
    TellOthers {
        /// The id for the answer.
        id: ActionId,
        /// The children to stop.
        children: Vec<Children>,
        /// The addresses to which the outcome is sent.
        replies: Vec<ReplyTo>,
        /// The session that takes over: a fork of this one from its newest checkpoint, with a goal.
        successor: Option<Box<Successor>>,
        /// The outcome of the turn.
        outcome: Box<Outcome>,
    },
    /// Free the surroundings of the turn, and tell hooks that the turn ends. Answer:
    /// [`Reply::TornDown`](super::Reply::TornDown).
    TearDown {
        /// The id for the answer.
        id: ActionId,
    },
    /// There is nothing to start. Come back with a reply, with news, or at an instant.
    Await {
        /// The latest instant at which to come back ([`Reply::TimePassed`](super::Reply::TimePassed)).
        until: Option<Timestamp>,
    },
    /// The run is over. The runtime drops all actions that are still in progress.
    Exit(RunOutcome),
}

/// A model call: the data from which the runtime builds a
/// [`ModelRequest`](crate::words::model::ModelRequest).
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// The step. Steps are counted over the session.
    pub step: StepNumber,
    /// The number of the attempt, from 0.
    pub attempt: u32,
    /// The model to ask: 0 is the agent's first model, 1 its first fallback, and so on.
    pub model: u32,
    /// The number of the call's stream of deltas. Numbers count up from 1 in each run.
    pub stream: u32,
    /// The messages that the model sees.
    pub shown: Shown,
    /// A note for this request only, after all messages. It is not stored.
    pub note: Option<String>,
    /// The tools of the agent that are withheld from the model in this step, in addition to those that the mode
    /// leaves out.
    pub withheld: Vec<String>,
    /// The mode.
    pub mode: Mode,
    /// The message with the system prompt that replaces the agent's. 0: the agent's own prompt is used.
    pub prompt: MessageSeq,
}

/// The messages of a session that a model sees.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
    /// The places in the transcript that are shown, in order.
    pub ranges: Vec<MessageRange>,
    /// The newest message at the claim. Messages up to this one are read from the store, once.
    pub claimed: MessageSeq,
    /// All messages that were added since the claim, in order. They may be hidden from the model or not committed
    /// yet.
    pub added: SharedList<(MessageSeq, Arc<Message>)>,
    /// Tool results up to this message are shown as cleared.
    pub cleared: MessageSeq,
    /// Tool results up to this message are cut to `PART_CHARS` characters.
    pub in_part: MessageSeq,
}

impl Shown {
    /// Returns the places that must be read from the store, in order.
    pub fn to_read(&self) -> Vec<MessageRange> {
        let clipped =
            self.ranges.iter().map(|range| MessageRange::new(range.from, range.to.min(self.claimed)));
        clipped.filter(|range| range.from <= range.to).collect()
    }

    /// Returns all messages that are shown, in order. `read` holds the messages at the places of
    /// [`to_read`](Self::to_read). The messages are as stored, and include kinds that no model sees.
    pub fn messages<'a>(
        &'a self,
        read: &'a [(MessageSeq, Arc<Message>)],
    ) -> impl Iterator<Item = &'a (MessageSeq, Arc<Message>)> {
        self.ranges.iter().flat_map(move |range| self.messages_in(*range, read))
    }

    /// Returns the messages that lie in this range.
    pub(crate) fn messages_in<'a>(
        &'a self,
        range: MessageRange,
        read: &'a [(MessageSeq, Arc<Message>)],
    ) -> impl Iterator<Item = &'a (MessageSeq, Arc<Message>)> {
        let in_range = move |(seq, _): &&(MessageSeq, Arc<Message>)| range.contains(*seq);
        // Messages that were read lie before the claim, so later ranges skip them.
        let read = if range.from <= self.claimed { read } else { &[] };
        let from = self.added.partition_point(|(seq, _)| *seq < range.from);
        let to = self.added.partition_point(|(seq, _)| *seq <= range.to);
        read.iter().filter(in_range).chain(self.added.range(from..to))
    }

    /// Returns the newest message that is shown.
    pub fn newest(&self) -> MessageSeq {
        self.ranges.iter().map(|range| range.to).max().unwrap_or_default()
    }
}

/// A call to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOut {
    /// The id of the call.
    pub id: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The arguments, exactly as they were allowed.
    pub arguments: String,
    /// The idempotency key: the same for every send of this call, and never used for another call (INV-14).
    pub idempotency_key: String,
    /// The time limit of the call, in milliseconds. `None`: no limit.
    pub timeout_ms: Option<u64>,
    /// The custom state of the session at the start of the step.
    pub state: CustomState,
}

/// The outcome of a turn, for those who wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The turn.
    pub turn: TurnNumber,
    /// The ending.
    pub ending: Ending,
    /// The messages of the turn, including its last answer. All of them are durable. The range is empty if the turn
    /// has none.
    pub said: MessageRange,
    /// The usage of the turn.
    pub usage: Usage,
}
