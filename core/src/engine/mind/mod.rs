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

/// What a run has decided.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mind {
    /// The machine as decided.
    pub(crate) machine: Machine,
    /// What was decided since the last commit was put together.
    pub(crate) draft: Draft,
    pub(crate) inbox: Inbox,
    pub(crate) step: StepMemory,
    pub(crate) transcript: Transcript,
    /// Pending calls that are open in the store.
    pub(crate) open: BTreeSet<PendingId>,
    /// The calls that the gate is being asked about.
    pub(crate) consulting: BTreeMap<ActionId, Vec<CallId>>,
    /// Old results that are being put in short.
    pub(crate) shortening: Shortening,
    /// What must be provisioned once the commit that says so is acknowledged.
    pub(crate) provision_due: bool,
    /// What must be freed once the commit that says so is acknowledged.
    pub(crate) teardown_due: bool,
    /// Whether anything has moved since the claim: if not, a parking run says nothing new.
    pub(crate) moved: bool,
}

/// What was read of what came from outside.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inbox {
    /// Items that were read and not consumed, in order.
    pub(crate) items: Vec<StoredItem>,
    /// The newest item that was read.
    pub(crate) seen: InboxSeq,
    /// The interrupt that was read.
    pub(crate) interrupt: Option<Interrupt>,
    /// Whether the machine was told of it.
    pub(crate) interrupt_told: bool,
}

/// What is remembered of the step that runs, or that is being steered by.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StepMemory {
    /// The model's message that asked for its calls.
    pub(crate) asked_in: MessageSeq,
    /// The arguments of its calls, as the model wrote them.
    pub(crate) proposed: BTreeMap<CallId, String>,
    /// Those that a person edited, as they would run.
    pub(crate) edited: BTreeMap<CallId, String>,
    /// Of these the arguments that a hook put in their place.
    pub(crate) rewritten: BTreeSet<CallId>,
    /// The results of its calls that have ended.
    pub(crate) ended: BTreeMap<CallId, Ended>,
    /// What the model said in it.
    pub(crate) said: String,
    /// Tools of which a call of it was done.
    pub(crate) tools_done: Vec<String>,
    /// The stream in which its calls are shown, if it is one of their own.
    pub(crate) stream: Option<u32>,
    /// Where its results stand.
    pub(crate) results: Option<MessageRange>,
    /// What hooks say of it once it is over.
    pub(crate) hooks: StepHooks,
    /// When the model's answer came, while it is not durable.
    pub(crate) answered_at: Option<Timestamp>,
}

/// The transcript as far as this run has added to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transcript {
    /// The newest message, with those in the draft.
    pub(crate) last: MessageSeq,
    /// Messages added since the claim, committed or not.
    pub(crate) added: SharedList<(MessageSeq, Arc<Message>)>,
    /// How many tokens came since the model's answer, roughly.
    pub(crate) grown: u64,
}

/// The result of a call that has ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    pub(crate) result: ToolResult,
    pub(crate) payload: Payload,
    /// Whether it is staged in the store.
    pub(crate) staged: bool,
}

/// What was decided and is in no commit yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Draft {
    pub(crate) messages: Vec<NewMessage>,
    pub(crate) events: Vec<Event>,
    pub(crate) history: Vec<HistoryRow>,
    pub(crate) open: Vec<NewPending>,
    pub(crate) close: Vec<PendingId>,
    pub(crate) consumed: Vec<InboxSeq>,
    pub(crate) interrupt_confirmed: Option<InterruptId>,
    /// The stream that ends with the draft: of the model call whose message it has, or of the calls whose results.
    pub(crate) streamed: Option<u32>,
    /// Whether a step was closed: from here a fork can begin.
    pub(crate) step_closed: bool,
    /// What of it cannot be stored: the run gives up.
    pub(crate) fault: Option<ErrorInfo>,
    /// Whether the state says something that must be durable before an effect rests on it.
    pub(crate) decided: bool,
}

impl Draft {
    /// Whether there is anything that somebody else should see soon, or that an effect rests on. Events
    /// alone can wait for the next commit.
    pub(crate) fn is_due(&self) -> bool {
        self.decided
            || !self.messages.is_empty()
            || !self.open.is_empty()
            || !self.close.is_empty()
            || !self.consumed.is_empty()
    }

    /// Whether there is more than the word that the run began.
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
