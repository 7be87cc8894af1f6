//! The decisions of a run so far. They are cloned before a decision that the store may refuse. If it does, the run
//! returns to the clone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::action::ActionId;
use crate::engine::calls::doubts::Doubt;
use crate::engine::compaction::shortening::Shortening;
use crate::engine::plan::PlanMemory;
use crate::engine::steering::hooks::StepHooks;
use crate::engine::{STATE_FORMAT_ALONE, STATE_FORMAT_ASKING, STATE_FORMAT_LATER};
use crate::machine::Machine;
use crate::store::{
    Interrupt, ItemKind, MessageRange, NewMessage, NewPending, PendingCall, PendingKind, StoredItem,
};
use crate::time::Timestamp;
use crate::words::error::ErrorInfo;
use crate::words::event::Event;
use crate::words::history::HistoryRow;
use crate::words::ids::{CallId, InboxSeq, InterruptId, MessageSeq, PendingId, StateFormat};
use crate::words::letter::{Letter, LetterCause};
use crate::words::list::SharedList;
use crate::words::message::{Message, ToolResult};
use crate::words::payload::Payload;

pub(crate) mod recall;

/// The decisions of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mind {
    /// The machine as decided so far.
    pub(crate) machine: Machine,
    /// The decisions since the last commit was built.
    pub(crate) draft: Draft,
    pub(crate) inbox: Inbox,
    pub(crate) step: StepMemory,
    pub(crate) transcript: Transcript,
    /// Pending calls that are open in the store.
    pub(crate) open: BTreeSet<PendingId>,
    pub(crate) unawaited: Unawaited,
    /// The calls that the gate is being asked about.
    pub(crate) consulting: BTreeMap<ActionId, Vec<CallId>>,
    /// The old results that are being summarised.
    pub(crate) shortening: Shortening,
    /// True if surroundings must be prepared once the commit that records it is acknowledged.
    pub(crate) provision_due: bool,
    /// True if surroundings must be freed once the commit that records it is acknowledged.
    pub(crate) teardown_due: bool,
    /// True if the machine has moved since the claim. If not, a run that parks has nothing new to write.
    pub(crate) moved: bool,
}

/// The pending calls for which no turn waits: those that are open, and those that the draft opens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unawaited {
    /// The calls that ended in doubt and are not settled, by their pending calls.
    pub(crate) doubts: BTreeMap<PendingId, Doubt>,
    /// The dead letters. `None` if the content of a letter cannot be read.
    pub(crate) letters: BTreeMap<PendingId, Option<Letter>>,
}

impl Unawaited {
    /// Returns the calls in doubt and the dead letters among the pending calls of a claim.
    pub(crate) fn of(pending: &[PendingCall]) -> Self {
        let letters = pending.iter().filter(|pending| pending.kind == PendingKind::DeadLetter);
        Self {
            doubts: pending.iter().filter_map(Doubt::of).collect(),
            letters: letters.map(|letter| (letter.id.clone(), Letter::of(letter).ok())).collect(),
        }
    }

    /// Returns true if an earlier run could not read the session, and nobody has gone on with it since.
    pub(crate) fn is_aside(&self) -> bool {
        self.letters.values().any(says_unreadable)
    }

    /// Returns true if the session was set aside while its turn was parked, so that no call was out.
    pub(crate) fn was_parked(&self) -> bool {
        self.letters.values().flatten().any(|letter| letter.parked)
    }

    /// Returns true if the item settles a call in doubt or asks for the turn of a letter to be tried again.
    pub(crate) fn is_answered_by(&self, item: &StoredItem) -> bool {
        let Some(pending) = answered_by(item) else { return false };
        self.doubts.contains_key(pending) || self.letters.contains_key(pending)
    }

    /// Returns the pending call that the item answers, if the item settles a call in doubt.
    pub(crate) fn settled_by<'a>(&self, item: &'a StoredItem) -> Option<&'a PendingId> {
        answered_by(item).filter(|pending| self.doubts.contains_key(pending))
    }

    /// Returns true if the item asks for the turn of a letter to be tried again.
    pub(crate) fn is_replayed_by(&self, item: &StoredItem) -> bool {
        answered_by(item).is_some_and(|pending| self.letters.contains_key(pending))
    }

    /// Returns true if the item asks to try a turn that was given up again.
    pub(crate) fn is_retried_by(&self, item: &StoredItem) -> bool {
        let letter = answered_by(item).and_then(|pending| self.letters.get(pending));
        letter.is_some_and(|letter| !says_unreadable(letter))
    }

    fn is_empty(&self) -> bool {
        self.doubts.is_empty() && self.letters.is_empty()
    }
}

/// Returns true if the letter says that the session could not be read.
pub(crate) fn says_unreadable(letter: &Option<Letter>) -> bool {
    letter.as_ref().is_some_and(|letter| letter.cause == LetterCause::Unreadable)
}

/// Returns the pending call that the item answers, if it is an answer.
pub(crate) fn answered_by(item: &StoredItem) -> Option<&PendingId> {
    match &item.kind {
        ItemKind::Answer { pending, .. } => Some(pending),
        ItemKind::Message { .. } | ItemKind::Signal { .. } | ItemKind::Other { .. } => None,
    }
}

