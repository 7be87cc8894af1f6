//! Messages in a run: which are taken when, which stop the turn, and what is taken back for them.

use std::sync::Arc;

use super::results::{denied, rejected};
use super::{ActionId, Found, StepIterator};
use crate::agent::OnDenial;
use crate::compaction;
use crate::custom;
use crate::error::ErrorInfo;
use crate::gate::{ArgumentPatterns, DenialRecord, DeniedBy};
use crate::ids::{InboxSeq, MessageSeq};
use crate::machine::{AgentState, CallInput, CallState, Input, StopCause};
use crate::mailbox::{self, MessagePolicy, WhileAsking};
use crate::message::{Decision, DecisionRecord, Message, Notice, ResultStatus, Said, UserMessage};
use crate::payload::Digest;
use crate::store::{InterruptKind, ItemKind, MessageRange, StoredItem, Wake};
use crate::tool::EffectClass;

/// Beyond this many bytes, further messages wait for the next commit.
const TAKEN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// So many calls that acted are named when a turn is taken back, with so much of their arguments.
const NAMED_MAX: usize = 20;
const NAMED_CHARS_MAX: usize = 200;

/// What is to be taken back, as far as it has been read.
#[derive(Debug, Clone, Default)]
pub(super) enum Undone {
    #[default]
    Unread,
    Reading(ActionId, MessageSeq),
    /// From this message on; nothing if it cannot be read.
    Read(MessageSeq, Vec<(MessageSeq, Arc<Message>)>),
}

/// A message that wakes nobody: it stops nothing and keeps no turn going, and is taken with whatever comes next.
pub(super) fn is_note(item: &StoredItem) -> bool {
    matches!(item.kind, ItemKind::Message { wake: Wake::Quiet })
}

impl StepIterator {
    fn policy_of(&self, item: &StoredItem) -> MessagePolicy {
        let said = mailbox::said(item);
        if said.edits.is_some() {
            return MessagePolicy::Interrupt;
        }
        if is_note(item) {
            return MessagePolicy::Steer;
        }
        let of_agent = self.agent.as_ref().and_then(|agent| agent.on_message);
        said.policy.or(of_agent).unwrap_or(MessagePolicy::Steer)
    }

    /// The messages that go before those that wait for the end of the turn (C40).
    fn steering(&self) -> impl Iterator<Item = &StoredItem> {
        let messages = self.mind.inbox.iter().filter(|item| mailbox::is_message(item));
        messages.filter(|item| !self.policy_of(item).waits())
    }

    /// Whether a message takes back what was said before it, as soon as it is read.
    fn takes_back(&self, item: &StoredItem) -> bool {
        mailbox::said(item).edits.is_some() || self.policy_of(item) == MessagePolicy::Rollback
    }

    /// Whether messages wait that the model should see before the turn ends.
    pub(super) fn messages_steer(&self) -> bool {
        self.steering().any(|item| !is_note(item))
    }

    /// Drops messages that were withdrawn before they were taken (U08).
    pub(super) fn settle_inbox(&mut self) {
        if self.mind.inbox.iter().any(|item| matches!(item.kind, ItemKind::Signal { .. })) {
            let settled = mailbox::settle(std::mem::take(&mut self.mind.inbox));
            self.mind.inbox = settled.items;
            self.mind.draft.consumed.extend(settled.consumed);
        }
    }

