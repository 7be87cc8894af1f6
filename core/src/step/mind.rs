//! What a run has decided so far. It is cloned before a decision that the store may refuse, and taken up
//! again from there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ActionId;
use super::hooking::StepHooks;
use super::shortening::Shortening;
use crate::event::Event;
use crate::ids::{CallId, InboxSeq, InterruptId, MessageSeq, PendingId};
use crate::list::SharedList;
use crate::machine::Machine;
use crate::machine::history::HistoryRow;
use crate::message::{Message, ToolResult};
use crate::payload::Payload;
use crate::store::{Interrupt, MessageRange, NewMessage, NewPending, StoredItem};
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mind {
    /// The machine as decided.
    pub(super) machine: Machine,
    /// What was decided since the last commit was put together.
    pub(super) draft: Draft,
    /// The newest message, with those in the draft.
    pub(super) last_message: MessageSeq,
    /// Inbox items that were read and not consumed, in order.
    pub(super) inbox: Vec<StoredItem>,
    /// The newest inbox item that was read.
    pub(super) inbox_seen: InboxSeq,
    /// The interrupt that was read.
    pub(super) interrupt: Option<Interrupt>,
    /// Whether the machine was told of it.
    pub(super) interrupt_told: bool,
    /// Pending calls that are open in the store.
    pub(super) open: BTreeSet<PendingId>,
    /// The model's message that asked for the calls of the step.
    pub(super) asked_in: MessageSeq,
    /// The arguments of the calls of the step, as the model wrote them.
    pub(super) proposed: BTreeMap<CallId, String>,
    /// Those that a person edited, as they would run.
    pub(super) edited: BTreeMap<CallId, String>,
    /// Of these the arguments that a hook put in their place.
    pub(super) rewritten: BTreeSet<CallId>,
    /// The results of the calls of the step that have ended.
    pub(super) ended: BTreeMap<CallId, Ended>,
    /// What the model said in this step.
    pub(super) said: String,
    /// Tools of which a call of this step was done; kept for steering.
    pub(super) tools_done: Vec<String>,
    /// How many tokens came since the model's answer, roughly.
    pub(super) grown: u64,
    /// The stream in which the calls of the step are shown, if it is one of their own.
    pub(super) calls_stream: Option<u32>,
    /// Where the results of the step stand; kept for steering.
    pub(super) promoted: Option<MessageRange>,
    /// The calls that the gate is being asked about.
    pub(super) consulting: BTreeMap<ActionId, Vec<CallId>>,
    /// What hooks say of the step that is over.
    pub(super) step_hooks: StepHooks,
    /// Old results that are being put in short.
    pub(super) shortening: Shortening,
    /// When the model's answer came, while it is not durable.
    pub(super) answered_at: Option<Timestamp>,
    /// What must be provisioned once the commit that says so is acknowledged.
    pub(super) provision_due: bool,
    /// What must be freed once the commit that says so is acknowledged.
    pub(super) teardown_due: bool,
    /// Messages added since the claim, committed or not.
    pub(super) added: SharedList<(MessageSeq, Arc<Message>)>,
    /// Whether anything has moved since the claim: if not, a parking run says nothing new.
    pub(super) moved: bool,
}

/// The result of a call that has ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ended {
    pub(super) result: ToolResult,
    pub(super) payload: Payload,
    /// Whether it is staged in the store.
    pub(super) staged: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Draft {
    pub(super) messages: Vec<NewMessage>,
    pub(super) events: Vec<Event>,
    pub(super) history: Vec<HistoryRow>,
    pub(super) open: Vec<NewPending>,
    pub(super) close: Vec<PendingId>,
    pub(super) consumed: Vec<InboxSeq>,
    pub(super) interrupt_confirmed: Option<InterruptId>,
    /// The stream that ends with the draft: of the model call whose message it has, or of the calls whose results.
    pub(super) streamed: Option<u32>,
    /// Whether a step was closed: from here a fork can begin.
    pub(super) step_closed: bool,
    /// Whether the state says something that must be durable before an effect rests on it.
    pub(super) decided: bool,
}

impl Draft {
    /// Whether there is anything that somebody else should see soon, or that an effect rests on. Events
    /// alone can wait for the next commit.
    pub(super) fn is_due(&self) -> bool {
        self.decided
            || !self.messages.is_empty()
            || !self.open.is_empty()
            || !self.close.is_empty()
            || !self.consumed.is_empty()
    }

    /// Whether there is more than the word that the run began.
    pub(super) fn is_due_beyond_run_started(&self) -> bool {
        let tells = self.events.iter().any(|event| !matches!(event, Event::RunStarted { .. }));
        tells || self.decided || !self.messages.is_empty() || !self.open.is_empty() || !self.close.is_empty()
    }
}