/// The items and the interrupt that the run has read from outside.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inbox {
    /// Items that were read but not consumed, in order.
    pub(crate) items: Vec<StoredItem>,
    /// The newest item that was read.
    pub(crate) seen: InboxSeq,
    /// The interrupt that was read.
    pub(crate) interrupt: Option<Interrupt>,
    /// True if the machine has received the interrupt.
    pub(crate) interrupt_told: bool,
}

/// The data about the present step, or about the step that steering decides on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StepMemory {
    /// The model's message that contains the calls.
    pub(crate) asked_in: MessageSeq,
    /// The arguments of the calls, as the model wrote them.
    pub(crate) proposed: BTreeMap<CallId, String>,
    /// The arguments that replace those of the model.
    pub(crate) edited: BTreeMap<CallId, String>,
    /// The calls in `edited` whose arguments a hook replaced.
    pub(crate) rewritten: BTreeSet<CallId>,
    /// The results of the calls that have ended.
    pub(crate) ended: BTreeMap<CallId, Ended>,
    /// The text of the model in this step.
    pub(crate) said: String,
    /// The tools of which a call succeeded.
    pub(crate) tools_done: Vec<String>,
    /// The stream of the step's calls, if any were sent.
    pub(crate) stream: Option<u32>,
    /// The places of the results.
    pub(crate) results: Option<MessageRange>,
    /// The answers of the hooks to the step, once it has ended.
    pub(crate) hooks: StepHooks,
    /// The data about the code that plans the step.
    pub(crate) plan: PlanMemory,
    /// The instant of the model's answer, until the answer is durable.
    pub(crate) answered_at: Option<Timestamp>,
}

impl StepMemory {
    /// Forgets the arguments of a call that has left its open step.
    pub(crate) fn forget(&mut self, call: &CallId) {
        self.proposed.remove(call);
        self.edited.remove(call);
        self.rewritten.remove(call);
    }
}

/// The additions of this run to the transcript.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transcript {
    /// The newest message, including those in the draft.
    pub(crate) last: MessageSeq,
    /// The messages that were added since the claim, committed or not.
    pub(crate) added: SharedList<(MessageSeq, Arc<Message>)>,
    /// The rough number of tokens that were added since the model's answer.
    pub(crate) grown: u64,
}

/// The result of a call that has ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    pub(crate) result: ToolResult,
    pub(crate) payload: Payload,
    /// True if the result is staged in the store.
    pub(crate) staged: bool,
}

/// A result in a draft.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drafted {
    pub(crate) call: CallId,
    pub(crate) tool: String,
    /// True if the call succeeded.
    pub(crate) done: bool,
}

/// The decisions that no commit contains yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Draft {
    pub(crate) messages: Vec<NewMessage>,
    /// The results among the messages, if code plans the session.
    pub(crate) results: Vec<Drafted>,
    pub(crate) events: Vec<Event>,
    pub(crate) history: Vec<HistoryRow>,
    pub(crate) open: Vec<NewPending>,
    pub(crate) close: Vec<PendingId>,
    pub(crate) consumed: Vec<InboxSeq>,
    pub(crate) interrupt_confirmed: Option<InterruptId>,
    /// The stream that ends with this draft: the stream of its model message, or of the calls whose results it
    /// contains.
    pub(crate) streamed: Option<u32>,
    /// True if the draft closes a step, so that a fork can begin here.
    pub(crate) step_closed: bool,
    /// The error of a part that cannot be stored. It makes the run give up.
    pub(crate) fault: Option<ErrorInfo>,
    /// True if a decision in the draft must become durable.
    pub(crate) decided: bool,
}

impl Draft {
    /// Returns true if the draft holds anything that others should see soon, or that an effect relies on. Events
    /// alone can wait for the next commit.
    pub(crate) fn is_due(&self) -> bool {
        self.decided
            || !self.messages.is_empty()
            || !self.open.is_empty()
            || !self.close.is_empty()
            || !self.consumed.is_empty()
    }

    /// Returns true if the draft holds an event other than the start of the run, a decision that must become durable, a
    /// message, or a change of pending calls. Consumed items alone do not count.
    pub(crate) fn is_due_beyond_run_started(&self) -> bool {
        let tells = self.events.iter().any(|event| !matches!(event, Event::RunStarted { .. }));
        tells || self.decided || !self.messages.is_empty() || !self.open.is_empty() || !self.close.is_empty()
    }
}

impl Mind {
    /// Returns the oldest format of the state bytes whose readers can go on with the session.
    pub(crate) fn format(&self) -> StateFormat {
        let of_machine = self.machine.format();
        let of_inbox = if self.inbox.holds_new() { STATE_FORMAT_LATER } else { STATE_FORMAT_ALONE };
        let of_pending = if self.unawaited.is_empty() { STATE_FORMAT_ALONE } else { STATE_FORMAT_ASKING };
        of_machine.max(of_inbox).max(of_pending)
    }

    pub(crate) fn emit(&mut self, event: Event) {
        self.draft.events.push(event);
    }
}
