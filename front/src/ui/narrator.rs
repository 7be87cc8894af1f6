//! Tells the moments of an answer from the facts of the log. Pure: it reads nothing.
//!
//! What a model is writing is provisional: the narrator tells it piece by piece, and brings what was told in line with the
//! message that is committed. So an answer that was followed while it was written has the same texts as one that is told
//! from the log alone.

use holdover_core::children::ChildNames;
use holdover_core::delta::Delta;
use holdover_core::event::Event;
use holdover_core::ids::{CallId, PendingId};
use holdover_core::message::{AssistantMessage, AssistantPart, Message};
use holdover_core::store::StreamId;
use holdover_core::tool::Progress;
use holdover_runtime_local::{EventEntry, PendingEntry, Shown};

use super::feed::Fact;
use super::moment::{Moment, PieceKind, Question};

/// The most children that are named one by one.
const CHILDREN_MAX: u32 = 1_000;

/// The state of the telling.
#[derive(Debug, Default)]
pub(super) struct Narrator {
    /// The attempt of a model that is being told.
    attempt: Option<Attempt>,
}

/// An attempt of a model to write a message.
#[derive(Debug)]
struct Attempt {
    stream: StreamId,
    pieces: Vec<Piece>,
}

/// A piece of text that was told.
#[derive(Debug)]
struct Piece {
    id: String,
    kind: PieceKind,
    text: String,
    open: bool,
}

impl Narrator {
    /// Tells the moments of the next fact.
    pub(super) fn tell(&mut self, fact: Fact) -> Vec<Moment> {
        let Fact { shown, message, pending } = fact;
        let mut told = Vec::new();
        if let Shown::Delta(entry) = shown {
            self.delta(entry.stream, entry.delta, &mut told);
        } else if let Shown::Event(EventEntry { event, .. }) = shown {
            if let Event::Message { stream, .. } = event
                && let Some((seq, message)) = message
            {
                self.message(&format!("message-{seq}"), stream, message, &mut told);
            } else {
                told.extend(event_moment(event, pending));
            }
        } else if let Shown::Dropped { .. } = shown {
            self.void(&mut told);
        }
        told
    }

    /// Tells what became of an attempt that no message followed before the end.
    pub(super) fn end(&mut self) -> Vec<Moment> {
        let mut told = Vec::new();
        self.void(&mut told);
        told
    }

    fn delta(&mut self, stream: StreamId, delta: Delta, told: &mut Vec<Moment>) {
        let (kind, text) = match delta {
            Delta::Text { text } => (PieceKind::Text, text),
            Delta::Reasoning { text } => (PieceKind::Reasoning, text),
            Delta::CallProgress { call, tool, progress } => {
                told.push(progressed(call, tool.to_string(), progress));
                return;
            }
            Delta::CallStarted { .. } | Delta::CallRunning { .. } => return,
            // A delta of a newer version.
            _ => return,
        };
        if self.attempt.as_ref().is_some_and(|attempt| attempt.stream != stream) {
            self.void(told);
        }
        let attempt = self.attempt.get_or_insert_with(|| Attempt { stream, pieces: Vec::new() });
        let fits = attempt.pieces.last().is_some_and(|piece| piece.kind == kind);
        if !fits {
            attempt.close(told);
            let id = format!("{stream}-{}", attempt.pieces.len());
            told.push(Moment::PieceBegan { id: id.clone(), kind });
            attempt.pieces.push(Piece { id, kind, text: String::new(), open: true });
        }
        if let Some(piece) = attempt.pieces.last_mut() {
            piece.grow(text, told);
        }
    }

    /// Says that the attempt that was told is void.
    fn void(&mut self, told: &mut Vec<Moment>) {
        let Some(mut attempt) = self.attempt.take() else { return };
        attempt.close(told);
        told.push(Moment::Voided { pieces: attempt.pieces.into_iter().map(|piece| piece.id).collect() });
    }