    /// Stops the turn if a message asks for that. In steering nothing is open that could be stopped: there it is
    /// taken, unless the turn is to be taken back. A turn that ends already can still be taken back, and no more.
    pub(super) fn heed_messages(&mut self) -> bool {
        let machine = &self.mind.machine;
        if !machine.turn.open {
            return false;
        }
        let ends = matches!(machine.state, AgentState::TearingDown { .. })
            || machine.state.batch().is_some_and(|batch| batch.stopping.is_some());
        let cause = self.steering().filter_map(|item| match self.policy_of(item) {
            _ if mailbox::said(item).edits.is_some() => Some(StopCause::Edit),
            MessagePolicy::Rollback if self.knows_beginning() => Some(StopCause::Rollback),
            MessagePolicy::Interrupt | MessagePolicy::Rollback => Some(StopCause::Message),
            MessagePolicy::Steer | MessagePolicy::Enqueue | MessagePolicy::Reject => None,
        });
        let Some(cause) = cause.max().filter(|cause| !ends || *cause == StopCause::Rollback) else {
            return false;
        };
        if cause == StopCause::Message && matches!(machine.state, AgentState::Steering { .. }) {
            return false;
        }
        let moved = self.feed(Input::Interrupted { kind: InterruptKind::Soft, cause });
        self.mind.draft.decided |= moved;
        moved
    }

    /// A turn that an older version began does not say where.
    fn knows_beginning(&self) -> bool {
        let turn = &self.mind.machine.turn;
        turn.number.0 <= 1 || turn.began > MessageSeq(0)
    }

