//! The actions that a runtime is asked to perform. They are plain values, so a test compares whole lists.

use std::sync::Arc;

use crate::engine::RunOutcome;
use crate::machine::Successor;
use crate::store::{Commit, MessageRange, Staging};
use crate::time::Timestamp;
use crate::words::children::{ChildPlan, Children, ReplyTo, Unanswered};
use crate::words::custom::CustomState;
use crate::words::ending::Ending;
use crate::words::gate::GateQuestion;
use crate::words::hook::StepEnded;
use crate::words::ids::{CallId, InboxSeq, MessageSeq, PendingId, StepNumber, ToolName, TurnNumber};
use crate::words::list::SharedList;
use crate::words::message::Message;
use crate::words::mode::Mode;
use crate::words::usage::Usage;

/// The id of an action. Several actions may be out at once. Each is answered once, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId(pub u64);

/// An action that a runtime must perform now.
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
        /// Whether to take the interrupt that waits
        /// ([`take_interrupt`](crate::store::StateStore::take_interrupt)).
        interrupt: bool,
    },
    /// Prepare the surroundings of the turn, and tell hooks that the turn begins. Surroundings may be half
    /// prepared already. A turn that is stopped meanwhile waits for the answer before it frees anything, so
    /// the answer must come within a time limit. Answer: [`Reply::Provisioned`](super::Reply::Provisioned).
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
    /// Summarise old messages: [`compaction`](crate::engine::compaction) decides where to cut and builds the
    /// request to the model. Answer: [`Reply::Summarised`](super::Reply::Summarised), within the agent's time
    /// limit.
    Summarise {
        /// The id for the answer.
        id: ActionId,
        /// The step that comes.
        step: StepNumber,
        /// The agent's model that writes the summary, as in [`ModelCall::model`].
        model: u32,
        /// Whether somebody asked for the summary. Then it is made even if the old messages are not long.
        asked: bool,
        /// How often a provider has refused this step as too long: the more often, the fewer messages stay.
        refused: u32,
        /// For a handoff, the last message of the old conversation. An extract is made of it, for the goal
        /// behind it.
        handoff: Option<MessageSeq>,
        /// The attempt; 0 for the first one, and for the first one with another model. Only an extract is
        /// retried.
        attempt: u32,
        /// The messages that the model is shown now.
        shown: Shown,
    },
    /// Summarise old results before they are cleared: each within
    /// [`IN_SHORT_MS_MAX`](crate::engine::compaction::IN_SHORT_MS_MAX), at most
    /// [`IN_SHORT_AT_ONCE`](crate::engine::compaction::IN_SHORT_AT_ONCE) of them side by side. The run does
    /// not wait for it. Answer: [`Reply::Shortened`](super::Reply::Shortened).
    Shorten {
        /// The id for the answer.
        id: ActionId,
        /// The step that is over.
        step: StepNumber,
        /// The agent's model that writes the summaries, as in [`ModelCall::model`].
        model: u32,
        /// The places of the results.
        results: Vec<MessageSeq>,
        /// The messages that the model is shown now, including these results.
        shown: Shown,
    },
    /// Stop listening to the model, because its answer is no longer needed. Answer:
    /// [`Reply::ModelStopped`](super::Reply::ModelStopped), at once, with the text that had come.
    StopModel {
        /// The [`Action::CallModel`] or [`Action::Summarise`] to stop.
        of: ActionId,
    },
    /// Ask the gate: schema, then hooks, then policy. It has five seconds; silence and errors deny. Answer:
    /// [`Reply::Consulted`](super::Reply::Consulted), with a ruling for every question.
    Consult {
        /// The id for the answer.
        id: ActionId,
        /// The calls in question.
        questions: Vec<GateQuestion>,
    },
    /// Find out whether this call, which the model has written but not made yet, may begin early. Use only
    /// local data, and ask nobody. Answer: [`Reply::Foreseen`](super::Reply::Foreseen).
    Foresee {
        /// The id for the answer.
        id: ActionId,
        /// The call in question.
        question: GateQuestion,
    },
    /// Begin this read, if the lease still runs, and keep its result. Nobody is told of it, and there is no
    /// answer. The result is asked for with [`RunCalls`](Self::RunCalls), or dropped with
    /// [`DropEarly`](Self::DropEarly).
    RunEarly {
        /// The call. It changes nothing, so no start mark is written for it.
        call: CallOut,
    },
    /// Stop these calls, which were begun early, and forget their results, because the model's answer did not
    /// come. There is no answer. They are cleaned up after before anything is freed.
    DropEarly {
        /// The calls.
        calls: Vec<CallId>,
        /// The instant until which to wait for them.
        until: Timestamp,
    },
    /// Ask the hooks about a step that is over; each is bounded. Answer: [`Reply::HooksRan`](super::Reply::HooksRan).
    RunHooks {
        /// The id for the answer.
        id: ActionId,
        /// The step.
        step: Box<StepEnded>,
    },
    /// Send these calls, side by side, if the lease still runs. A call that was begun early with the same
    /// data is not sent again: its result is taken, and passes the hooks that see results. Answer for each:
    /// [`Reply::CallEnded`](super::Reply::CallEnded), or [`Reply::CallUnsent`](super::Reply::CallUnsent).
    RunCalls {
        /// The calls. Their intents, marks and `allow`s are durable, as far as their class requires it.
        calls: Vec<CallOut>,
        /// The stream of deltas in which the calls may be shown as running: the answer's own stream while its
        /// message is not on its way to the store, else a stream of their own.
        stream: u32,
    },
    /// Stop these calls and find out whether they acted. Answer for each:
    /// [`Reply::CallEnded`](super::Reply::CallEnded), as soon as it is known. The latest time is `until` plus
    /// the cleanup time of the tool, which is bounded. A call that comes back by itself meanwhile is answered
    /// with its result.
    StopCalls {
        /// The calls.
        calls: Vec<CallId>,
        /// The instant until which to wait for them.
        until: Timestamp,
    },
    /// Make results and start marks durable. Answer: [`Reply::Staged`](super::Reply::Staged).
    StageResult {
        /// The id for the answer.
        id: ActionId,
        /// The results and marks.
        staging: Staging,
    },
    /// Make progress durable. After an unknown outcome, repeat the same commit until it is answered or the
    /// lease ends. Answer: [`Reply::Committed`](super::Reply::Committed).
    Commit {
        /// The id for the answer.
        id: ActionId,
        /// The commit.
        commit: Box<Commit>,
    },
    /// Wait until an instant, at most a second. Answer: [`Reply::Slept`](super::Reply::Slept).
    Sleep {
        /// The id for the answer.
        id: ActionId,
        /// The instant.
        until: Timestamp,
    },
    /// Create the children of a call, as far as they are not there, each with its task. The names of a child follow
    /// from the pending call ([`ChildNames`](crate::words::children::ChildNames)), so that doing it twice is
    /// harmless. A child that cannot be created answers the pending call so. Answer:
    /// [`Reply::ChildrenStarted`](super::Reply::ChildrenStarted).
    StartChildren {
        /// The id for the answer.
        id: ActionId,
        /// The children.
        plan: Box<ChildPlan>,
    },
    /// Abort the children of a call that have not ended. A child that is not there is created without its task
    /// first, so that it never begins: whoever creates it late finds it aborted. Answer:
    /// [`Reply::ChildrenStopped`](super::Reply::ChildrenStopped).
    StopChildren {
        /// The id for the answer.
        id: ActionId,
        /// The children.
        children: Children,
    },
    /// Look for these children, and change nothing in them. One that is not there answers its pending call as a failure.
    /// Also look at the sessions that took over from this one. Answer:
    /// [`Reply::ChildrenFound`](super::Reply::ChildrenFound).
    FindChildren {
        /// The id for the answer.
        id: ActionId,
        /// The children that have not answered.
        children: Vec<Unanswered>,
        /// The ids from which the names of the sessions follow that took over.
        successors: Vec<PendingId>,
    },
    /// Stop these children, then create the session that takes over, then tell each address how the turn ended, however
    /// often that was done before. A parent that is not there, or does not wait any more, counts as told. Answer:
    /// [`Reply::OthersTold`](super::Reply::OthersTold), or
    /// [`Reply::NotHandedOver`](super::Reply::NotHandedOver).
    TellOthers {
        /// The id for the answer.
        id: ActionId,
        /// The children to stop.
        children: Vec<Children>,
        /// The addresses.
        replies: Vec<ReplyTo>,
        /// The session that takes over: a fork of this one from its newest checkpoint, with a goal.
        successor: Option<Box<Successor>>,
        /// How the turn ended.
        outcome: Box<Outcome>,
    },
    /// Free the surroundings of the turn, and tell hooks that it ends. Answer:
    /// [`Reply::TornDown`](super::Reply::TornDown).
    TearDown {
        /// The id for the answer.
        id: ActionId,
    },
    /// There is nothing to start: come back with an answer, with news, or at an instant.
    Await {
        /// The latest instant at which to come back ([`Reply::TimePassed`](super::Reply::TimePassed)).
        until: Option<Timestamp>,
    },
    /// The run is over. Anything that is still out is dropped.
    Exit(RunOutcome),
}

