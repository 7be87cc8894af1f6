//! Turns what happens in an answer into events of AG-UI.

use std::collections::BTreeSet;

use axum::response::sse::Event as Frame;
use holdover_core::custom::CustomState;
use holdover_core::ending::{DoneReason, Ending};
use holdover_core::ids::{CallId, MessageSeq, SessionId, SessionKey};
use holdover_core::message::{ResultStatus, ToolResult};
use holdover_core::parameters::redacted_value;
use holdover_core::store::PendingKind;
use holdover_runtime_local::{PendingEntry, Runtime};
use serde_json::{Map, Value, json};

use super::event::{Event, Interrupt, Outcome, SubagentOutcome};
use super::messages::{content, messages, result_id};
use crate::problem::Problem;
use crate::ui::{Encode, End, Moment, PieceKind, Place, answer_id, shown_up_to};

/// The version of the protocol.
const VERSION: &str = "1.0";

/// The state of a run that is being sent.
pub(super) struct Encoder {
    runtime: Runtime,
    key: SessionKey,
    run: String,
    /// The position of the last message before those that are told, until the start of the run was said.
    begins: Option<MessageSeq>,
    /// The custom state that the client has.
    state: Map<String, Value>,
    /// The steps that are open.
    steps: BTreeSet<String>,
    /// The text to which the calls of the step belong.
    text: Option<String>,
    /// The children that work on a call, if the run said that they began.
    children: Vec<(Option<CallId>, SessionId)>,
}

impl Encoder {
    /// Encodes a run that is told from a place after the message `known` on.
    pub(super) fn new(runtime: Runtime, key: SessionKey, run: String, known: MessageSeq) -> Self {
        Self {
            runtime,
            key,
            run,
            begins: Some(known),
            state: Map::new(),
            steps: BTreeSet::new(),
            text: None,
            children: Vec::new(),
        }
    }

    /// Returns the events with which every run begins: the state, and the messages before those that are told.
    async fn begin(&mut self, known: MessageSeq, moment: &Moment) -> Result<Vec<Event>, Problem> {
        let (thread_id, run_id) = (self.key.id.to_string(), self.run.clone());
        self.state = self.custom_state().await?;
        let last = if let Moment::Asked { seq, .. } = moment { *seq } else { known };
        Ok(vec![
            Event::RunStarted { thread_id, run_id, protocol_version: VERSION },
            Event::StateSnapshot { snapshot: Value::Object(self.state.clone()) },
            self.snapshot(last).await?,
        ])
    }

    async fn snapshot(&self, last: MessageSeq) -> Result<Event, Problem> {
        let shown = shown_up_to(&self.runtime, &self.key, last).await?;
        Ok(Event::MessagesSnapshot { messages: messages(shown.messages) })
    }

    async fn custom_state(&self) -> Result<Map<String, Value>, Problem> {
        let state: CustomState = self.runtime.custom_state(&self.key).await?;
        Ok(state.iter().map(|(key, value)| (key.to_owned(), redacted_value(key, value.clone()))).collect())
    }

    async fn events(&mut self, moment: Moment, place: Place) -> Result<Vec<Event>, Problem> {
        let mut events = match self.begins.take() {
            Some(known) => self.begin(known, &moment).await?,
            None => Vec::new(),
        };
        match moment {
            Moment::Asked { .. } | Moment::GoesOn { .. } => {}
            Moment::StepBegan(step) => {
                self.text = None;
                let step_name = step.to_string();
                if self.steps.insert(step_name.clone()) {
                    events.push(Event::StepStarted { step_name });
                }
            }
            Moment::StepEnded(step) => {
                let step_name = step.to_string();
                if self.steps.remove(&step_name) {
                    events.push(Event::StepFinished { step_name });
                }
                events.extend(self.state_change().await?);
            }
            Moment::PieceBegan { id, kind } => self.piece_began(id, kind, &mut events),
            Moment::PieceGrew { id: message_id, kind: PieceKind::Text, text: delta } => {
                events.push(Event::TextMessageContent { message_id, delta });
            }
            Moment::PieceGrew { id: message_id, kind: PieceKind::Reasoning, text: delta } => {
                events.push(Event::ReasoningMessageContent { message_id, delta });
            }
            Moment::PieceEnded { id: message_id, kind: PieceKind::Text } => {
                events.push(Event::TextMessageEnd { message_id });
            }
            Moment::PieceEnded { id: message_id, kind: PieceKind::Reasoning } => events.extend([
                Event::ReasoningMessageEnd { message_id: message_id.clone() },
                Event::ReasoningEnd { message_id },
            ]),
            Moment::Voided { .. } => {
                self.text = None;
                // The transcript does not have what is void.
                events.push(self.snapshot(place.message).await?);
            }
            Moment::Called(call) => {
                let tool_call_id = call.id.to_string();
                events.extend([
                    Event::ToolCallStart {
                        tool_call_id: tool_call_id.clone(),
                        tool_call_name: call.tool,
                        parent_message_id: self.text.clone(),
                    },
                    Event::ToolCallArgs { tool_call_id: tool_call_id.clone(), delta: call.arguments },
                    Event::ToolCallEnd { tool_call_id },
                ]);
            }
            Moment::Progressed { call, tool, progress } => events.push(Event::Custom {
                name: "holdover.progress",
                value: json!({ "toolCallId": call, "tool": tool, "progress": progress }),
            }),
            // The end of the run names all that waits.
            Moment::Waits(_) => {}
            Moment::Delegated { call, agent, children } => {
                self.delegated(call, &agent, children, &mut events)
            }
            Moment::Returned(result) => self.returned(*result, &mut events),
            Moment::Ended(end) => self.end(end, &mut events).await?,
        }
        Ok(events)
    }

