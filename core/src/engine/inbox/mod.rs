//! Messages in a run: when they are taken, whether they stop the turn, and which messages they take back.

use crate::engine::calls::results::{denied, rejected};
use crate::engine::context::Context;
use crate::engine::context::run::Run;
use crate::engine::mind::Mind;
use crate::machine::table::admits;
use crate::machine::{AgentState, CallState};
use crate::store::{InterruptKind, ItemKind, StoredItem, Wake};
use crate::words::agent::OnDenial;
use crate::words::ending::StopCause;
use crate::words::gate::{DenialRecord, DeniedBy};
use crate::words::history::{CallInput, Input, InputKind};
use crate::words::ids::{InboxSeq, MessageSeq};
use crate::words::mailbox;
use crate::words::message::{
    Decision, DecisionRecord, Message, MessagePolicy, ResultStatus, Said, UserMessage, WhileAsking, corrected,
};
use crate::words::payload::Digest;

pub(crate) mod briefing;
pub(crate) mod later;
pub(crate) mod news;
pub(crate) mod signals;
pub(crate) mod undo;

/// The number of bytes of messages in one commit beyond which further messages wait for the next one.
const TAKEN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Returns true if an item is a note: a message that does not wake the session, stop the turn or keep it going. It
/// is taken with the next message. The end of a quiet background child is a note even though it is delivered as
/// urgent, because a call may wait for it.
pub(crate) fn is_note(item: &StoredItem) -> bool {
    match item.kind {
        ItemKind::Message { wake: Wake::Quiet } => true,
        ItemKind::Message { .. } => mailbox::end_of(item).is_some_and(|end| end.quiet),
        ItemKind::Signal { .. } | ItemKind::Answer { .. } | ItemKind::Other { .. } => false,
    }
}

/// The handler of all items from outside: messages, signals, and stops.
pub(crate) struct InboxHandler<'a> {
    pub(crate) cx: &'a mut Context,
}

impl Run {
    fn policy_of(&self, item: &StoredItem) -> MessagePolicy {
        if self.is_planned() {
            // A message is the input of a turn, and code takes no other.
            return MessagePolicy::Enqueue;
        }
        let said = mailbox::said(item);
        if said.edits.is_some() {
            return MessagePolicy::Interrupt;
        }
        if is_note(item) || mailbox::end_of(item).is_some() {
            return MessagePolicy::Steer;
        }
        let of_agent = self.agent.as_ref().and_then(|agent| agent.on_message);
        said.policy.or(of_agent).unwrap_or(MessagePolicy::Steer)
    }

    /// Returns true if a message takes earlier messages back as soon as it is read.
    fn takes_back(&self, item: &StoredItem) -> bool {
        mailbox::said(item).edits.is_some() || self.policy_of(item) == MessagePolicy::Rollback
    }
}

