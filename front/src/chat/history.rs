//! The messages of a session as a page shows them.

use std::collections::BTreeMap;

use holdover_core::engine::RunOutcome;
use holdover_core::ids::{CallId, MessageSeq, SessionKey};
use holdover_core::message::{AssistantPart, DecisionRecord, Message, ToolResult, UserMessage};
use holdover_core::store::{EventCursor, PendingKind};
use holdover_core::suspension::Owed;
use holdover_runtime_local::{MessageEntry, PendingEntry, Runtime, Snapshot, Standing};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::encode::{Outcome, data_url, id_of, input, metadata, outcome, output};
use crate::problem::Problem;
use crate::ui::{Question, Shown, answer_id, question_up_to, questions_of_children, runs, shown_up_to};

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
#[schemars(rename = "ChatMessage")]
struct UiMessage {
    /// The id.
    id: String,
    /// Who said it.
    role: &'static str,
    /// The parts: texts, pictures and calls.
    #[schemars(with = "Vec<Map<String, Value>>")]
    parts: Vec<Value>,
    /// The cursor from which an answer goes on.
    #[schemars(with = "Map<String, Value>")]
    metadata: Value,
}

/// Returns the newest messages of a session, or those before a position.
pub(super) async fn chat(
    runtime: &Runtime,
    key: &SessionKey,
    before: Option<MessageSeq>,
) -> Result<Chat, Problem> {
    let Snapshot { standing, cursor, .. } = runtime.snapshot(key, 0).await?;
    let Standing { session, outcome, pending, .. } = standing;
    let last = before.map_or(session.last_message, |before| {
        MessageSeq(before.0.saturating_sub(1)).min(session.last_message)
    });
    let Shown { messages, earlier } = shown_up_to(runtime, key, last).await?;
    let question = match earlier {
        Some(earlier) => question_up_to(runtime, key, earlier).await?,
        None => None,
    };
    let questions = match (before, outcome) {
        (None, Some(RunOutcome::Suspended(suspension))) => open_questions(key, &suspension.owed, pending),
        _ => Vec::new(),
    };
    let mut page = Page::new(cursor, question, questions);
    messages.into_iter().for_each(|entry| page.add(entry));
    let running = before.is_none() && runs(runtime, &session);
    Ok(Chat {
        messages: page.finish(),
        cursor,
        running,
        before: earlier.map(|earlier| MessageSeq(earlier.0 + 1)),
    })
}

/// Returns the questions that a session and its children ask, each about a call of the session.
fn open_questions(key: &SessionKey, owed: &[Owed], pending: Vec<PendingEntry>) -> Vec<Question> {
    let (own, others): (Vec<_>, Vec<_>) = pending.into_iter().partition(|entry| entry.call.key == *key);
    let own = own.into_iter().filter(|entry| entry.answered.is_none()).map(Question::of);
    own.chain(questions_of_children(key, owed, others)).collect()
}

/// The messages so far, each with the position of the message of a user that begins it or that it answers.
struct Page {
    cursor: EventCursor,
    /// The message of a user before the page.
    question: Option<MessageSeq>,
    messages: Vec<(MessageSeq, UiMessage)>,
    open: BTreeMap<CallId, Question>,
    decided: BTreeMap<CallId, DecisionRecord>,
}

impl Page {
    fn new(cursor: EventCursor, question: Option<MessageSeq>, open: Vec<Question>) -> Self {
        let open = open.into_iter().map(|question| (question.call.clone(), question)).collect();
        Self { cursor, question, messages: Vec::new(), open, decided: BTreeMap::new() }
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
            None => self.begin(self.question.unwrap_or(seq)),
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
                    && asked.kind == PendingKind::Approval
                {
                    part["state"] = json!("approval-requested");
                    part["approval"] = json!({ "id": asked.id() });
                    if let Some(reason) = &asked.reason {
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