    /// Refuses a call that waits for a person's decision because something was said instead (U07).
    pub(super) fn deny_by_message(&mut self) -> bool {
        let denies =
            self.agent.as_ref().is_some_and(|agent| agent.on_message_while_asking == WhileAsking::Deny);
        let Some(batch) = self.mind.machine.state.batch().filter(|batch| denies && batch.stopping.is_none())
        else {
            return false;
        };
        let asked = batch.calls.iter().find_map(|call| match &call.state {
            CallState::BlockedOnUser { pending, .. } => Some((call.clone(), pending.clone())),
            CallState::Queued
            | CallState::Gating
            | CallState::BlockedOnClient { .. }
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
        let inbox = &self.mind.inbox;
        let said = self
            .steering()
            .find(|item| !is_note(item))
            .map(|item| (mailbox::said_in(inbox, item).text, item.at));
        let Some((text, at)) = said else { return false };
        let shown = self.arguments_of(&call.id);
        let content = rejected(&call.tool, Some(&text));
        let decision = Decision {
            approve: false,
            saw: Digest::of(shown.as_bytes()),
            arguments: None,
            always: false,
            only: ArgumentPatterns::default(),
            reason: Some(text),
            by: None,
        };
        let note = Some("nobody decided: something was said instead".to_owned());
        self.append(Message::Decision(DecisionRecord { call: call.id.clone(), pending, decision, at, note }));
        let denial = DenialRecord::new(DeniedBy::User, &call.tool, content.clone(), &shown);
        let edited = self.edited(&call);
        // What is said is feedback, as the reason of a denial is (B29).
        self.keep_result(denied(&call, ResultStatus::Error, content, edited, denial));
        self.feed(Input::Call { call: call.id, input: CallInput::Rejected { then: OnDenial::GoOn } });
        self.mind.draft.decided = true;
        true
    }

    /// Takes the messages that steer into the transcript, in order: all, or as many as one commit should carry. The
    /// rest follow at the next steering.
    pub(super) fn take_steering(&mut self) {
        let taken = self.steering().map(|item| item.seq).collect::<Vec<_>>();
        self.take_messages(&taken);
    }

    /// Takes what begins a turn: the messages that steer, else the first that waited (B49), and what is noted.
    pub(super) fn take_first(&mut self) {
        let steers = self.messages_steer();
        let waited = |item: &&StoredItem| mailbox::is_message(item) && !is_note(item);
        let waiting = self.mind.inbox.iter().find(waited).filter(|_| !steers).map(|item| item.seq);
        let taken = self.steering().map(|item| item.seq).chain(waiting).collect::<Vec<_>>();
        self.take_messages(&taken);
    }

    /// What takes something back is taken whatever its size, and before all others: left for later, it would take back
    /// what was taken instead of it.
    fn take_messages(&mut self, wanted: &[InboxSeq]) {
        let inbox = std::mem::take(&mut self.mind.inbox);
        let wanted = || inbox.iter().filter(|item| wanted.contains(&item.seq));
        let mut bytes: usize =
            wanted().filter(|item| self.takes_back(item)).map(|item| item.payload.len().max(1)).sum();
        let mut fits = |item: &StoredItem| {
            let first = bytes == 0;
            bytes += item.payload.len().max(1);
            first || bytes <= TAKEN_BYTES_MAX
        };
        let taken: Vec<&StoredItem> = wanted().filter(|item| self.takes_back(item) || fits(item)).collect();
        let is_taken = |seq: InboxSeq| taken.iter().any(|item| item.seq == seq);
        let rest = |item: &&StoredItem| !is_taken(item.seq) && !mailbox::replaces(item).is_some_and(is_taken);
        self.mind.inbox = inbox.iter().filter(rest).cloned().collect();
        let gone = inbox.iter().filter(|item| !rest(item)).map(|item| item.seq);
        self.mind.draft.consumed.extend(gone);
        for item in taken {
            self.take_modes_before(item.seq);
            let Said { text, briefing, images, .. } = mailbox::said_in(&inbox, item);
            let said = UserMessage {
                text,
                item: Some(item.seq),
                briefing: briefing.clone(),
                images,
                by_engine: false,
            };
            let at = self.append(Message::User(said));
            self.take_briefing(briefing, at);
        }
    }

    // What is taken back

    /// Up to where the transcript is taken back before a turn begins: a message asked for it when it stopped the turn
    /// before, or edits an earlier one. None: nothing is.
    fn rewinds_to(&self) -> Option<MessageSeq> {
        let machine = &self.mind.machine;
        let edited = self.steering().filter_map(|item| mailbox::said(item).edits);
        let edited = edited.map(|message| MessageSeq(message.0.saturating_sub(1)));
        let ended = machine.state.ended().filter(|ending| ending.cause == StopCause::Rollback);
        let rolled_back = ended.filter(|_| self.rolls_back()).map(|_| machine.turn.began);
        edited.chain(rolled_back).min().filter(|to| *to < self.mind.last_message)
    }

    /// Whether a message that takes the turn before back is still there: it may have been withdrawn.
    fn rolls_back(&self) -> bool {
        self.steering().any(|item| self.policy_of(item) == MessagePolicy::Rollback)
    }

    /// Takes back what is to be taken back before a turn begins. False: it must be read first.
    pub(super) fn rewind(&mut self) -> bool {
        let Some(to) = self.rewinds_to() else { return true };
        let undone = match std::mem::take(&mut self.undone) {
            Undone::Read(from, messages) if from == to.next() => messages,
            Undone::Reading(id, from) => {
                self.undone = Undone::Reading(id, from);
                return false;
            }
            // Unread, or read for something that begins later.
            Undone::Unread | Undone::Read(..) => {
                let range = MessageRange::new(to.next(), self.mind.last_message);
                let id = self.read(vec![range], self.mind.inbox_seen, false);
                self.undone = Undone::Reading(id, to.next());
                return false;
            }
        };
        let tokens = self.tokens_without(to, &undone);
        let notices = undone.iter().rev().filter_map(|(seq, message)| match &**message {
            Message::Notice(notice) => Some((*seq, notice)),
            Message::User(_)
            | Message::Assistant(_)
            | Message::Tool(_)
            | Message::Decision(_)
            | Message::Summary(_) => None,
        });
        let state = custom::way_back(to, notices);
        let acted = self.acted(&undone);
        let told = !acted.is_empty();
        let text = if told {
            format!(
                "[What was said and done here was taken back and is not shown any more. What these calls did \
                 stands all the same: {}]",
                acted.join("; ")
            )
        } else {
            format!("taken back: messages {} to {}", to.next(), self.mind.last_message)
        };
        let at = self.append(Message::Notice(Notice { rewound: Some(to), told, ..Notice::new(text) }));
        self.mind.grown = 0;
        self.mind.draft.decided = true;
        let works = (self.mode(), self.mind.machine.prompt);
        self.feed(Input::Rewound { to, at, tokens, state });
        self.note_unbriefed(works);
        true
    }

    /// What the model is shown in tokens once what stands after `to` is taken back.
    fn tokens_without(&self, to: MessageSeq, undone: &[(MessageSeq, Arc<Message>)]) -> u64 {
        let machine = &self.mind.machine;
        let (view, counted, counted_to) = match machine.seen_again_at(to) {
            None => (&machine.view, self.tokens(), MessageSeq(u64::MAX)),
            // It was counted when its first summary was made: that, and what came later, is not in the count.
            Some(view) => {
                let summary = undone.iter().find_map(|(seq, message)| {
                    (matches!(**message, Message::Summary(_)) && *seq > view.after).then_some(*seq)
                });
                (view, view.tokens, summary.unwrap_or(MessageSeq(u64::MAX)))
            }
        };
        let hidden = undone.iter().filter(|(seq, _)| view.shows(*seq) && *seq < counted_to);
        counted.saturating_sub(hidden.map(|(_, message)| compaction::tokens_of(message)).sum())
    }

    /// The calls among these messages that acted, or may have, in words.
    fn acted(&self, undone: &[(MessageSeq, Arc<Message>)]) -> Vec<String> {
        let arguments = |result: &crate::message::ToolResult| {
            let proposed = undone.iter().find_map(|(_, message)| match &**message {
                Message::Assistant(said) => {
                    said.calls().find(|call| call.id == result.call).map(|call| call.arguments.clone())
                }
                Message::User(_)
                | Message::Tool(_)
                | Message::Decision(_)
                | Message::Notice(_)
                | Message::Summary(_) => None,
            });
            result.edited_arguments.clone().or(proposed).unwrap_or_default()
        };
        let changes_nothing = |tool: &str| {
            self.agent.as_ref().is_some_and(|agent| {
                let reads = agent.tool(tool).is_some_and(|spec| spec.effect == EffectClass::ReadOnly);
                reads || agent.is_output(tool)
            })
        };
        let mut named: Vec<String> = Vec::new();
        let mut more = 0_usize;
        for (_, message) in undone {
            let Message::Tool(result) = &**message else { continue };
            if !result.was_sent() || changes_nothing(&result.tool) {
                continue;
            }
            let how = match result.status {
                ResultStatus::Done => "done",
                ResultStatus::InDoubt => "in doubt",
                ResultStatus::Error => "sent, and an error was its result",
                ResultStatus::Denied | ResultStatus::RejectedByUser | ResultStatus::Cancelled => "came back",
            };
            if named.len() == NAMED_MAX {
                more += 1;
                continue;
            }
            let arguments: String = arguments(result).chars().take(NAMED_CHARS_MAX).collect();
            named.push(format!("{} {arguments} ({how})", result.tool));
        }
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        named
    }

    /// Takes what was read to be taken back. False: it was read for something else.
    pub(super) fn on_undone(&mut self, id: ActionId, result: &Result<Found, ErrorInfo>) -> bool {
        let Undone::Reading(of, from) = self.undone else { return false };
        if of != id {
            return false;
        }
        let parsed = result.as_ref().map_err(Clone::clone).and_then(|found| {
            let parsed = found.messages.iter().map(|stored| {
                let message = stored.payload.parse().map(Arc::new);
                message.map(|message| (stored.seq, message)).map_err(|error: serde_json::Error| {
                    ErrorInfo::new("engine.transcript", format!("message {}: {error}", stored.seq))
                })
            });
            parsed.collect::<Result<Vec<_>, _>>()
        });
        // What cannot be read is taken back all the same; what acted cannot be said then.
        self.undone = Undone::Read(from, parsed.unwrap_or_default());
        true
    }
}
