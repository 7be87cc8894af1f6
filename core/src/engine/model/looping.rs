//! Loop detection in a run, before the model is asked.

use std::sync::Arc;

use crate::engine::RunKind;
use crate::engine::action::ActionId;
use crate::engine::model::ModelHandler;
use crate::engine::reply::Found;
use crate::machine::looping::Repeated;
use crate::machine::{Machine, looping};
use crate::store::MessageRange;
use crate::words::agent::LoopDetection;
use crate::words::error::ErrorInfo;
use crate::words::history::{Input, Withheld};
use crate::words::ids::{MessageSeq, StepNumber};
use crate::words::message::{Message, Notice};

/// Returns the number of messages before the claim that are read at once: twice the window, to leave room for
/// decisions and notices.
fn page(rules: &LoopDetection) -> u64 {
    2 * looping::window(rules) as u64
}

/// The number of messages after which no further page is read.
const READ_MAX: usize = 4096;

/// The newest messages before the claim, as far as they were needed.
#[derive(Debug, Clone, Default)]
pub(crate) enum Before {
    #[default]
    Unread,
    /// Some messages are known, oldest first, and those before them, from `first` on, are being read.
    Reading {
        id: ActionId,
        first: MessageSeq,
        read: Vec<Arc<Message>>,
    },
    Read(Vec<Arc<Message>>),
}

