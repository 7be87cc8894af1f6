//! The requests of a client of AG-UI.

use holdover_core::ids::{CallId, SessionId};
use holdover_core::image::{Image, Images};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::problem::Problem;
use crate::ui::{Reply, Said, answered, position_of, text_of};

/// A request to run an agent. The state, the tools and the context of a client are not used: those of the server count.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunAgentInput")]
pub(super) struct Input {
    /// The id of the session. It is created with the first message.
    thread_id: String,
    /// The id of the run, for the client.
    pub(super) run_id: String,
    /// The messages. Only those after the last one of the agent count: the server knows the others.
    #[serde(default)]
    messages: Vec<Message>,
    /// Answers to interrupts.
    #[serde(default)]
    resume: Vec<Resume>,
}

/// A message as a client has it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AgUiMessage")]
struct Message {
    /// The id. A message of a user is accepted at most once under its id.
    id: String,
    /// Who said it: `user`, `assistant`, `tool` and others.
    role: String,
    /// The text, or parts.
    #[serde(default)]
    content: Value,
    /// The call that a message of a tool answers.
    tool_call_id: Option<String>,
    /// The reason why the tool could not be run.
    error: Option<String>,
}

/// An answer to an interrupt.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AgUiResume")]
struct Resume {
    /// The interrupt.
    interrupt_id: String,
    /// `resolved` with an answer, or `cancelled`.
    status: Status,
    /// For an approval, `approved` with a `reason`, and `arguments` with which the call runs instead; or only true or false. For
    /// a tool of the client, its result.
    #[serde(default)]
    payload: Value,
}

/// The state of an interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "AgUiResumeStatus")]
enum Status {
    Resolved,
    Cancelled,
}

/// The request of a page. Answers are delivered before the messages. A run without either attaches to the newest answer.
pub(super) struct Request<'a> {
    pub(super) replies: Vec<Reply>,
    /// New messages, with their ids.
    pub(super) messages: Vec<(&'a str, Said)>,
}

impl Input {
    pub(super) fn session(&self) -> Result<SessionId, Problem> {
        SessionId::new(self.thread_id.as_str()).map_err(|why| Problem::invalid(format!("threadId: {why}")))
    }

    /// Reads the request: answers to interrupts, and the messages after the last one of the agent. A message that the page has
    /// from here is not new.
    pub(super) fn request(&self) -> Result<Request<'_>, Problem> {
        let (mut replies, mut messages) = (Vec::new(), Vec::new());
        for resume in &self.resume {
            replies.push(resume.reply()?);
        }
        let begins = self.messages.iter().rposition(|message| message.role == "assistant");
        for message in &self.messages[begins.map_or(0, |at| at + 1)..] {
            match message.role.as_str() {
                "user" if position_of(&message.id).is_none() => {
                    messages.push((message.id.as_str(), message.said()?));
                }
                "tool" => replies.push(message.result()?),
                _ => {}
            }
        }
        Ok(Request { replies, messages })
    }
}

impl Message {
    fn said(&self) -> Result<Said, Problem> {
        let invalid = |why: String| Problem::invalid(format!("messages: {}: {why}", self.id));
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        match &self.content {
            Value::String(text) => texts.push(text.as_str()),
            Value::Array(parts) => {
                for part in parts {
                    match part["type"].as_str().unwrap_or_default() {
                        "text" => texts.extend(part["text"].as_str()),
                        _ => images.push(picture(part).map_err(invalid)?),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
        let images = Images::of(images).map_err(|why| invalid(why.to_string()))?;
        let text = texts.join("\n");
        if text.trim().is_empty() && images.is_empty() {
            return Err(invalid("it has neither text nor pictures".to_owned()));
        }
        Ok(Said { text, images })
    }

    fn result(&self) -> Result<Reply, Problem> {
        let call = self.tool_call_id.as_deref().and_then(|call| CallId::new(call).ok());
        let call = call.ok_or_else(|| Problem::invalid("toolCallId: is no id of a call"))?;
        Ok(match &self.error {
            Some(error) => Reply::Result { call, content: error.clone(), is_error: true },
            None => Reply::Result { call, content: text_of(&self.content), is_error: false },
        })
    }
}

/// Reads a picture that a message carries. Addresses are not fetched.
fn picture(part: &Value) -> Result<Image, String> {
    let source = &part["source"];
    match (source["type"].as_str(), source["value"].as_str()) {
        (Some("data"), Some(data)) => Image::from_base64(data).map_err(|why| why.to_string()),
        _ => Err("only pictures that are sent with the message can be attached".to_owned()),
    }
}

impl Resume {
    fn reply(&self) -> Result<Reply, Problem> {
        let (pending, saw) = answered(&self.interrupt_id)
            .ok_or_else(|| Problem::invalid("interruptId: was not given out here"))?;
        let payload = (self.status == Status::Resolved).then(|| self.payload.clone());
        Ok(Reply::Either { pending, saw, payload })
    }
}
