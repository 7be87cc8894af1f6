//! The actions that a runtime is asked to perform. They are plain values, so a test compares whole lists.

use std::sync::Arc;

use crate::engine::RunOutcome;
use crate::machine::Teardown;
use crate::store::{Commit, MessageRange, Staging};
use crate::time::Timestamp;
use crate::words::custom::CustomState;
use crate::words::gate::GateQuestion;
use crate::words::hook::StepEnded;
use crate::words::ids::{CallId, InboxSeq, MessageSeq, StepNumber, ToolName, TurnNumber};
use crate::words::list::SharedList;
use crate::words::message::Message;
use crate::words::mode::Mode;

/// Names an action. Several may be out at once; each is answered once, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId(pub u64);

/// Something a runtime must do now.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Read what the store has. Answer: [`Reply::Read`](super::Reply::Read).
    Read {
        /// To be named in the answer.
        id: ActionId,
        /// Messages to read; none if empty.
        messages: Vec<MessageRange>,
        /// Read the inbox after this item, up to its end.
        inbox_after: InboxSeq,
        /// Whether to take the interrupt that waits
        /// ([`take_interrupt`](crate::store::StateStore::take_interrupt)).
        interrupt: bool,
    },
    /// Make ready what the turn needs, and tell hooks that it begins; also what is half ready already. A turn that is
    /// stopped meanwhile waits for the answer before it frees anything, so it must come within a bound. Answer:
    /// [`Reply::Provisioned`](super::Reply::Provisioned).
    Provision {
        /// To be named in the answer.
        id: ActionId,
        /// Which turn.
        turn: TurnNumber,
    },
    /// Ask the model. Answer: [`Reply::ModelAnswered`](super::Reply::ModelAnswered).
    CallModel {
        /// To be named in the answer.
        id: ActionId,
        /// With what.
        call: ModelCall,
    },
    /// Summarise what is old: [`compaction`](crate::engine::compaction) says where to cut and what to ask a model with.
    /// Answer: [`Reply::Summarised`](super::Reply::Summarised), within the agent's bound.
    Summarise {
        /// To be named in the answer.
        id: ActionId,
        /// The step that comes.
        step: StepNumber,
        /// Which of the agent's models makes it, as in [`ModelCall::model`].
        model: u32,
        /// Whether somebody asked for it: then it is done also if what is old is not long.
        asked: bool,
        /// How often a provider has refused this step as too long: the more often, the less stays.
        refused: u32,
        /// Of a handoff, the last message of the old conversation: an extract of it is made, for the goal behind it.
        handoff: Option<MessageSeq>,
        /// 0 for the first try, also of another model; only an extract is tried again.
        attempt: u32,
        /// What the model is shown now.
        shown: Shown,
    },
    /// Put old results in short, before they are cleared: each within
    /// [`IN_SHORT_MS_MAX`](crate::engine::compaction::IN_SHORT_MS_MAX), so many
    /// [side by side](crate::engine::compaction::IN_SHORT_AT_ONCE). The run does not wait for it. Answer:
    /// [`Reply::Shortened`](super::Reply::Shortened).
    Shorten {
        /// To be named in the answer.
        id: ActionId,
        /// The step that is over.
        step: StepNumber,
        /// Which of the agent's models does it, as in [`ModelCall::model`].
        model: u32,
        /// Where the results stand.
        results: Vec<MessageSeq>,
        /// What the model is shown now, these results among it.
        shown: Shown,
    },
    /// Stop listening to the model: its answer is wanted no more. Answer:
    /// [`Reply::ModelStopped`](super::Reply::ModelStopped), at once, with the text that had come.
    StopModel {
        /// Which [`Action::CallModel`] or [`Action::Summarise`].
        of: ActionId,
    },
    /// Ask the gate: schema, then hooks, then policy; five seconds, silence and errors deny. Answer:
    /// [`Reply::Consulted`](super::Reply::Consulted), with a ruling for every question.
    Consult {
        /// To be named in the answer.
        id: ActionId,
        /// The calls in question.
        questions: Vec<GateQuestion>,
    },
    /// Find out whether this call, which the model has written and not yet asked for, may begin early: by what is at hand
    /// alone, with nobody asked. Answer: [`Reply::Foreseen`](super::Reply::Foreseen).
    Foresee {
        /// To be named in the answer.
        id: ActionId,
        /// The call in question.
        question: GateQuestion,
    },
    /// Begin this read, if the lease still runs, and keep what it brings: nobody is told of it, and there is no answer. It
    /// is asked for with [`RunCalls`](Self::RunCalls), or dropped with [`DropEarly`](Self::DropEarly).
    RunEarly {
        /// It changes nothing, so that no start mark is written for it.
        call: CallOut,
    },
    /// Stop these calls, which were begun early, and forget what they brought: their answer did not come. There is no
    /// answer. What they leave behind is put away before anything is freed.
    DropEarly {
        /// Which calls.
        calls: Vec<CallId>,
        /// Until when to wait for them.
        until: Timestamp,
    },
    /// Ask the hooks about a step that is over; each is bounded. Answer: [`Reply::HooksRan`](super::Reply::HooksRan).
    RunHooks {
        /// To be named in the answer.
        id: ActionId,
        /// The step.
        step: Box<StepEnded>,
    },
    /// Send these calls, side by side, if the lease still runs. One that was begun early just so is not sent again: what
    /// it brings is taken, also by whoever sees results before they are told. Answer for each:
    /// [`Reply::CallEnded`](super::Reply::CallEnded), or [`Reply::CallUnsent`](super::Reply::CallUnsent).
    RunCalls {
        /// Their intents, marks and `allow`s are durable, where their class asks for it.
        calls: Vec<CallOut>,
        /// The stream of deltas in which it may be shown that they are out: the answer's own while its message is not on its
        /// way to the store, else one of their own.
        stream: u32,
    },
    /// Stop these calls and find out whether they acted. Answer for each:
    /// [`Reply::CallEnded`](super::Reply::CallEnded), as soon as it is known, at the latest at `until` and after
    /// what the tool then needs to clean up, which is bounded. A call that comes back by itself meanwhile is
    /// answered with what it brought.
    StopCalls {
        /// Which calls.
        calls: Vec<CallId>,
        /// Until when to wait for them.
        until: Timestamp,
    },
    /// Make results and start marks durable. Answer: [`Reply::Staged`](super::Reply::Staged).
    StageResult {
        /// To be named in the answer.
        id: ActionId,
        /// What.
        staging: Staging,
    },
    /// Make progress durable. After an unknown outcome, repeat the same commit until it is answered or the
    /// lease ends. Answer: [`Reply::Committed`](super::Reply::Committed).
    Commit {
        /// To be named in the answer.
        id: ActionId,
        /// What.
        commit: Box<Commit>,
    },
    /// Wait until then, at most a second. Answer: [`Reply::Slept`](super::Reply::Slept).
    Sleep {
        /// To be named in the answer.
        id: ActionId,
        /// Until when.
        until: Timestamp,
    },
    /// Free what the turn holds, and tell hooks that it ends. Answer: [`Reply::TornDown`](super::Reply::TornDown).
    TearDown {
        /// To be named in the answer.
        id: ActionId,
        /// What is left to free.
        left: Teardown,
    },
    /// Nothing to start: come back with an answer, with news, or at that instant.
    Await {
        /// When to come back at the latest ([`Reply::TimePassed`](super::Reply::TimePassed)).
        until: Option<Timestamp>,
    },
    /// The run is over. Whatever is still out is dropped.
    Exit(RunOutcome),
}