    fn message(&mut self, id: &str, stream: Option<StreamId>, message: Message, told: &mut Vec<Moment>) {
        match message {
            Message::Assistant(said) => self.said(id, stream, said, told),
            Message::Tool(result) => told.push(Moment::Returned(Box::new(result))),
            Message::User(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {}
        }
    }

    /// Brings what was told in line with the message, and tells its calls.
    fn said(&mut self, id: &str, stream: Option<StreamId>, said: AssistantMessage, told: &mut Vec<Moment>) {
        let texts = texts(&said);
        if self
            .attempt
            .as_ref()
            .is_some_and(|attempt| stream != Some(attempt.stream) || !attempt.begins(&texts))
        {
            self.void(told);
        }
        let mut pieces = self.attempt.take().map(|attempt| attempt.pieces).unwrap_or_default();
        for (at, (kind, text)) in texts.into_iter().enumerate() {
            if at == pieces.len() {
                let id = format!("{id}-{at}");
                told.push(Moment::PieceBegan { id: id.clone(), kind });
                pieces.push(Piece { id, kind, text: String::new(), open: true });
            }
            let piece = &mut pieces[at];
            piece.grow(text[piece.text.len()..].to_owned(), told);
            piece.close(told);
        }
        let calls = said.parts.into_iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(Moment::Called(call)),
            AssistantPart::Text { .. } | AssistantPart::Reasoning { .. } => None,
        });
        told.extend(calls);
    }
}

impl Attempt {
    /// Returns true if these texts begin with the pieces that were told.
    fn begins(&self, texts: &[(PieceKind, String)]) -> bool {
        let last = self.pieces.len().saturating_sub(1);
        self.pieces.len() <= texts.len()
            && self.pieces.iter().zip(texts).enumerate().all(|(at, (piece, (kind, text)))| {
                // A piece before the last one is complete.
                piece.kind == *kind
                    && text.starts_with(&piece.text)
                    && (at == last || text.len() == piece.text.len())
            })
    }

    fn close(&mut self, told: &mut Vec<Moment>) {
        self.pieces.iter_mut().for_each(|piece| piece.close(told));
    }
}

impl Piece {
    fn grow(&mut self, text: String, told: &mut Vec<Moment>) {
        if !text.is_empty() {
            self.text.push_str(&text);
            told.push(Moment::PieceGrew { id: self.id.clone(), kind: self.kind, text });
        }
    }

    fn close(&mut self, told: &mut Vec<Moment>) {
        if std::mem::take(&mut self.open) {
            told.push(Moment::PieceEnded { id: self.id.clone(), kind: self.kind });
        }
    }
}

/// Returns the texts of a message. Texts of one kind that follow each other are one, as deltas show them.
fn texts(said: &AssistantMessage) -> Vec<(PieceKind, String)> {
    let mut texts: Vec<(PieceKind, String)> = Vec::new();
    for part in &said.parts {
        let (kind, text) = match part {
            AssistantPart::Text { text } => (PieceKind::Text, text),
            AssistantPart::Reasoning { text, .. } => (PieceKind::Reasoning, text),
            AssistantPart::Call(_) => continue,
        };
        match texts.last_mut() {
            Some((last, before)) if *last == kind => before.push_str(text),
            _ if text.is_empty() => {}
            _ => texts.push((kind, text.clone())),
        }
    }
    texts
}

/// Tells an event that is no message.
fn event_moment(event: Event, pending: Option<PendingEntry>) -> Option<Moment> {
    if let Event::StepStarted { step } = event {
        Some(Moment::StepBegan(step))
    } else if let Event::StepEnded { step } = event {
        Some(Moment::StepEnded(step))
    } else if let Event::Began { agent, pending, children, call } = event {
        Some(delegated(call, agent, &pending, children))
    } else if let Event::Asked { call, children, pending: id, tool, reason, .. } = event {
        if children > 0 {
            return Some(delegated(Some(call), tool, &id, children));
        }
        pending.map(|entry| asked(entry, reason))
    } else {
        None
    }
}

fn progressed(call: CallId, tool: String, progress: Progress) -> Moment {
    Moment::Progressed { call, tool, progress }
}

fn asked(entry: PendingEntry, reason: Option<String>) -> Moment {
    let question = Question::of(entry);
    Moment::Waits(Question { reason: question.reason.or(reason), ..question })
}

fn delegated(call: Option<CallId>, agent: String, pending: &PendingId, children: u32) -> Moment {
    let named = (0..children.min(CHILDREN_MAX)).filter_map(|at| ChildNames::of(pending, at).ok());
    Moment::Delegated { call, agent, children: named.map(|child| child.id).collect() }
}

#[cfg(test)]
mod tests;
