//! The decisions of a run so far. They are cloned before a decision that the store may refuse, and the run
//! goes back to the clone if it does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::action::ActionId;
use crate::engine::compaction::shortening::Shortening;
use crate::engine::steering::hooks::StepHooks;
use crate::machine::Machine;
use crate::store::{Interrupt, MessageRange, NewMessage, NewPending, StoredItem};
use crate::time::Timestamp;
use crate::words::error::ErrorInfo;
use crate::words::event::Event;
use crate::words::history::HistoryRow;
use crate::words::ids::{CallId, InboxSeq, InterruptId, MessageSeq, PendingId};
use crate::words::list::SharedList;
use crate::words::message::{Message, ToolResult};
use crate::words::payload::Payload;

pub(crate) mod recall;

/// The decisions of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mind {
    /// The machine, as decided.
    pub(crate) machine: Machine,
    /// The decisions since the last commit was built.
    pub(crate) draft: Draft,
    pub(crate) inbox: Inbox,
    pub(crate) step: StepMemory,
    pub(crate) transcript: Transcript,
    /// Pending calls that are open in the store.
    pub(crate) open: BTreeSet<PendingId>,
    /// The calls that the gate is being asked about.
    pub(crate) consulting: BTreeMap<ActionId, Vec<CallId>>,
    /// The old results that are being summarised.
    pub(crate) shortening: Shortening,
    /// Whether provisioning must start once the commit that says so is acknowledged.
    pub(crate) provision_due: bool,
    /// Whether freeing must start once the commit that says so is acknowledged.
    pub(crate) teardown_due: bool,
    /// Whether anything has moved since the claim. If not, a run that parks has nothing new to say.
    pub(crate) moved: bool,
}

/// The items from outside that were read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inbox {
    /// Items that were read but not consumed, in order.
    pub(crate) items: Vec<StoredItem>,
    /// The newest item that was read.
    pub(crate) seen: InboxSeq,
    /// The interrupt that was read.
    pub(crate) interrupt: Option<Interrupt>,
    /// Whether the machine was told of the interrupt.
    pub(crate) interrupt_told: bool,
}

/// The memory of the step that runs, or that steering looks at.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StepMemory {
    /// The message of the model that has the calls.
    pub(crate) asked_in: MessageSeq,
    /// The arguments of the calls, as the model wrote them.
    pub(crate) proposed: BTreeMap<CallId, String>,
    /// The edited arguments, as they would run.
    pub(crate) edited: BTreeMap<CallId, String>,
    /// The calls among them whose arguments a hook replaced.
    pub(crate) rewritten: BTreeSet<CallId>,
    /// The results of the calls that have ended.
    pub(crate) ended: BTreeMap<CallId, Ended>,
    /// The text of the model in this step.
    pub(crate) said: String,
    /// The tools of which a call was done.
    pub(crate) tools_done: Vec<String>,
    /// The stream in which the calls are shown, if they have one of their own.
    pub(crate) stream: Option<u32>,
    /// The places of the results.
    pub(crate) results: Option<MessageRange>,
    /// The answers of the hooks to the step, once it is over.
    pub(crate) hooks: StepHooks,
    /// The instant of the model's answer, as long as the answer is not durable.
    pub(crate) answered_at: Option<Timestamp>,
}

/// The transcript, as far as this run has added to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transcript {
    /// The newest message, including those in the draft.
    pub(crate) last: MessageSeq,
    /// The messages that were added since the claim, committed or not.
    pub(crate) added: SharedList<(MessageSeq, Arc<Message>)>,
    /// The rough number of tokens that came since the model's answer.
    pub(crate) grown: u64,
}

/// The result of a call that has ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    pub(crate) result: ToolResult,
    pub(crate) payload: Payload,
    /// Whether the result is staged in the store.
    pub(crate) staged: bool,
}

/// The decisions that are in no commit yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Draft {
    pub(crate) messages: Vec<NewMessage>,
    pub(crate) events: Vec<Event>,
    pub(crate) history: Vec<HistoryRow>,
    pub(crate) open: Vec<NewPending>,
    pub(crate) close: Vec<PendingId>,
    pub(crate) consumed: Vec<InboxSeq>,
    pub(crate) interrupt_confirmed: Option<InterruptId>,
    /// The stream that ends with this draft: that of the model call whose message is in it, or of the calls
    /// whose results are.
    pub(crate) streamed: Option<u32>,
    /// Whether a step was closed, so that a fork can begin here.
    pub(crate) step_closed: bool,
    /// The error of a part that cannot be stored. The run then gives up.
    pub(crate) fault: Option<ErrorInfo>,
    /// Whether the state must be durable before an effect relies on it.
    pub(crate) decided: bool,
}

impl Draft {
    /// Whether the draft holds anything that others should see soon, or that an effect relies on. Events
    /// alone can wait for the next commit.
    pub(crate) fn is_due(&self) -> bool {
        self.decided
            || !self.messages.is_empty()
            || !self.open.is_empty()
            || !self.close.is_empty()
            || !self.consumed.is_empty()
    }

    /// Whether the draft holds more than the event that the run began.
    pub(crate) fn is_due_beyond_run_started(&self) -> bool {
        let tells = self.events.iter().any(|event| !matches!(event, Event::RunStarted { .. }));
        tells || self.decided || !self.messages.is_empty() || !self.open.is_empty() || !self.close.is_empty()
    }
}

impl Mind {
    pub(crate) fn emit(&mut self, event: Event) {
        self.draft.events.push(event);
    }
}
