//! Additions to the transcript: drafted messages, and the results of a step in call order.

use std::sync::Arc;

use crate::engine::calls::results::result_of_end;
use crate::engine::compaction;
use crate::engine::context::Context;
use crate::engine::mind::Drafted;
use crate::machine::Batch;
use crate::store::{MessageRange, NewMessage};
use crate::words::error::ErrorInfo;
use crate::words::event::Event;
use crate::words::ids::MessageSeq;
use crate::words::message::{Message, ResultStatus};

impl Context {
    /// Appends a message to the transcript as a draft, and returns its place.
    pub(crate) fn append(&mut self, message: Message) -> MessageSeq {
        match message.to_payload() {
            Ok(payload) => {
                let bytes = payload.len();
                self.append_as(message, NewMessage::Inline(payload), bytes)
            }
            Err(error) => {
                self.give_up(ErrorInfo::new("engine.encode", error.to_string()));
                self.mind.transcript.last
            }
        }
    }

    fn append_as(&mut self, message: Message, stored: NewMessage, bytes: usize) -> MessageSeq {
        match &message {
            Message::User(_) | Message::Assistant(_) | Message::Tool(_) => {
                let counted = compaction::bytes_counted(&message, bytes);
                let shown = counted.saturating_sub(self.left_out(&message));
                self.mind.transcript.grown =
                    self.mind.transcript.grown.saturating_add(compaction::estimate(shown));
            }
            Message::Notice(notice) if notice.told => {
                let grown = self.mind.transcript.grown;
                self.mind.transcript.grown = grown.saturating_add(compaction::estimate(bytes));
            }
            Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {}
        }
        self.mind.transcript.last = self.mind.transcript.last.next();
        let seq = self.mind.transcript.last;
        let stream = matches!(message, Message::Assistant(_)).then(|| self.stream_id());
        let (role, mentions) = (message.role().to_owned(), message.mentions().clone());
        self.mind.emit(Event::Message { seq, role, stream, mentions });
        self.mind.draft.messages.push(stored);
        if let Message::Tool(result) = &message
            && self.run.is_planned()
        {
            let (call, tool) = (result.call.clone(), result.tool.clone());
            self.mind.draft.results.push(Drafted { call, tool, done: result.status == ResultStatus::Done });
        }
        let message = Arc::new(message);
        if self.run.is_planned() {
            self.mind.step.plan.keep(seq, &message);
        } else {
            self.mind.transcript.added.push((seq, message));
        }
        seq
    }

    /// Returns the number of bytes of the message that the model never sees.
    fn left_out(&self, message: &Message) -> usize {
        let Message::Tool(result) = message else { return 0 };
        let most = self.run.agent.as_ref().map_or(usize::MAX, |agent| agent.limits.result_chars_shown);
        compaction::snipped(&result.content, most).map_or(0, |shown| result.content.len() - shown.len())
    }

    /// Adds one result for every call to the transcript, in call order (INV-08).
    pub(crate) fn promote(&mut self, batch: &Batch) {
        if !batch.is_step() {
            return self.close_request(batch);
        }
        self.mind.step.tools_done.clear();
        self.mind.step.results = None;
        for call in &batch.calls {
            self.mind.step.plan.dropped.remove(&call.id);
            if let Some(result) = result_of_end(call, self.mind.edited(call)) {
                self.mind.keep_result(result);
            }
            let Some(ended) = self.mind.step.ended.remove(&call.id) else { continue };
            self.calls().ask_in_doubt(call, &ended.result);
            if ended.result.status == ResultStatus::Done {
                self.mind.step.tools_done.push(ended.result.tool.clone());
            }
            let bytes = ended.payload.len();
            let stored = if ended.staged {
                NewMessage::Promote(call.id.clone())
            } else {
                NewMessage::Inline(ended.payload)
            };
            let seq = self.append_as(Message::Tool(ended.result), stored, bytes);
            let first = self.mind.step.results.map_or(seq, |range| range.from);
            self.mind.step.results = Some(MessageRange::new(first, seq));
        }
        self.mind.draft.decided = true;
        let goes_on =
            self.mind.machine.state.batch().is_some_and(|open| batch.open && !open.calls.is_empty());
        if goes_on {
            for call in &batch.calls {
                self.mind.step.forget(&call.id);
            }
            return;
        }
        if let Some(stream) = self.mind.step.stream.take() {
            self.mind.draft.streamed = self.mind.draft.streamed.max(Some(stream));
        }
        self.mind.step.proposed.clear();
        self.mind.step.edited.clear();
        self.mind.step.rewritten.clear();
        if !batch.open {
            self.mind.step.answered_at = None;
            self.mind.draft.step_closed = true;
        }
    }
}
