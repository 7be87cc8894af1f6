//! The requests of a page: it sends its messages, of which the last one counts.

use holdover_core::ids::SessionId;
use holdover_core::image::{Image, Images};
use holdover_core::store::EventCursor;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::problem::Problem;
use crate::ui::{Decision, Reply, Said, answered, position_of, text_of};

/// The request of `useChat`. Fields that a page adds are ignored.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ChatRequest")]
pub(super) struct Input {
    /// The id of the session. It is created with the first message.
    id: String,
    /// The messages. Only the last one counts: the server knows the others.
    messages: Vec<UiMessage>,
    /// Says if the last message is sent, or answered again.
    #[serde(default)]
    trigger: Trigger,
    /// The message that is edited, or the answer that is made again.
    message_id: Option<String>,
    /// The agent of a new session. Not needed if only one is offered.
    pub(super) agent: Option<String>,
}

/// The wish of a page.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ChatTrigger")]
enum Trigger {
    /// To send its last message, an edited one, or decisions and results.
    #[default]
    SubmitMessage,
    /// To have its last message answered again.
    RegenerateMessage,
}

/// A message as a page has it.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "SentChatMessage")]
struct UiMessage {
    /// The id. A message of a user is accepted at most once under its id.
    id: String,
    /// Who said it.
    role: Role,
    /// The parts: texts, pictures and calls.
    #[serde(default)]
    #[schemars(with = "Vec<Map<String, Value>>")]
    parts: Vec<Value>,
    /// The metadata that the server gave with the message.
    #[serde(default)]
    #[schemars(with = "Option<Map<String, Value>>")]
    metadata: Value,
}

/// Who said a message.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(rename = "ChatRole")]
#[serde(rename_all = "kebab-case")]
enum Role {
    System,
    User,
    Assistant,
}

/// The request of a page.
pub(super) enum Chosen<'a> {
    /// A new message is sent.
    New { id: &'a str, said: Said },
    /// A message is sent in place of an earlier one.
    Edit { id: &'a str, said: Said },
    /// Calls are decided or answered, and the answer with this id goes on after the cursor.
    Replies { replies: Vec<Reply>, answer: &'a str, cursor: Option<EventCursor> },
    /// The page asks for the newest answer: it sends a message that it has from here.
    Attach,
}

impl Input {
    pub(super) fn session(&self) -> Result<SessionId, Problem> {
        SessionId::new(self.id.as_str()).map_err(|why| Problem::invalid(format!("id: {why}")))
    }

    /// Reads the request.
    pub(super) fn chosen(&self) -> Result<Chosen<'_>, Problem> {
        let last = self.messages.last().ok_or_else(|| Problem::invalid("messages: there are none"))?;
        let (id, edited) = (last.id.as_str(), self.message_id.as_ref() == Some(&last.id));
        match (last.role, self.trigger) {
            (Role::User, Trigger::SubmitMessage) if !edited && position_of(id).is_some() => {
                Ok(Chosen::Attach)
            }
            (Role::User, Trigger::SubmitMessage) if !edited => Ok(Chosen::New { id, said: last.said()? }),
            (Role::User, _) => Ok(Chosen::Edit { id, said: last.said()? }),
            (Role::Assistant, Trigger::SubmitMessage) => {
                let cursor = last.metadata["holdover"]["cursor"].as_str();
                let cursor = cursor.map(str::parse).transpose();
                let cursor =
                    cursor.map_err(|why| Problem::invalid(format!("metadata: holdover: cursor: {why}")))?;
                let replies = last.parts.iter().filter_map(reply).collect::<Result<_, _>>()?;
                Ok(Chosen::Replies { replies, answer: id, cursor })
            }
            (Role::Assistant, Trigger::RegenerateMessage) => Err(Problem::invalid(
                "messages: the last one is not of a user, so it cannot be answered again",
            )),
            (Role::System, _) => Err(Problem::invalid("messages: a page cannot set the system prompt")),
        }
    }
}

impl UiMessage {
    /// Returns what a user said: the texts, and the pictures.
    fn said(&self) -> Result<Said, Problem> {
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        for (at, part) in self.parts.iter().enumerate() {
            match part["type"].as_str().unwrap_or_default() {
                "text" => texts.extend(part["text"].as_str()),
                "file" => {
                    let url = part["url"].as_str().unwrap_or_default();
                    let image =
                        picture(url).map_err(|why| Problem::invalid(format!("parts[{at}]: {why}")))?;
                    images.push(image);
                }
                // Parts that a page keeps for itself.
                _ => {}
            }
        }
        let images = Images::of(images).map_err(|why| Problem::invalid(format!("parts: {why}")))?;
        let text = texts.join("\n");
        if text.trim().is_empty() && images.is_empty() {
            return Err(Problem::invalid("messages: the last one has neither text nor pictures"));
        }
        Ok(Said { text, images })
    }
}

/// Reads a picture from a data URL. Other addresses are not fetched.
fn picture(url: &str) -> Result<Image, String> {
    let Some((_, data)) = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) else {
        return Err("only pictures in data URLs can be attached".to_owned());
    };
    Image::from_base64(data).map_err(|why| why.to_string())
}

/// Returns the answer to a call that a part contains, if it contains one.
fn reply(part: &Value) -> Option<Result<Reply, Problem>> {
    let kind = part["type"].as_str()?;
    if kind != "dynamic-tool" && !kind.starts_with("tool-") {
        return None;
    }
    match part["state"].as_str()? {
        "approval-responded" => Some(decision(&part["approval"])),
        "output-available" if part["preliminary"] != true => {
            Some(result(part, text_of(&part["output"]), false))
        }
        "output-error" => {
            let why = part["errorText"].as_str().unwrap_or("the page could not run the tool");
            Some(result(part, why.to_owned(), true))
        }
        _ => None,
    }
}

fn decision(approval: &Value) -> Result<Reply, Problem> {
    let invalid = |why: &str| Problem::invalid(format!("approval: {why}"));
    let id = approval["id"].as_str().ok_or_else(|| invalid("id: is missing"))?;
    let (pending, saw) = answered(id).ok_or_else(|| invalid("id: was not given out here"))?;
    let approved = approval["approved"].as_bool().ok_or_else(|| invalid("approved: is missing"))?;
    let reason = approval["reason"].as_str().filter(|reason| !reason.is_empty()).map(str::to_owned);
    Ok(Reply::Decision { pending, saw, decision: Decision { approved, reason, arguments: None } })
}

fn result(part: &Value, content: String, is_error: bool) -> Result<Reply, Problem> {
    let call = part["toolCallId"].as_str().and_then(|id| id.parse().ok());
    let call = call.ok_or_else(|| Problem::invalid("toolCallId: is no id of a call"))?;
    Ok(Reply::Result { call, content, is_error })
}
