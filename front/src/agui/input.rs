//! What a client of AG-UI sends.

use holdover_core::ids::{CallId, SessionId};
use holdover_core::image::{Image, Images};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::problem::Problem;
use crate::ui::{Reply, Said, answered};

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
enum Status {
    Resolved,
    Cancelled,
}

/// What is to be done.
pub(super) enum Chosen<'a> {
    /// A new message is sent.
    New { id: &'a str, said: Said },
    /// Calls are decided or answered.
    Replies(Vec<Reply>),
    /// The client asks for what there is, and for what comes.
    Attach,
}

impl Input {
    pub(super) fn session(&self) -> Result<SessionId, Problem> {
        SessionId::new(self.thread_id.as_str()).map_err(|why| Problem::invalid(format!("threadId: {why}")))
    }

    /// Finds out what is to be done.
    pub(super) fn chosen(&self) -> Result<Chosen<'_>, Problem> {
        if !self.resume.is_empty() {
            let replies = self.resume.iter().map(Resume::reply).collect::<Result<_, _>>()?;
            return Ok(Chosen::Replies(replies));
        }
        let new = self.messages.iter().rev().take_while(|message| message.role != "assistant");
        let new: Vec<&Message> = new.collect();
        if let Some(asked) = new.iter().find(|message| message.role == "user") {
            return Ok(Chosen::New { id: &asked.id, said: asked.said()? });
        }
        let results = new.iter().rev().filter(|message| message.role == "tool");
        let results: Vec<Reply> = results.map(|message| message.result()).collect::<Result<_, _>>()?;
        Ok(if results.is_empty() { Chosen::Attach } else { Chosen::Replies(results) })
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
            _ => {}
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

/// Returns a value as the text that a model reads.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Resume {
    fn reply(&self) -> Result<Reply, Problem> {
        let (pending, saw) = answered(&self.interrupt_id)
            .ok_or_else(|| Problem::invalid("interruptId: was not given out here"))?;
        let payload = &self.payload;
        let approved = match (self.status, payload) {
            (Status::Cancelled, _) => false,
            (Status::Resolved, Value::Bool(approved)) => *approved,
            (Status::Resolved, _) => match payload["approved"].as_bool() {
                Some(approved) => approved,
                // The result of a tool of the client.
                None => return Ok(Reply::Answer { pending, saw, content: text_of(payload) }),
            },
        };
        let cancelled = (self.status == Status::Cancelled).then_some("cancelled");
        let reason = payload["reason"].as_str().or(cancelled).map(str::to_owned);
        let arguments = match &payload["arguments"] {
            Value::Null => None,
            arguments => Some(text_of(arguments)),
        };
        Ok(Reply::Decision { pending, saw, approved, reason, arguments })
    }
}
