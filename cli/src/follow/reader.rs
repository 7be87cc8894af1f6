//! The reader of a followed session.

use std::collections::VecDeque;
use std::time::Instant;

use holdover_core::event::Event;
use holdover_core::ids::{MessageSeq, SessionKey};
use holdover_core::machine::Usage;
use holdover_core::message::Message;
use holdover_core::store::Session;
use holdover_runtime_local::{EventEntry, Shown, TreeCursor, TreeMember, TreeShown, machine_of};

use crate::exit::Failure;
use crate::front::{Front, Live};
use crate::print::human::{self, Detail};
use crate::print::view::{Doing, Followed};
use crate::print::{json, screen};

/// Merges durable events and provisional text into one order.
pub(super) struct Reader<'a> {
    front: &'a Front,
    key: &'a SessionKey,
    pub(super) cursor: TreeCursor,
    /// The last text of the model, if only that was requested.
    pub(super) answer: Option<String>,
    /// Provisional items that come after a durable event that is not printed yet.
    held: VecDeque<Live>,
    /// The newest message that was printed.
    printed: MessageSeq,
    /// True while an answer is shown that is not durable yet.
    showing: bool,
    /// The part of that answer that was shown.
    shown: String,
    /// True if the terminal's cursor is in the middle of a line.
    mid_line: bool,
    /// The instant at which the reader started.
    began: Instant,
    /// The data for the lines that are drawn beneath the output.
    view: Followed,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        front: &'a Front,
        key: &'a SessionKey,
        known: Option<&Session>,
        cursor: TreeCursor,
    ) -> Self {
        Self {
            front,
            key,
            cursor,
            answer: None,
            held: VecDeque::new(),
            printed: known.map_or(MessageSeq(0), |session| session.last_message),
            showing: false,
            shown: String::new(),
            mid_line: false,
            began: Instant::now(),
            view: Followed::new(known.and_then(used_by).unwrap_or_default()),
        }
    }

    /// Prints an event of the session or of one of its children.
    pub(super) async fn item(&mut self, item: &TreeShown) -> Result<(), Failure> {
        self.cursor = item.cursor.clone();
        let Shown::Event(entry) = &item.shown else { return Ok(()) };
        let key = SessionKey::new(self.key.tenant.clone(), item.member.session.clone());
        let message = match self.front.message_of_event(&key, &entry.event).await {
            // A child may be deleted meanwhile.
            Err(_) if item.member.place.is_some() => None,
            read => read?,
        };
        if self.front.out.json() {
            self.front.out.object(&json::tree_event(item, entry, message.as_ref()));
            return Ok(());
        }
        if item.member.place.is_none() {
            return self.event(entry, message);
        }
        if self.front.out.quiet() {
            return Ok(());
        }
        let out = self.front.out.under(&self.mark(&item.member));
        if let Some(message) = &message {
            self.end_line();
            human::message(&out, message, Detail::Passing, false);
        } else if let Some(line) = human::passing_child(&out, &entry.event) {
            self.end_line();
            out.line(line);
        }
        Ok(())
    }

    fn event(&mut self, entry: &EventEntry, message: Option<Message>) -> Result<(), Failure> {
        if let Event::Message { seq, .. } = &entry.event {
            self.printed = *seq;
        }
        let out = &self.front.out;
        if out.quiet() {
            if let Some(Message::Assistant(assistant)) = &message {
                let text = assistant.text();
                self.answer = Some(text).filter(|text| !text.trim().is_empty()).or(self.answer.take());
            }
            return Ok(());
        }
        self.look_at(&entry.event);
        if let Some(message) = &message {
            self.print(message);
        } else if let Some(line) = human::passing(out, &entry.event) {
            // Provisional text before this line will not become durable.
            self.end_line();
            self.showing = false;
            self.shown.clear();
            out.line(line);
        }
        self.release();
        Ok(())
    }

    /// Returns the prefix of a child's lines: its name, indented below that of its parent.
    fn mark(&self, member: &TreeMember) -> String {
        format!(
            "{}{}  ",
            "  ".repeat(usize::try_from(member.depth).unwrap_or_default()),
            human::member(member)
        )
    }

    fn print(&mut self, message: &Message) {
        let mut said = false;
        if let Message::Assistant(assistant) = message {
            said = !self.shown.is_empty() && self.shown == assistant.text();
            self.showing = false;
            self.shown.clear();
        }
        self.end_line();
        human::message(&self.front.out, message, Detail::Passing, said);
    }

    pub(super) fn hear(&mut self, said: Live) {
        let now = self.began.elapsed();
        match said {
            Live::Asked { step, attempt, .. } => {
                self.view.does(Doing::Asking { step, attempt }, now);
                self.held.push_back(said);
            }
            Live::Text(_) => self.held.push_back(said),
            Live::Answered => self.view.does(Doing::Working, now),
            Live::Sent { call, tool } => self.view.sent(call, tool, now),
            Live::Progress(call, progress) => self.view.progressed(&call, &progress),
            Live::Back(call) => self.view.back(&call),
        }
        self.release();
    }

    /// Draws the work in progress beneath the output.
    pub(super) fn draw(&self) {
        self.front.out.draw(&self.view.lines(self.began.elapsed(), screen::columns()));
    }

    /// Updates the data for the drawn lines from an event.
    fn look_at(&mut self, event: &Event) {
        match event {
            Event::History { rows } => {
                for row in rows {
                    if let Some(usage) = row.input.usage() {
                        self.view.usage.add(usage);
                    }
                }
            }
            Event::BackingOff { .. } => self.view.does(Doing::BackingOff, self.began.elapsed()),
            Event::RunStarted { .. } => self.view.does(Doing::Working, self.began.elapsed()),
            Event::Suspended { .. } => self.view.does(Doing::Waiting, self.began.elapsed()),
            Event::Init { .. }
            | Event::StepStarted { .. }
            | Event::StepEnded { .. }
            | Event::Error { .. }
            | Event::Briefed { .. }
            | Event::Provisioned { .. }
            | Event::CompactionStarted { .. }
            | Event::CompactionEnded { .. }
            | Event::Forked { .. }
            | Event::Message { .. }
            | Event::Call { .. }
            | Event::Asked { .. }
            | Event::Began { .. }
            | Event::NotBegun { .. }
            | Event::Escalated { .. }
            | Event::CallSettled { .. }
            | Event::StateConflict { .. }
            | Event::Diverged { .. }
            | Event::TeardownFailed { .. }
            | Event::FellBack { .. }
            | Event::CallRetried { .. }
            | Event::CallFellBack { .. }
            | Event::CircuitOpened { .. }
            | Event::Done { .. }
            | Event::AgentEnd { .. } => {}
            // Every event of this version is named above; the lint finds missing ones.
            _ => {}
        }
    }

    /// Shows provisional text, as far as everything before it is durable and printed.
    fn release(&mut self) {
        while let Some(said) = self.held.front() {
            match said {
                Live::Asked { after, .. } => {
                    if self.printed < *after {
                        return;
                    }
                    // If a later message is printed, the answer of this attempt is printed, too.
                    self.showing = self.printed == *after;
                    if self.showing && !self.shown.is_empty() {
                        self.shown.clear();
                        self.end_line();
                        self.front.out.line(self.front.out.dim("• cut off; the model is asked again"));
                    }
                }
                Live::Text(_) if !self.showing => {}
                Live::Answered | Live::Sent { .. } | Live::Progress(..) | Live::Back(_) => {}
                Live::Text(text) => {
                    self.shown.push_str(text);
                    self.mid_line = !text.ends_with('\n');
                    self.front.out.part(text);
                }
            }
            self.held.pop_front();
        }
    }

    pub(super) fn end_line(&mut self) {
        if self.mid_line {
            self.front.out.line("");
            self.mid_line = false;
        }
    }
}

fn used_by(session: &Session) -> Option<Usage> {
    machine_of(session).ok().flatten().map(|machine| machine.usage)
}
