//! What enters the transcript: messages as drafted, and the results of a step in call order.

use std::sync::Arc;

use super::StepIterator;
use super::results::result_of_end;
use crate::compaction;
use crate::error::ErrorInfo;
use crate::event::Event;
use crate::ids::MessageSeq;
use crate::machine::Batch;
use crate::message::{Message, ResultStatus};
use crate::store::{MessageRange, NewMessage};

impl StepIterator {
    /// Appends a message to the transcript as drafted, and says where it stands.
    pub(super) fn append(&mut self, message: Message) -> MessageSeq {
        match message.to_payload() {
            Ok(payload) => {
                let bytes = payload.len();
                self.append_as(message, NewMessage::Inline(payload), bytes)
            }
            Err(error) => {
                self.give_up(ErrorInfo::new("engine.encode", error.to_string()));
                self.mind.last_message
            }
        }
    }

    fn append_as(&mut self, message: Message, stored: NewMessage, bytes: usize) -> MessageSeq {
        match &message {
            Message::User(_) | Message::Assistant(_) | Message::Tool(_) => {
                let counted = compaction::bytes_counted(&message, bytes);
                let shown = counted.saturating_sub(self.left_out(&message));
                self.mind.grown = self.mind.grown.saturating_add(compaction::estimate(shown));
            }
            Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {}
        }
        self.mind.last_message = self.mind.last_message.next();
        let seq = self.mind.last_message;
        let stream = matches!(message, Message::Assistant(_)).then(|| self.stream_id());
        self.emit(Event::Message { seq, role: message.role().to_owned(), stream });
        self.mind.draft.messages.push(stored);
        self.mind.added.push((seq, Arc::new(message)));
        seq
    }

    /// How many bytes of it the model is never shown.
    fn left_out(&self, message: &Message) -> usize {
        let Message::Tool(result) = message else { return 0 };
        let most = self.agent.as_ref().map_or(usize::MAX, |agent| agent.limits.result_chars_shown);
        compaction::snipped(&result.content, most).map_or(0, |shown| result.content.len() - shown.len())
    }

    /// Every call has its one result now, in call order (INV-08).
    pub(super) fn promote(&mut self, batch: &Batch) {
        if batch.for_more {
            return self.close_asking_for_more(batch);
        }
        self.mind.tools_done.clear();
        self.mind.promoted = None;
        for call in &batch.calls {
            if let Some(result) = result_of_end(call, self.edited(call)) {
                self.keep_result(result);
            }
            let Some(ended) = self.mind.ended.remove(&call.id) else { continue };
            if ended.result.status == ResultStatus::Done {
                self.mind.tools_done.push(ended.result.tool.clone());
            }
            let bytes = ended.payload.len();
            let stored = if ended.staged {
                NewMessage::Promote(call.id.clone())
            } else {
                NewMessage::Inline(ended.payload)
            };
            let seq = self.append_as(Message::Tool(ended.result), stored, bytes);
            let first = self.mind.promoted.map_or(seq, |range| range.from);
            self.mind.promoted = Some(MessageRange::new(first, seq));
        }
        if let Some(stream) = self.mind.calls_stream.take() {
            self.mind.draft.streamed = self.mind.draft.streamed.max(Some(stream));
        }
        self.mind.proposed.clear();
        self.mind.edited.clear();
        self.mind.rewritten.clear();
        self.mind.answered_at = None;
        self.mind.draft.step_closed = true;
        self.mind.draft.decided = true;
    }
}
