//! The data that a run reads about the unfinished step that it takes over.

use std::collections::BTreeMap;

use crate::engine::compaction;
use crate::engine::mind::{Mind, StepMemory};
use crate::machine::Call;
use crate::store::{MessageRange, StoredMessage};
use crate::words::error::ErrorInfo;
use crate::words::history::StateKind;
use crate::words::ids::MessageSeq;
use crate::words::message::{Message, Notice, ResultStatus};

impl Mind {
    pub(crate) fn keep_arguments(&mut self, messages: &[StoredMessage]) -> Result<(), ErrorInfo> {
        let mut read: BTreeMap<MessageSeq, Message> = BTreeMap::new();
        for message in messages {
            let parsed: Message = message.payload.parse().map_err(|error| {
                ErrorInfo::new("engine.corrupt", format!("message {}: {error}", message.seq))
            })?;
            read.insert(message.seq, parsed);
        }
        let Some(batch) = self.machine.state.batch() else { return Ok(()) };
        let missing = |call: &Call, place: MessageSeq| {
            ErrorInfo::new("engine.corrupt", format!("call {}: message {place} holds no arguments", call.id))
        };
        if !batch.is_step() {
            // The engine made this request, and its notice holds the arguments.
            for call in &batch.calls {
                let Some(Message::Notice(Notice { rewriting: Some(asked), .. })) = read.get(&call.arguments)
                else {
                    return Err(missing(call, call.arguments));
                };
                self.step.edited.insert(call.id.clone(), asked.arguments.clone());
            }
            return Ok(());
        }
        if batch.open {
            for call in &batch.calls {
                let kept = self.step.keep_arguments_at(call, read.get(&call.arguments));
                kept.ok_or_else(|| missing(call, call.arguments))?;
            }
            return Ok(());
        }
        let Some(Message::Assistant(said)) = read.get(&batch.message) else {
            let detail = format!("message {} is not the model's", batch.message);
            return Err(ErrorInfo::new("engine.corrupt", detail));
        };
        self.step.said = said.text();
        for call in &batch.calls {
            let request = said.calls().find(|request| request.id == call.id);
            let request = request.ok_or_else(|| missing(call, batch.message))?;
            self.step.proposed.insert(call.id.clone(), request.arguments.clone());
            if call.arguments == batch.message {
                continue;
            }
            let kept = self.step.keep_arguments_at(call, read.get(&call.arguments));
            kept.ok_or_else(|| missing(call, call.arguments))?;
        }
        Ok(())
    }

    /// Restores the data about a step that a previous run did not finish steering.
    pub(crate) fn recall_step(&mut self, messages: &[StoredMessage]) -> Result<(), ErrorInfo> {
        if self.machine.state.kind() != StateKind::Steering {
            return Ok(());
        }
        for stored in messages {
            let message = stored.payload.parse().map_err(|error: serde_json::Error| {
                ErrorInfo::new("engine.corrupt", format!("message {}: {error}", stored.seq))
            })?;
            match message {
                Message::Assistant(said) => self.step.said = said.text(),
                Message::Tool(result) => {
                    if result.status == ResultStatus::Done {
                        self.step.tools_done.push(result.tool.clone());
                    }
                    let counted = compaction::bytes_counted(&Message::Tool(result), stored.payload.len());
                    self.transcript.grown += compaction::estimate(counted);
                    let first = self.step.results.map_or(stored.seq, |range| range.from);
                    self.step.results = Some(MessageRange::new(first, stored.seq));
                }
                Message::User(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {}
            }
        }
        Ok(())
    }
}

impl StepMemory {
    /// Keeps the arguments of a call from the message that holds them. Returns `None` if it holds none.
    fn keep_arguments_at(&mut self, call: &Call, message: Option<&Message>) -> Option<()> {
        let edited = match message? {
            Message::Assistant(said) => {
                let arguments = said.calls().find(|request| request.id == call.id)?.arguments.clone();
                self.proposed.insert(call.id.clone(), arguments);
                return Some(());
            }
            Message::Decision(record) => record.decision.arguments.clone()?,
            Message::Notice(notice) => {
                let arguments = notice.rewriting.as_ref()?.arguments.clone();
                self.rewritten.insert(call.id.clone());
                arguments
            }
            Message::User(_) | Message::Tool(_) | Message::Summary(_) => return None,
        };
        self.edited.insert(call.id.clone(), edited);
        Some(())
    }
}
