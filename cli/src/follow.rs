//! Following a session while it runs here: what happens is printed as it becomes durable, what a model says
//! already before where a person reads along.

use std::collections::VecDeque;
use std::pin::pin;

use futures::StreamExt;
use holdover_core::event::Event;
use holdover_core::ids::{MessageSeq, SessionKey};
use holdover_core::message::Message;
use holdover_core::step::RunOutcome;
use holdover_core::store::{EventCursor, Session};
use holdover_runtime_local::{EventEntry, Follow, RuntimeError};

use crate::exit::{Exit, Failure};
use crate::front::{Front, Live};
use crate::owed;
use crate::print::human::{self, Detail};
use crate::print::{clean, json, note};
use crate::signals::{Signals, Told};

/// Prints what happens to `key` since it was `known` so until `outcome` is there, then how the session stands
/// and what it waits for. Ctrl-C interrupts the session; a second one leaves it where it is, as SIGTERM does.
pub(crate) async fn follow(
    front: &mut Front,
    key: &SessionKey,
    known: Option<&Session>,
    outcome: impl Future<Output = Result<RunOutcome, RuntimeError>>,
) -> Result<Exit, Failure> {
    let mut live = front.live.take();
    let mut signals = Signals::listen()?;
    let mut reader = Reader::new(front, key, known);
    let mut events = front.runtime.events(key, reader.cursor, Follow::Forever);
    let mut outcome = pin!(outcome);
    let mut asked_to_stop = false;
    let ended = loop {
        tokio::select! {
            biased;
            entry = events.next() => match entry {
                Some(entry) => reader.event(&entry?).await?,
                None => break outcome.await,
            },
            Some(said) = hear(&mut live) => reader.hear(said),
            ended = &mut outcome => break ended,
            told = signals.next() => {
                if asked_to_stop || told == Told::Terminate {
                    let next = if asked_to_stop { "the next run ends the turn" } else { "holdover resume takes it up again" };
                    let line = format!("session {}: left where it is; {next}", key.id);
                    return Err(Failure { exit: told.exit(), line });
                }
                asked_to_stop = true;
                note("interrupting the session; Ctrl-C again leaves it as it is");
                if let Err(error) = front.runtime.interrupt(key, "Ctrl-C").await {
                    note(&format!("the session could not be interrupted: {error}"));
                }
            }
        }
    };
    let ended = ended?;
    let mut rest = front.runtime.events(key, reader.cursor, Follow::Available);
    while let Some(entry) = rest.next().await {
        reader.event(&entry?).await?;
    }
    reader.end_line();
    report(front, key, &ended).await
}

/// Prints how a session stands and what it waits for, and says what that means for the process.
pub(crate) async fn report(front: &Front, key: &SessionKey, outcome: &RunOutcome) -> Result<Exit, Failure> {
    let debts = match outcome {
        RunOutcome::Suspended(suspension) => owed::debts(front, key, suspension).await?,
        RunOutcome::Ended(_) | RunOutcome::BackingOff { .. } | RunOutcome::Released | RunOutcome::Lost => {
            Vec::new()
        }
    };
    let line = format!("session {}: {}", key.id, human::outcome(outcome));
    front.out.line(front.out.bold(&line));
    human::debts(&front.out, &debts, front.runtime.now());
    front.out.object(&json::last(&key.id, json::outcome(outcome, &debts)));
    Ok(Exit::of(outcome.kind()))
}

async fn hear(live: &mut Option<tokio::sync::mpsc::UnboundedReceiver<Live>>) -> Option<Live> {
    match live {
        Some(live) => live.recv().await,
        None => std::future::pending().await,
    }
}

/// Puts what is durable and what is only said into one order.
struct Reader<'a> {
    front: &'a Front,
    key: &'a SessionKey,
    cursor: EventCursor,
    /// Said, but later than something durable that is not printed yet.
    held: VecDeque<Live>,
    /// The newest message that is printed.
    printed: MessageSeq,
    /// Whether an answer is being shown that is not durable yet.
    showing: bool,
    /// What was shown of it.
    shown: String,
    /// Whether the cursor of the terminal stands in the middle of a line.
    mid_line: bool,
}

impl<'a> Reader<'a> {
    fn new(front: &'a Front, key: &'a SessionKey, known: Option<&Session>) -> Self {
        Self {
            front,
            key,
            cursor: known.map_or(EventCursor::START, |session| {
                EventCursor::after(session.incarnation, session.last_event)
            }),
            held: VecDeque::new(),
            printed: known.map_or(MessageSeq(0), |session| session.last_message),
            showing: false,
            shown: String::new(),
            mid_line: false,
        }
    }

    async fn event(&mut self, entry: &EventEntry) -> Result<(), Failure> {
        self.cursor = entry.cursor;
        let message = self.front.message_of_event(self.key, &entry.event).await?;
        if let Event::Message { seq, .. } = &entry.event {
            self.printed = *seq;
        }
        let out = &self.front.out;
        if out.json() {
            out.object(&json::event(entry, message.as_ref()));
            return Ok(());
        }
        if out.quiet() {
            return Ok(());
        }
        if let Some(message) = &message {
            self.print(message);
        } else if let Some(line) = human::passing(out, &entry.event) {
            // What was said before it will not become durable.
            self.end_line();
            self.showing = false;
            self.shown.clear();
            out.line(line);
        }
        self.release();
        Ok(())
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

    fn hear(&mut self, said: Live) {
        self.held.push_back(said);
        self.release();
    }

    /// Shows what is said, as far as everything before it is durable and printed.
    fn release(&mut self) {
        while let Some(said) = self.held.front() {
            match said {
                Live::Asked(after) => {
                    if self.printed < *after {
                        return;
                    }
                    // What it said is printed, if more than it was shown is.
                    self.showing = self.printed == *after;
                    if self.showing && !self.shown.is_empty() {
                        self.shown.clear();
                        self.end_line();
                        self.front.out.line(self.front.out.dim("• cut off; the model is asked again"));
                    }
                }
                Live::Text(_) if !self.showing => {}
                Live::Text(text) => {
                    self.shown.push_str(text);
                    self.mid_line = !text.ends_with('\n');
                    self.front.out.part(&clean(text));
                }
            }
            self.held.pop_front();
        }
    }

    fn end_line(&mut self) {
        if self.mid_line {
            self.front.out.line("");
            self.mid_line = false;
        }
    }
}
