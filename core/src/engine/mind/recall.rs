//! The data that a run reads about the unfinished step that it takes over.

use std::collections::BTreeMap;

use crate::engine::compaction;
use crate::engine::mind::Mind;
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
            let edited = match read.get(&call.arguments) {
                Some(Message::Decision(record)) => record.decision.arguments.clone(),
                Some(Message::Notice(notice)) => {
                    self.step.rewritten.insert(call.id.clone());
                    notice.rewriting.as_ref().map(|rewriting| rewriting.arguments.clone())
                }
                Some(Message::User(_) | Message::Assistant(_) | Message::Tool(_) | Message::Summary(_))
                | None => None,
            };
            let edited = edited.ok_or_else(|| missing(call, call.arguments))?;
            self.step.edited.insert(call.id.clone(), edited);
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