/// A model call: the data from which the runtime builds a
/// [`ModelRequest`](crate::words::model::ModelRequest).
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// The step, counted over the session.
    pub step: StepNumber,
    /// The attempt at it, from 0.
    pub attempt: u32,
    /// The agent's model that is asked: 0 is the agent's own, and the fallbacks follow.
    pub model: u32,
    /// The number of the call's stream of deltas in the run, from 1: greater than all before it.
    pub stream: u32,
    /// The messages that the model is shown.
    pub shown: Shown,
    /// A note for this one request, after everything else. It is stored nowhere.
    pub note: Option<String>,
    /// Tools of the agent that the model is not told of this time, besides those that the mode leaves out.
    pub withheld: Vec<String>,
    /// The mode.
    pub mode: Mode,
    /// The message with the system prompt that replaces the agent's; 0: none does.
    pub prompt: MessageSeq,
}

/// The messages of a session that a model is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
    /// The places in the transcript that are shown, in this order.
    pub ranges: Vec<MessageRange>,
    /// The newest message when the run began. Messages up to it are read from the store, once.
    pub claimed: MessageSeq,
    /// All messages that were added since the run began, shown or not, committed or not, in the order of the
    /// session.
    pub added: SharedList<(MessageSeq, Arc<Message>)>,
    /// Tool results up to this message are shown as cleared.
    pub cleared: MessageSeq,
    /// Results up to this message are cut to `PART_CHARS`
    /// characters.
    pub in_part: MessageSeq,
}