impl InboxHandler<'_> {
    /// Returns the messages that do not wait for the end of the turn (C40).
    fn steering(&self) -> impl Iterator<Item = &StoredItem> {
        let messages = self.cx.mind.inbox.items.iter().filter(|item| mailbox::is_message(item));
        messages.filter(|item| !self.cx.run.policy_of(item).waits())
    }

    /// Returns true if messages wait that the model should see before the turn ends.
    pub(crate) fn messages_steer(&self) -> bool {
        self.steering().any(|item| !is_note(item))
    }

    /// Returns true if one of the messages that would begin a turn now is from the user, and is not the end of a child or
    /// a correction.
    pub(crate) fn user_begins(&self) -> bool {
        let is_theirs =
            |item: &StoredItem| !is_note(item) && mailbox::end_of(item).is_none() && !mailbox::corrects(item);
        if self.messages_steer() {
            return self.steering().any(is_theirs);
        }
        let mut waits =
            self.cx.mind.inbox.items.iter().filter(|item| mailbox::is_message(item) && !is_note(item));
        waits.next().is_some_and(is_theirs)
    }

    /// Stops the turn if a message asks for it. Steering has nothing open to stop, so there the message is simply
    /// taken, unless it takes messages back. A turn that is ending already can only be taken back.
    pub(crate) fn heed_messages(&mut self) -> bool {
        let machine = &self.cx.mind.machine;
        if !machine.turn.open {
            return false;
        }
        let ends = matches!(machine.state, AgentState::TearingDown { .. })
            || machine.state.batch().is_some_and(|batch| batch.stopping.is_some());
        let cause = self.steering().filter_map(|item| match self.cx.run.policy_of(item) {
            _ if mailbox::said(item).edits.is_some() => Some(StopCause::Edit),
            MessagePolicy::Rollback if self.cx.mind.knows_beginning() => Some(StopCause::Rollback),
            MessagePolicy::Interrupt | MessagePolicy::Rollback => Some(StopCause::Message),
            MessagePolicy::Steer | MessagePolicy::Enqueue | MessagePolicy::Reject => None,
        });
        let Some(cause) = cause.max().filter(|cause| !ends || *cause == StopCause::Rollback) else {
            return false;
        };
        if cause == StopCause::Message && matches!(machine.state, AgentState::Steering { .. }) {
            return false;
        }
        let moved = self.cx.feed(Input::Interrupted { kind: InterruptKind::Soft, cause });
        self.cx.mind.draft.decided |= moved;
        moved
    }

    /// Refuses a call that waits for a person's decision because a message came instead, if the agent is set so
    /// (U07). Returns false if nothing was refused.
    pub(crate) fn deny_by_message(&mut self) -> bool {
        let denies = self
            .cx
            .run
            .agent
            .as_ref()
            .is_some_and(|agent| agent.on_message_while_asking == WhileAsking::Deny);
        let Some(batch) =
            self.cx.mind.machine.state.batch().filter(|batch| denies && batch.stopping.is_none())
        else {
            return false;
        };
        let asked = batch.calls.iter().find_map(|call| match &call.state {
            CallState::BlockedOnUser { pending, .. } => Some((call.clone(), pending.clone())),
            CallState::Queued
            | CallState::Gating
            | CallState::BlockedOnClient { .. }
            | CallState::BlockedOnChild { .. }
            | CallState::AwaitingEnds { .. }
            | CallState::AwaitingSignal { .. }
            | CallState::Waiting { .. }
            | CallState::Approved
            | CallState::Preparing
            | CallState::Executing
            | CallState::CleaningUp
            | CallState::Done
            | CallState::Error
            | CallState::RejectedByUser
            | CallState::Cancelled { .. }
            | CallState::InDoubt => None,
        });
        let Some((call, pending)) = asked else { return false };
        let inbox = &self.cx.mind.inbox.items;
        let said = self
            .steering()
            .find(|item| !is_note(item) && mailbox::end_of(item).is_none() && !mailbox::corrects(item))
            .map(|item| (mailbox::said_in(inbox, item).text, item.at));
        let Some((text, at)) = said else { return false };
        let shown = self.cx.mind.arguments_of(&call.id);
        let content = rejected(&call.tool, Some(&text));
        let decision = Decision { reason: Some(text), ..Decision::new(false, Digest::of(shown.as_bytes())) };
        let note = Some("nobody decided: something was said instead".to_owned());
        self.cx.append(Message::Decision(DecisionRecord {
            call: call.id.clone(),
            pending,
            decision,
            at,
            note,
        }));
        let denial = DenialRecord::new(DeniedBy::User, &call.tool, content.clone(), &shown);
        let edited = self.cx.mind.edited(&call);
        // The message is feedback, like the reason of a denial (B29).
        self.cx.mind.keep_result(denied(&call, ResultStatus::Error, content, edited, denial));
        let input = CallInput::Rejected { then: OnDenial::GoOn, aborts: false };
        self.cx.feed(Input::Call { call: call.id, input });
        self.cx.mind.draft.decided = true;
        true
    }

    /// Adds the steering messages to the transcript, in order. Messages beyond `TAKEN_BYTES_MAX` follow at the next
    /// steering.
    pub(crate) fn take_steering(&mut self) {
        let taken = self.steering().map(|item| item.seq).collect::<Vec<_>>();
        self.take_messages(&taken);
    }

    /// Adds the corrections that wait to the transcript, because the model is about to be asked. Steering took earlier
    /// ones, so these came while the model was asked before in the same step (B14). A correction that also changes the
    /// mode or the prompt waits for the next steering, where these may change. So do a correction whose sender waits for
    /// the outcome, and any other message.
    pub(crate) fn take_corrections(&mut self) {
        if self.cx.mind.machine.handoff.is_some() {
            return;
        }
        let only_tells = |item: &&StoredItem| {
            let said = mailbox::said(item);
            said.correction_by.is_some() && said.briefing.is_empty() && said.reply.is_none()
        };
        let taken = self.steering().filter(only_tells).map(|item| item.seq).collect::<Vec<_>>();
        if !taken.is_empty() {
            self.take_messages(&taken);
        }
    }

    /// Takes the messages that begin a turn: the steering messages, or else the first one that waited (B49), and
    /// the notes.
    pub(crate) fn take_first(&mut self) {
        let steers = self.messages_steer();
        let waited = |item: &&StoredItem| mailbox::is_message(item) && !is_note(item);
        let waiting = self.cx.mind.inbox.items.iter().find(waited).filter(|_| !steers).map(|item| item.seq);
        let taken = self.steering().map(|item| item.seq).chain(waiting).collect::<Vec<_>>();
        self.take_messages(&taken);
    }

    /// Takes messages, up to `TAKEN_BYTES_MAX`. Messages that take something back are always taken, and count first.
    /// If they were left for later, they would take back the messages that were taken in their place.
    fn take_messages(&mut self, wanted: &[InboxSeq]) {
        let inbox = std::mem::take(&mut self.cx.mind.inbox.items);
        let wanted = || inbox.iter().filter(|item| wanted.contains(&item.seq));
        let mut bytes: usize =
            wanted().filter(|item| self.cx.run.takes_back(item)).map(|item| item.payload.len().max(1)).sum();
        let mut fits = |item: &StoredItem| {
            let first = bytes == 0;
            bytes += item.payload.len().max(1);
            first || bytes <= TAKEN_BYTES_MAX
        };
        let taken: Vec<&StoredItem> =
            wanted().filter(|item| self.cx.run.takes_back(item) || fits(item)).collect();
        let is_taken = |seq: InboxSeq| taken.iter().any(|item| item.seq == seq);
        let rest = |item: &&StoredItem| !is_taken(item.seq) && !mailbox::replaces(item).is_some_and(is_taken);
        self.cx.mind.inbox.items = inbox.iter().filter(rest).cloned().collect();
        let gone = inbox.iter().filter(|item| !rest(item)).map(|item| item.seq);
        self.cx.mind.draft.consumed.extend(gone);
        for item in taken {
            // Modes wait for a state in which the mode may change.
            if admits(self.cx.mind.machine.state.kind(), InputKind::Briefed) {
                self.take_modes_before(item.seq);
            }
            let Said { text, briefing, images, mentions, reply, correction_by, .. } =
                mailbox::said_in(&inbox, item);
            let ended = mailbox::end_of(item);
            if let Some(reply) = reply {
                self.cx.feed(Input::Owed { reply: Box::new(reply.taken_at(item.at)) });
            }
            let by_engine = ended.is_some() || correction_by.is_some();
            let text = correction_by.map_or(text.clone(), |by| corrected(&by, &text));
            let item = Some(item.seq);
            let said = UserMessage { text, item, briefing: briefing.clone(), images, mentions, by_engine };
            if let Some(end) = ended {
                self.cx.children().take_end(end);
            }
            let at = self.cx.append(Message::User(said));
            self.take_briefing(briefing, at);
        }
    }
}

impl Mind {
    /// Drops messages that were withdrawn before they were taken (U08), and the ends of children that the session
    /// does not know any more.
    pub(crate) fn settle_inbox(&mut self) {
        if self.inbox.items.iter().any(|item| matches!(item.kind, ItemKind::Signal { .. })) {
            let settled = mailbox::settle(std::mem::take(&mut self.inbox.items));
            self.inbox.items = settled.items;
            self.draft.consumed.extend(settled.consumed);
        }
        self.drop_forgotten_ends();
    }

    /// Returns true if the first message of the turn is known. A turn that an older version began does not record
    /// it.
    fn knows_beginning(&self) -> bool {
        let turn = &self.machine.turn;
        turn.number.0 <= 1 || turn.began > MessageSeq(0)
    }
}