/// A model call: what the runtime puts together a [`ModelRequest`](crate::words::model::ModelRequest) from.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// Which step of the session.
    pub step: StepNumber,
    /// Which attempt at it, from 0.
    pub attempt: u32,
    /// Which of the agent's models is asked: 0 is its own, then those that it falls back on.
    pub model: u32,
    /// The number of its stream of deltas in the run, from 1: greater than all before it.
    pub stream: u32,
    /// What it is shown.
    pub shown: Shown,
    /// A word for this one request, after everything else. It is stored nowhere.
    pub note: Option<String>,
    /// Tools of its agent that it is not told of this time, besides those that the mode leaves out.
    pub withheld: Vec<String>,
    /// In which mode.
    pub mode: Mode,
    /// The message that holds the system prompt which replaces the agent's; 0: none does.
    pub prompt: MessageSeq,
}

/// What a model is shown of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
    /// Of the transcript these messages, in this order.
    pub ranges: Vec<MessageRange>,
    /// The newest message when the run began: what stands up to here is read from the store, once.
    pub claimed: MessageSeq,
    /// All that was added since the run began, shown or not, committed or not, in the order of the session.
    pub added: SharedList<(MessageSeq, Arc<Message>)>,
    /// Results of tools up to this message are shown as cleared.
    pub cleared: MessageSeq,
    /// Of results up to this message no more than [`PART_CHARS`](crate::engine::compaction::PART_CHARS) characters are shown.
    pub in_part: MessageSeq,
}

impl Shown {
    /// What must be read from the store, in order.
    pub fn to_read(&self) -> Vec<MessageRange> {
        let clipped =
            self.ranges.iter().map(|range| MessageRange::new(range.from, range.to.min(self.claimed)));
        clipped.filter(|range| range.from <= range.to).collect()
    }

    /// All that is shown, in order, once `read` holds what [`to_read`](Self::to_read) named: as it is stored, with
    /// what no model sees.
    pub fn messages<'a>(
        &'a self,
        read: &'a [(MessageSeq, Arc<Message>)],
    ) -> impl Iterator<Item = &'a (MessageSeq, Arc<Message>)> {
        self.ranges.iter().flat_map(move |range| self.messages_in(*range, read))
    }

    /// Those of these messages that lie in this range.
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
    /// Which call.
    pub id: CallId,
    /// Which tool.
    pub tool: ToolName,
    /// The arguments, exactly as they were allowed.
    pub arguments: String,
    /// The same for every send of this call, and for no other call ever (INV-14).
    pub idempotency_key: String,
    /// How long it may take, in milliseconds. None: for ever.
    pub timeout_ms: Option<u64>,
    /// The custom state of the session, as the step began.
    pub state: CustomState,
}
