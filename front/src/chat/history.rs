//! The messages of a session as a page shows them.

use std::collections::BTreeMap;

use holdover_core::ids::{CallId, MessageSeq, SessionKey};
use holdover_core::message::{AssistantPart, DecisionRecord, Message, ToolResult, UserMessage};
use holdover_core::store::{EventCursor, PendingKind, SessionStatus};
use holdover_runtime_local::{MessageEntry, PendingEntry, Runtime};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::encode::{Outcome, data_url, id_of, input, metadata, outcome, output};
use crate::problem::Problem;
use crate::ui::{MESSAGES_MAX, answer_id, shown, up_to};

/// The messages of a session, as `useChat` takes them.
#[derive(Serialize, JsonSchema)]
pub(super) struct Chat {
    /// The messages, oldest first.
    messages: Vec<UiMessage>,
    /// The cursor after these messages, for `after` when the newest answer is resumed.
    cursor: EventCursor,
    /// True if an answer is being made. The last message is then what there is of it.
    running: bool,
    /// The position before which to read earlier messages. Absent if these are the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<MessageSeq>,
}

/// A message as a page shows it.
#[derive(Serialize, JsonSchema)]
struct UiMessage {
    /// The id.
    id: String,
    /// Who said it.
    role: &'static str,
    /// What was said and done.
    parts: Vec<Value>,
    /// The cursor from which an answer goes on.
    metadata: Value,
}

/// Returns the newest messages of a session, or those before a position.
pub(super) async fn chat(
    runtime: &Runtime,
    key: &SessionKey,
    before: Option<MessageSeq>,
) -> Result<Chat, Problem> {
    let snapshot = runtime.snapshot(key, if before.is_some() { 0 } else { MESSAGES_MAX }).await?;
    let session = &snapshot.standing.session;
    let due = session.alarm.is_some_and(|alarm| alarm <= runtime.now());
    let running = before.is_none() && (due || session.status == SessionStatus::Active);
    let (read, open) = match before {
        None => (shown(snapshot.messages), snapshot.standing.pending),
        Some(before) => {
            let last = MessageSeq(before.0.saturating_sub(1)).min(session.last_message);
            (up_to(runtime, key, last).await?, Vec::new())
        }
    };
    let first = read.first().map(|entry| entry.seq);
    let mut page = Page::new(snapshot.cursor, open);
    read.into_iter().for_each(|entry| page.add(entry));
    let before = first.filter(|first| *first > MessageSeq(1));
    Ok(Chat { messages: page.finish(), cursor: snapshot.cursor, running, before })
}

/// The messages so far, with the positions up to which they go.
struct Page {
    cursor: EventCursor,
    messages: Vec<(MessageSeq, UiMessage)>,
    open: BTreeMap<CallId, PendingEntry>,
    decided: BTreeMap<CallId, DecisionRecord>,
}

impl Page {
    fn new(cursor: EventCursor, open: Vec<PendingEntry>) -> Self {
        let open = open.into_iter().map(|entry| (entry.call.call.clone(), entry)).collect();
        Self { cursor, messages: Vec::new(), open, decided: BTreeMap::new() }
    }

    fn add(&mut self, entry: MessageEntry) {
        let MessageEntry { seq, message, .. } = entry;
        match message {
            Message::User(said) if !said.by_engine => self.messages.push((seq, asked(seq, said))),
            Message::Assistant(said) => {
                let mut parts = vec![json!({ "type": "step-start" })];
                parts.extend(said.parts.into_iter().map(|part| self.part(part)));
                self.answer(seq).extend(parts);
            }
            Message::Tool(result) => self.result(result),
            Message::Decision(record) => drop(self.decided.insert(record.call.clone(), record)),
            Message::User(_) | Message::Notice(_) | Message::Summary(_) => {}
        }
    }

    /// Returns the parts of the answer that is being read.
    fn answer(&mut self, seq: MessageSeq) -> &mut Vec<Value> {
        let last = self.messages.last().map(|(asked, message)| (*asked, message.role));
        match last {
            Some((_, "assistant")) => {}
            Some((asked, _)) => self.begin(asked),
            // The message that asks is before this page.
            None => self.begin(seq),
        }
        let at = self.messages.len() - 1;
        &mut self.messages[at].1.parts
    }

    fn begin(&mut self, asked: MessageSeq) {
        let message = UiMessage {
            id: id_of(asked),
            role: "assistant",
            parts: Vec::new(),
            metadata: metadata(self.cursor),
        };
        self.messages.push((asked, message));
    }

    fn part(&self, part: AssistantPart) -> Value {
        match part {
            AssistantPart::Text { text } => json!({ "type": "text", "text": text, "state": "done" }),
            AssistantPart::Reasoning { text, .. } => {
                json!({ "type": "reasoning", "text": text, "state": "done" })
            }
            AssistantPart::Call(call) => {
                let mut part = json!({
                    "type": "dynamic-tool",
                    "toolCallId": call.id,
                    "toolName": call.tool,
                    "state": "input-available",
                    "input": input(&call.arguments),
                });
                if let Some(asked) = self.open.get(&call.id)
                    && asked.call.kind == PendingKind::Approval
                {
                    part["state"] = json!("approval-requested");
                    part["approval"] = json!({ "id": answer_id(asked.id(), asked.body.digest) });
                    if let Some(reason) = &asked.body.prompt {
                        part["approval"]["requestReason"] = json!(reason);
                    }
                }
                part
            }
        }
    }

    fn result(&mut self, result: ToolResult) {
        let decided = self.decided.get(&result.call);
        let mut parts =
            self.messages.iter_mut().rev().flat_map(|(_, message)| message.parts.iter_mut().rev());
        let Some(part) = parts.find(|part| part["toolCallId"] == json!(result.call)) else { return };
        if let Some(DecisionRecord { pending, decision, .. }) = decided {
            part["approval"] = json!({
                "id": answer_id(pending, decision.saw),
                "approved": decision.approve,
            });
            if let Some(reason) = &decision.reason {
                part["approval"]["reason"] = json!(reason);
            }
        }
        match outcome(&result) {
            Outcome::Done => {
                part["state"] = json!("output-available");
                part["output"] = output(&result);
            }
            Outcome::Denied => part["state"] = json!("output-denied"),
            Outcome::Failed => {
                part["state"] = json!("output-error");
                part["errorText"] = json!(result.content);
            }
        }
    }

    fn finish(self) -> Vec<UiMessage> {
        self.messages.into_iter().map(|(_, message)| message).collect()
    }
}

/// Returns a message of a user.
fn asked(seq: MessageSeq, said: UserMessage) -> UiMessage {
    let pictures = said.images.iter().map(
        |image| json!({ "type": "file", "mediaType": image.media_type().as_str(), "url": data_url(image) }),
    );
    let mut parts: Vec<Value> = pictures.collect();
    parts.push(json!({ "type": "text", "text": said.text }));
    UiMessage { id: format!("message-{seq}"), role: "user", parts, metadata: json!({}) }
}
