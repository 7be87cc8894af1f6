//! Loop detection in a run: what stands before the model is asked.

use std::sync::Arc;

use super::{ActionId, Found, StepIterator};
use crate::agent::LoopDetection;
use crate::error::ErrorInfo;
use crate::ids::MessageSeq;
use crate::machine::looping::{self, Repeated};
use crate::machine::{Input, Withheld};
use crate::message::{Message, Notice};
use crate::store::MessageRange;

/// So many messages before the claim are read: the window, with room for decisions and notices in between.
fn to_read(rules: &LoopDetection) -> u64 {
    2 * looping::window(rules) as u64
}

/// The newest messages of before the claim, as far as they are needed.
#[derive(Debug, Clone, Default)]
pub(super) enum Before {
    #[default]
    Unread,
    Reading(ActionId),
    Read(Vec<Arc<Message>>),
}

impl StepIterator {
    /// Looks for a loop. False: the turn goes on only when something was read.
    pub(super) fn look_for_loop(&mut self) -> Looked {
        self.note = None;
        let Some(agent) = self.agent.clone() else { return Looked::Nothing };
        let rules = &agent.loops;
        if rules.least().is_none_or(|least| self.mind.machine.turn.calls < least) {
            return Looked::Nothing;
        }
        if !self.has_window(rules) {
            match self.before_claim {
                Before::Read(_) => {}
                Before::Reading(_) => return Looked::Waits,
                Before::Unread => {
                    self.read_window(rules);
                    return Looked::Waits;
                }
            }
        }
        let Some(Repeated { tool, count }) = looping::repeated(self.newest(), rules) else {
            return Looked::Nothing;
        };
        let reached = |at: u32| at > 0 && count >= at;
        if reached(rules.stop_at) {
            return Looked::Stops { tool, count };
        }
        // What loops no more needs no word, though it is still remembered.
        if !self.was_just_asked_for(&tool) || self.is_withheld(&tool) {
            return Looked::Nothing;
        }
        if reached(rules.withhold_at) && agent.tool(&tool).is_some() {
            let note = format!(
                "You have called {tool} {count} times in nearly the same way. It is taken away for a while: go on \
                 without it, or say what keeps you from it."
            );
            self.note = Some(note);
            let step = self.mind.machine.step;
            let until = crate::ids::StepNumber(step.0.saturating_add(u64::from(rules.withheld_steps)));
            return Looked::Withholds(Withheld { tool, until });
        }
        if reached(rules.warn_at) {
            let note = format!(
                "You have called {tool} {count} times in nearly the same way. If it does not bring you further, do \
                 something else."
            );
            self.note = Some(note);
        }
        Looked::Nothing
    }

    /// The newest messages, as far as they are known.
    fn newest(&self) -> impl DoubleEndedIterator<Item = &Message> {
        let before: &[Arc<Message>] = match &self.before_claim {
            Before::Read(messages) => messages,
            Before::Unread | Before::Reading(_) => &[],
        };
        let added = self.added[..self.mind.added].iter().map(|(_, message)| message);
        before.iter().chain(added).map(|message| &**message)
    }

    /// Whether the newest answer of the model asks for this tool.
    fn was_just_asked_for(&self, tool: &str) -> bool {
        let said = self.newest().rev().find_map(|message| match message {
            Message::Assistant(said) => Some(said),
            Message::User(_)
            | Message::Tool(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => None,
        });
        said.is_some_and(|said| said.calls().any(|call| call.tool == tool))
    }

    fn is_withheld(&self, tool: &str) -> bool {
        let machine = &self.mind.machine;
        machine.turn.withheld.iter().any(|withheld| withheld.tool == tool && withheld.until > machine.step)
    }

    /// The turn ends before the model is asked once more, and whoever reads along is told how to go on.
    pub(super) fn stop_loop(&mut self, tool: String, count: u32) -> bool {
        let text = format!(
            "stopped: {tool} was called {count} times in nearly the same way; say something to keep going"
        );
        self.append(Message::Notice(Notice::new(text)));
        self.mind.draft.decided = true;
        self.feed(Input::LoopFound { tool, count })
    }

    /// Whether what was added since the claim is all that counts.
    fn has_window(&self, rules: &LoopDetection) -> bool {
        if self.claimed_messages == MessageSeq(0) {
            return true;
        }
        let added = &self.added[..self.mind.added];
        let said = added.iter().filter(|(_, message)| {
            matches!(**message, Message::User(_) | Message::Assistant(_) | Message::Tool(_))
        });
        said.count() >= looping::window(rules)
            || added.iter().any(|(_, message)| matches!(**message, Message::User(_)))
    }

    fn read_window(&mut self, rules: &LoopDetection) {
        let last = self.claimed_messages;
        let first = MessageSeq(last.0.saturating_sub(to_read(rules) - 1).max(1));
        let id = self.read(vec![MessageRange::new(first, last)], self.mind.inbox_seen, false);
        self.before_claim = Before::Reading(id);
    }

    /// Takes what was read for loop detection. False: it was read for something else.
    pub(super) fn on_window(&mut self, id: ActionId, result: &Result<Found, ErrorInfo>) -> bool {
        if !matches!(self.before_claim, Before::Reading(of) if of == id) {
            return false;
        }
        let parsed = result.as_ref().map_err(Clone::clone).and_then(|found| {
            let parsed = found.messages.iter().map(|stored| {
                stored.payload.parse().map(Arc::new).map_err(|error: serde_json::Error| {
                    ErrorInfo::new("engine.transcript", format!("message {}: {error}", stored.seq))
                })
            });
            parsed.collect::<Result<Vec<_>, _>>()
        });
        match parsed {
            Ok(messages) => self.before_claim = Before::Read(messages),
            Err(error) => {
                self.before_claim = Before::Read(Vec::new());
                self.give_up(error);
            }
        }
        true
    }
}

/// What the newest messages mean for the step that comes.
pub(super) enum Looked {
    /// The model is asked.
    Nothing,
    /// Something must be read first.
    Waits,
    /// The model is asked, without this tool.
    Withholds(Withheld),
    /// The turn ends.
    Stops { tool: String, count: u32 },
}