    fn piece_began(&mut self, message_id: String, kind: PieceKind, events: &mut Vec<Event>) {
        match kind {
            PieceKind::Text => {
                self.text = Some(message_id.clone());
                events.push(Event::TextMessageStart { message_id, role: "assistant" });
            }
            PieceKind::Reasoning => events.extend([
                Event::ReasoningStart { message_id: message_id.clone() },
                Event::ReasoningMessageStart { message_id, role: "reasoning" },
            ]),
        }
    }

    /// Returns the change of the custom state since it was last sent.
    async fn state_change(&mut self) -> Result<Option<Event>, Problem> {
        let now = self.custom_state().await?;
        let delta = patch(&self.state, &now);
        self.state = now;
        Ok((!delta.is_empty()).then_some(Event::StateDelta { delta }))
    }

    fn delegated(
        &mut self,
        call: Option<CallId>,
        agent: &str,
        children: Vec<SessionId>,
        events: &mut Vec<Event>,
    ) {
        for child in children {
            events.push(Event::SubagentStarted {
                subagent_run_id: child.to_string(),
                name: agent.to_owned(),
                parent_tool_call_id: call.as_ref().map(CallId::to_string),
            });
            self.children.push((call.clone(), child));
        }
    }

    fn returned(&mut self, result: ToolResult, events: &mut Vec<Event>) {
        let call = Some(result.call.clone());
        let (ended, open) = std::mem::take(&mut self.children).into_iter().partition(|(of, _)| *of == call);
        self.children = open;
        let ended: Vec<(Option<CallId>, SessionId)> = ended;
        for (_, child) in ended {
            let subagent_run_id = child.to_string();
            events.push(if result.status == ResultStatus::Done {
                Event::SubagentFinished { subagent_run_id, outcome: SubagentOutcome::Success }
            } else {
                Event::SubagentError { subagent_run_id, message: result.content.clone() }
            });
        }
        events.push(Event::ToolCallResult {
            message_id: result_id(&result.call),
            tool_call_id: result.call.to_string(),
            content: content(result.content, &result.images),
            role: "tool",
        });
    }

    async fn end(&mut self, end: End, events: &mut Vec<Event>) -> Result<(), Problem> {
        let outcome = match end {
            End::Withdrawn => {
                let message = "the message was withdrawn before a turn took it".to_owned();
                events.push(Event::RunError { message, code: "withdrawn".to_owned() });
                return Ok(());
            }
            End::Done(Some(Ending { reason: DoneReason::Error, error, .. })) => {
                let (code, message) = error.map_or_else(
                    || ("error".to_owned(), "the turn failed".to_owned()),
                    |error| (error.code.clone(), error.to_string()),
                );
                events.push(Event::RunError { message, code });
                return Ok(());
            }
            End::Done(Some(Ending { reason: DoneReason::UserAbort, .. })) => Outcome::Cancelled,
            End::Done(_) | End::Superseded => Outcome::Success { pending_tool_call_ids: Vec::new() },
            End::Waits => self.waits().await?,
        };
        events.extend(self.state_change().await?);
        for (_, child) in std::mem::take(&mut self.children) {
            let subagent_run_id = child.to_string();
            events.push(Event::SubagentFinished { subagent_run_id, outcome: SubagentOutcome::Suspended });
        }
        let open = std::mem::take(&mut self.steps);
        events.extend(open.into_iter().map(|step_name| Event::StepFinished { step_name }));
        let (thread_id, run_id) = (self.key.id.to_string(), self.run.clone());
        let usage = self.usage().await?;
        events.push(Event::RunFinished { thread_id, run_id, outcome, usage });
        Ok(())
    }