impl ModelHandler<'_> {
    /// Looks for a loop in the newest messages. Sets the note for the next model call.
    pub(crate) fn look_for_loop(&mut self) -> Looked {
        self.cx.output.note = None;
        let Some(agent) = self.cx.run.agent.clone() else { return Looked::Nothing };
        let rules = &agent.loops;
        // A resumed turn also counts the calls before its start.
        let goes_on = matches!(self.cx.run.kind, RunKind::Resume | RunKind::Retry);
        if rules.least().is_none_or(|least| self.cx.mind.machine.turn.calls < least && !goes_on) {
            return Looked::Nothing;
        }
        match &self.cx.past.window {
            _ if self.has_window(&[], rules) => {}
            Before::Read(_) => {}
            Before::Reading { .. } => return Looked::Waits,
            Before::Unread => {
                self.read_page(self.cx.run.claimed, Vec::new(), rules);
                return Looked::Waits;
            }
        }
        let found = looping::repeated(self.newest(), rules);
        let Some(Repeated { tool, count }) = found.first().cloned() else { return Looked::Nothing };
        let reached = |at: u32| is_reached(at, count);
        if reached(rules.stop_at) {
            return Looked::Stops { tool, count };
        }
        let step = self.cx.mind.machine.step;
        let until = StepNumber(step.0.saturating_add(u64::from(rules.withheld_steps)));
        let (mut notes, mut withheld) = (Vec::new(), Vec::new());
        for Repeated { tool, count } in found {
            // A tool that the newest answer did not call needs no note, even if it still counts as looping.
            if !self.was_just_asked_for(&tool) {
                continue;
            }
            match self.withheld_until(&tool) {
                // The tool is withheld since this step, whose request is made again.
                Some(since) if since == until => notes.push(taken_away(&tool, count)),
                Some(_) => {}
                None if is_reached(rules.withhold_at, count) && agent.tool(&tool).is_some() => {
                    notes.push(taken_away(&tool, count));
                    withheld.push(Withheld { tool, until });
                }
                None if is_reached(rules.warn_at, count) => notes.push(warning(&tool, count)),
                None => {}
            }
        }
        self.cx.output.note = (!notes.is_empty()).then(|| notes.join("\n"));
        if withheld.is_empty() { Looked::Nothing } else { Looked::Withholds(withheld) }
    }

    /// Returns the newest messages, as far as they are known.
    fn newest(&self) -> impl DoubleEndedIterator<Item = &Message> {
        let before: &[Arc<Message>] = match &self.cx.past.window {
            Before::Read(messages) => messages,
            Before::Unread | Before::Reading { .. } => &[],
        };
        let added = self.cx.mind.transcript.added.iter().map(|(_, message)| message);
        before.iter().chain(added).map(|message| &**message)
    }

    /// Returns true if the newest answer of the model calls this tool.
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

    /// Returns the step until which a tool is withheld.
    fn withheld_until(&self, tool: &str) -> Option<StepNumber> {
        let Machine { turn, step, .. } = &self.cx.mind.machine;
        let withheld = turn.withheld.iter().find(|withheld| withheld.tool == tool && withheld.until > *step);
        withheld.map(|withheld| withheld.until)
    }

    /// Ends the turn before the model is asked again, and tells followers how to go on.
    pub(crate) fn stop_loop(&mut self, tool: String, count: u32) -> bool {
        let text = format!(
            "stopped: {tool} was called {count} times in nearly the same way; say something to keep going"
        );
        self.cx.append(Message::Notice(Notice::new(text)));
        self.cx.mind.draft.decided = true;
        self.cx.feed(Input::LoopFound { tool, count })
    }

    /// Returns true if `before` and the messages since the claim include everything that counts.
    fn has_window(&self, before: &[Arc<Message>], rules: &LoopDetection) -> bool {
        let added = self.cx.mind.transcript.added.iter().map(|(_, message)| message);
        self.cx.run.claimed == MessageSeq(0)
            || looping::is_whole(before.iter().chain(added).map(|message| &**message), rules)
    }

    /// Reads a page of messages that ends with `last`. `read` are the messages after it.
    fn read_page(&mut self, last: MessageSeq, read: Vec<Arc<Message>>, rules: &LoopDetection) {
        let first = MessageSeq(last.0.saturating_sub(page(rules) - 1).max(1));
        let id = self.cx.read(vec![MessageRange::new(first, last)], self.cx.mind.inbox.seen, false);
        self.cx.past.window = Before::Reading { id, first, read };
    }

    /// Takes the answer to a read for loop detection. Returns false if the read was for something else.
    pub(crate) fn on_window(&mut self, id: ActionId, result: &Result<Found, ErrorInfo>) -> bool {
        let (first, read) = match &mut self.cx.past.window {
            Before::Reading { id: of, first, read } if *of == id => (*first, std::mem::take(read)),
            Before::Unread | Before::Reading { .. } | Before::Read(_) => return false,
        };
        let parsed = result.as_ref().map_err(Clone::clone).and_then(|found| {
            let parsed = found.messages.iter().map(|stored| {
                stored.payload.parse().map(Arc::new).map_err(|error: serde_json::Error| {
                    ErrorInfo::new("engine.transcript", format!("message {}: {error}", stored.seq))
                })
            });
            parsed.collect::<Result<Vec<_>, _>>()
        });
        let mut messages = match parsed {
            Ok(messages) => messages,
            Err(error) => {
                self.cx.past.window = Before::Read(Vec::new());
                self.cx.give_up(error);
                return true;
            }
        };
        messages.extend(read);
        let more = first > MessageSeq(1) && messages.len() < READ_MAX;
        match self.cx.run.agent.clone().filter(|agent| more && !self.has_window(&messages, &agent.loops)) {
            Some(agent) => self.read_page(MessageSeq(first.0 - 1), messages, &agent.loops),
            None => self.cx.past.window = Before::Read(messages),
        }
        true
    }
}

/// Returns true if the count has reached the limit. A limit of zero is never reached.
fn is_reached(at: u32, count: u32) -> bool {
    at > 0 && count >= at
}

fn taken_away(tool: &str, count: u32) -> String {
    format!(
        "You have called {tool} {count} times in nearly the same way. It is taken away for a while: go on without it, or \
         say what keeps you from it."
    )
}

fn warning(tool: &str, count: u32) -> String {
    format!(
        "You have called {tool} {count} times in nearly the same way. If it does not bring you further, do something \
         else."
    )
}

/// The result of loop detection for the next step.
pub(crate) enum Looked {
    /// The model is asked.
    Nothing,
    /// Earlier messages must be read first.
    Waits,
    /// The model is asked, without these tools.
    Withholds(Vec<Withheld>),
    /// The turn ends.
    Stops { tool: String, count: u32 },
}