impl Shown {
    /// The places that must be read from the store, in order.
    pub fn to_read(&self) -> Vec<MessageRange> {
        let clipped =
            self.ranges.iter().map(|range| MessageRange::new(range.from, range.to.min(self.claimed)));
        clipped.filter(|range| range.from <= range.to).collect()
    }

    /// Returns all messages that are shown, in order, once `read` holds those that [`to_read`](Self::to_read)
    /// named. They are as stored, and include messages that no model sees.
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
        // What was read is looked through only for what may be there.
        let read = if range.from <= self.claimed { read } else { &[] };
        let from = self.added.partition_point(|(seq, _)| *seq < range.from);
        let to = self.added.partition_point(|(seq, _)| *seq <= range.to);
        read.iter().filter(in_range).chain(self.added.range(from..to))
    }

    /// The newest message that is shown.
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
    /// The idempotency key: the same for every send of this call, and for no other call ever (INV-14).
    pub idempotency_key: String,
    /// How long the call may take, in milliseconds. None: for ever.
    pub timeout_ms: Option<u64>,
    /// The custom state of the session at the start of the step.
    pub state: CustomState,
}

/// How a turn ended, for those who wait for its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The turn.
    pub turn: TurnNumber,
    /// The ending.
    pub ending: Ending,
    /// The messages of the turn, among which its last words are. All of them are durable. Empty if it begins after
    /// it ends.
    pub said: MessageRange,
    /// The usage of the turn.
    pub usage: Usage,
}