    /// Returns all that the turn waits for.
    async fn waits(&self) -> Result<Outcome, Problem> {
        let open = self.runtime.pending(&self.key).await?;
        let asks = |entry: &PendingEntry| {
            entry.answered.is_none()
                && matches!(entry.call.kind, PendingKind::Approval | PendingKind::ClientTool)
        };
        let open: Vec<PendingEntry> = open.into_iter().filter(asks).collect();
        let of_the_page =
            |entry: &PendingEntry| entry.call.kind == PendingKind::ClientTool && entry.call.key == self.key;
        if open.iter().all(of_the_page) {
            let pending_tool_call_ids = open.iter().map(|entry| entry.call.call.to_string()).collect();
            return Ok(Outcome::Success { pending_tool_call_ids });
        }
        let interrupts = open.into_iter().map(|entry| interrupt(entry, &self.key)).collect();
        Ok(Outcome::Interrupt { interrupts })
    }

    /// Returns the usage of the turn, if it is over.
    async fn usage(&self) -> Result<Vec<Value>, Problem> {
        let response = self.runtime.response(&self.key).await?;
        let usage = response.and_then(|response| response.usage);
        let told = usage
            .map(|usage| json!({ "inputTokens": usage.tokens.input, "outputTokens": usage.tokens.output }));
        Ok(told.into_iter().collect())
    }
}

impl Encode for Encoder {
    async fn frames(&mut self, moment: Moment, place: Place) -> Result<Vec<Frame>, Problem> {
        Ok(self.events(moment, place).await?.iter().map(frame).collect())
    }

    fn failed(&mut self, problem: &Problem) -> Vec<Frame> {
        let (thread_id, run_id) = (self.key.id.to_string(), self.run.clone());
        let started = Event::RunStarted { thread_id, run_id, protocol_version: VERSION };
        let error = Event::RunError { message: problem.detail().to_owned(), code: problem.code().to_owned() };
        let begins = self.begins.take().map(|_| started);
        begins.iter().chain([&error]).map(frame).collect()
    }
}

fn frame(event: &Event) -> Frame {
    // All maps in events have text keys, so they can be written as JSON.
    Frame::default().json_data(event).unwrap_or_default()
}

fn interrupt(entry: PendingEntry, of: &SessionKey) -> Interrupt {
    let PendingEntry { call, body, .. } = entry;
    let (digest, body) = (body.digest, body.redacted());
    let message = body.prompt.unwrap_or_else(|| format!("{} asks to be run", body.tool));
    let response_schema = if call.kind == PendingKind::Approval { decision_schema() } else { json!({}) };
    Interrupt {
        id: answer_id(&call.id, digest),
        reason: call.kind.as_str().to_owned(),
        message,
        tool_call_id: (call.key == *of).then(|| call.call.to_string()),
        response_schema,
        expires_at: call.deadline.map(|deadline| deadline.to_string()),
        metadata: json!({
            "session": call.key.id,
            "tool": body.tool,
            "arguments": body.arguments,
        }),
    }
}

/// Returns the form of the answer to an approval.
fn decision_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "approved": { "type": "boolean" },
            "reason": { "type": "string" },
            "arguments": { "description": "Arguments with which the call runs instead." },
        },
        "required": ["approved"],
    })
}

/// Returns the patch that makes `after` of `before`.
fn patch(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<Value> {
    let path = |key: &str| format!("/{}", key.replace('~', "~0").replace('/', "~1"));
    let removed = before.keys().filter(|key| !after.contains_key(*key));
    let removed = removed.map(|key| json!({ "op": "remove", "path": path(key) }));
    let set = after.iter().filter(|(key, value)| before.get(*key) != Some(value)).map(|(key, value)| {
        let op = if before.contains_key(key) { "replace" } else { "add" };
        json!({ "op": op, "path": path(key), "value": value })
    });
    removed.chain(set).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn a_patch_names_what_was_added_changed_and_removed() {
        let map = |value: Value| value.as_object().unwrap().clone();
        let before = map(json!({ "same": 1, "gone": 2, "a/b~c": 3 }));
        let after = map(json!({ "same": 1, "a/b~c": 4, "new": null }));
        let patched = patch(&before, &after);
        assert_eq!(
            Value::from(patched),
            json!([
                { "op": "remove", "path": "/gone" },
                { "op": "replace", "path": "/a~1b~0c", "value": 4 },
                { "op": "add", "path": "/new", "value": null },
            ])
        );
        assert!(patch(&after, &after).is_empty());
    }
}
