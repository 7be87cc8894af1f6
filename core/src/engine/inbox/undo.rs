//! Takes messages back before a turn begins.

use std::sync::Arc;

use crate::engine::action::ActionId;
use crate::engine::compaction;
use crate::engine::context::run::Run;
use crate::engine::inbox::InboxHandler;
use crate::engine::mind::Mind;
use crate::engine::reply::Found;
use crate::machine::{custom, procedure};
use crate::store::MessageRange;
use crate::words::ending::StopCause;
use crate::words::error::ErrorInfo;
use crate::words::history::Input;
use crate::words::ids::MessageSeq;
use crate::words::mailbox;
use crate::words::message::{Message, MessagePolicy, Notice, ResultStatus};
use crate::words::tool::EffectClass;

/// The most calls that are listed when a turn is taken back.
const NAMED_MAX: usize = 20;

const NAMED_CHARS_MAX: usize = 200;

/// The messages that are to be taken back, as far as they have been read.
#[derive(Debug, Clone, Default)]
pub(crate) enum Undone {
    #[default]
    Unread,
    Reading(ActionId, MessageSeq),
    /// The messages from this place on; none if they cannot be read.
    Read(MessageSeq, Vec<(MessageSeq, Arc<Message>)>),
}

impl Run {
    /// Describes the calls among these messages that acted, or may have acted.
    fn acted(&self, undone: &[(MessageSeq, Arc<Message>)]) -> Vec<String> {
        let arguments = |result: &crate::words::message::ToolResult| {
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
}

impl InboxHandler<'_> {
    // Taking messages back

    /// Returns the last message that stays when messages are taken back before a turn begins. A message asks for
    /// this if it stopped the previous turn, or if it edits an earlier message. Returns `None` if nothing is taken
    /// back.
    fn rewinds_to(&self) -> Option<MessageSeq> {
        let machine = &self.cx.mind.machine;
        let edited = self.steering().filter_map(|item| mailbox::said(item).edits);
        let edited = edited.map(|message| MessageSeq(message.0.saturating_sub(1)));
        let ended = machine.state.ended().filter(|ending| ending.cause == StopCause::Rollback);
        let rolled_back = ended.filter(|_| self.rolls_back()).map(|_| machine.turn.began);
        edited.chain(rolled_back).min().filter(|to| *to < self.cx.mind.transcript.last)
    }

    /// Returns true if a message that takes the previous turn back is still in the inbox. It may have been
    /// withdrawn.
    fn rolls_back(&self) -> bool {
        self.steering().any(|item| self.cx.run.policy_of(item) == MessagePolicy::Rollback)
    }

    /// Takes messages back before a turn begins. Returns false if they must be read first.
    pub(crate) fn rewind(&mut self) -> bool {
        let Some(to) = self.rewinds_to() else { return true };
        let undone = match std::mem::take(&mut self.cx.past.undone) {
            Undone::Read(from, messages) if from == to.next() => messages,
            Undone::Reading(id, from) => {
                self.cx.past.undone = Undone::Reading(id, from);
                return false;
            }
            // Nothing was read, or only messages from a later place on.
            Undone::Unread | Undone::Read(..) => {
                let range = MessageRange::new(to.next(), self.cx.mind.transcript.last);
                let id = self.cx.read(vec![range], self.cx.mind.inbox.seen, false);
                self.cx.past.undone = Undone::Reading(id, to.next());
                return false;
            }
        };
        let tokens = self.cx.mind.tokens_without(to, &undone);
        let notices = || {
            undone.iter().rev().filter_map(|(seq, message)| match &**message {
                Message::Notice(notice) => Some((*seq, notice)),
                Message::User(_)
                | Message::Assistant(_)
                | Message::Tool(_)
                | Message::Decision(_)
                | Message::Summary(_) => None,
            })
        };
        let state = custom::way_back(to, notices());
        let mut procedure = procedure::way_back(to, notices());
        // Another agent may have taken over since. Its work begins anew.
        if let (Some(back), Some(agent)) = (&mut procedure, &self.cx.run.agent)
            && agent.procedure.is_some()
            && agent.stands(back.to.as_ref()).is_none()
        {
            back.to = None;
        }
        let acted = self.cx.run.acted(&undone);
        let settled = settlements(&undone);
        let told = !acted.is_empty() || !settled.is_empty();
        let text = if acted.is_empty() {
            format!("taken back: messages {} to {}", to.next(), self.cx.mind.transcript.last)
        } else {
            format!(
                "[What was said and done here was taken back and is not shown any more. What these calls did \
                 stands all the same: {}]",
                acted.join("; ")
            )
        };
        let text = std::iter::once(text).chain(settled).collect::<Vec<_>>().join("\n");
        let at = self.cx.append(Message::Notice(Notice { rewound: Some(to), told, ..Notice::new(text) }));
        self.cx.mind.transcript.grown = 0;
        self.cx.mind.draft.decided = true;
        let works = (self.cx.mode(), self.cx.mind.machine.prompt);
        self.cx.feed(Input::Rewound { to, at, tokens, state, procedure });
        self.note_unbriefed(works);
        true
    }

    /// Takes the answer to a read of messages that are to be taken back. Returns false if the read was for
    /// something else.
    pub(crate) fn on_undone(&mut self, id: ActionId, result: &Result<Found, ErrorInfo>) -> bool {
        let Undone::Reading(of, from) = self.cx.past.undone else { return false };
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
        // Messages that cannot be read are taken back, too, but their calls cannot be listed.
        self.cx.past.undone = Undone::Read(from, parsed.unwrap_or_default());
        true
    }
}

impl Mind {
    /// Returns the number of tokens that the model sees once everything after `to` is taken back.
    fn tokens_without(&self, to: MessageSeq, undone: &[(MessageSeq, Arc<Message>)]) -> u64 {
        let machine = &self.machine;
        let (view, counted, counted_to) = match machine.seen_again_at(to) {
            None => (&machine.view, self.tokens(), MessageSeq(u64::MAX)),
            // This view was counted when its first summary was made. The count does not include that summary or
            // later messages.
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
}

/// The most settlements that are repeated, and the most characters of each.
const SETTLED_MAX: usize = 32;
const SETTLED_CHARS_MAX: usize = 2_000;

/// Returns the beginnings of the texts of the newest settlements among these messages. They stand, whatever is taken
/// back.
fn settlements(undone: &[(MessageSeq, Arc<Message>)]) -> Vec<String> {
    let settled = undone.iter().filter_map(|(_, message)| match &**message {
        Message::Notice(notice) => {
            notice.settled.as_ref().map(|_| notice.text.chars().take(SETTLED_CHARS_MAX).collect())
        }
        Message::User(_)
        | Message::Assistant(_)
        | Message::Tool(_)
        | Message::Decision(_)
        | Message::Summary(_) => None,
    });
    let settled: Vec<String> = settled.collect();
    settled.into_iter().rev().take(SETTLED_MAX).rev().collect()
}
