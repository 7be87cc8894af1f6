//! The messages of a transcript.
//!
//! A message is written once, as JSON, and never changed. Tool calls keep their arguments as the text that
//! the model wrote: an approval binds exactly those bytes.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::custom::StateChange;
use crate::words::gate::{ArgumentPatterns, DenialRecord};
use crate::words::ids::{CallId, InboxSeq, PendingId, ToolName};
use crate::words::image::Images;
use crate::words::mode::Briefing;
use crate::words::panel::Panel;
use crate::words::payload::{Digest, Payload};

mod notice;
mod policy;
mod said;

pub use notice::{InShort, Notice, Rewriting, Summary};
pub use policy::{MessagePolicy, WhileAsking};
pub use said::{CallSignal, Said, SignalBody};

/// One entry of the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A message to the agent.
    User(UserMessage),
    /// A message of the model.
    Assistant(AssistantMessage),
    /// The one result of a tool call.
    Tool(ToolResult),
    /// A person's decision on a call. It is kept for the record; no model sees it.
    Decision(DecisionRecord),
    /// A message of the engine to followers of the session (a step limit was reached, a hook rewrote
    /// arguments). The model sees only the part about a turn that was taken back.
    Notice(Notice),
    /// A summary of the conversation so far. The model sees it in place of the messages that it covers.
    Summary(Summary),
}

impl Message {
    /// The wire name of the role.
    pub fn role(&self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Assistant(_) => "assistant",
            Self::Tool(_) => "tool",
            Self::Decision(_) => "decision",
            Self::Notice(_) => "notice",
            Self::Summary(_) => "summary",
        }
    }

    /// The pictures of the message.
    pub fn images(&self) -> &Images {
        static NONE: Images = Images::none();
        match self {
            Self::User(said) => &said.images,
            Self::Tool(result) => &result.images,
            Self::Assistant(_) | Self::Decision(_) | Self::Notice(_) | Self::Summary(_) => &NONE,
        }
    }

    /// The stored bytes.
    pub(crate) fn to_payload(&self) -> Result<Payload, serde_json::Error> {
        Payload::json(self)
    }
}

/// A message to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// The text.
    pub text: String,
    /// The inbox item of the message; none: it is the goal of a handoff, or a message of the engine to the
    /// model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<InboxSeq>,
    /// How the agent works from now on.
    #[serde(default, skip_serializing_if = "Briefing::is_empty")]
    pub briefing: Briefing,
    /// The pictures that are shown with the text.
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    pub images: Images,
    /// Whether the engine wrote the message: a correction by a hook, or a reminder of what is owed. Old
    /// messages do not record this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_engine: bool,
}

impl UserMessage {
    /// A message with this text, and nothing else.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            item: None,
            briefing: Briefing::default(),
            images: Images::none(),
            by_engine: false,
        }
    }

    /// A message of the engine with this text.
    pub fn by_engine(text: impl Into<String>) -> Self {
        Self { by_engine: true, ..Self::new(text) }
    }
}

/// A message of the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// The parts of the message, in order.
    pub parts: Vec<AssistantPart>,
    /// Whether the turn was stopped in the middle of the message. Then the text is as far as it had come, and
    /// the calls that the model was about to make are left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aborted: bool,
}

impl AssistantMessage {
    /// A complete message of these parts.
    pub fn new(parts: Vec<AssistantPart>) -> Self {
        Self { parts, aborted: false }
    }

    /// The text that had come when the turn was stopped.
    pub fn aborted(text: impl Into<String>) -> Self {
        Self { parts: vec![AssistantPart::Text { text: text.into() }], aborted: true }
    }

    /// The whole text, joined.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                AssistantPart::Text { text } => Some(text.as_str()),
                AssistantPart::Reasoning { .. } | AssistantPart::Call(_) => None,
            })
            .collect()
    }

    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &CallRequest> {
        self.parts.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call),
            AssistantPart::Text { .. } | AssistantPart::Reasoning { .. } => None,
        })
    }
}

/// A part of a message of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AssistantPart {
    /// Text for the reader.
    Text {
        /// The text.
        text: String,
    },
    /// The reasoning of the model, as far as the provider shows it.
    Reasoning {
        /// The text.
        text: String,
        /// Opaque data that the provider wants back with the reasoning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A tool call.
    Call(CallRequest),
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRequest {
    /// The id that the engine gives, unique in the session; providers' ids are not.
    pub id: CallId,
    /// The tool, as the model named it. It may not exist.
    pub tool: String,
    /// The arguments, as the model wrote them. Not necessarily JSON.
    pub arguments: String,
}

/// The one result of a call. Every call of the transcript has exactly one (INV-08).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// How the call ended.
    pub status: ResultStatus,
    /// The text that the model is told.
    pub content: String,
    /// The arguments that ran, if a person edited them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_arguments: Option<String>,
    /// How long the call was out, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Whether the result asks for the end of the turn after this step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop: bool,
    /// Whether the call could not be run on any try. Then the text is not the tool's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken: bool,
    /// Whether the call was sent, if its status does not imply it; see [`ToolResult::was_sent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<bool>,
    /// Who refused the call and why, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<DenialRecord>,
    /// The changes of the [custom state](crate::words::custom). No model sees them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<StateChange>,
    /// The pictures that the model is shown beside the text.
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    pub images: Images,
}

impl ToolResult {
    /// Whether the call was sent, so that it acted or may have acted. Calls that are done or in doubt were
    /// sent, and all others were not, unless the result says otherwise: a call that failed may have acted
    /// before it failed, and a hook can give the result of a call that never ran. For calls that only read,
    /// nothing is recorded beyond their status.
    pub fn was_sent(&self) -> bool {
        self.sent.unwrap_or(match self.status {
            ResultStatus::Done | ResultStatus::InDoubt => true,
            ResultStatus::Error
            | ResultStatus::Denied
            | ResultStatus::RejectedByUser
            | ResultStatus::Cancelled => false,
        })
    }
}

/// The status of a call at its end, as its result says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// The call did what it was asked for.
    Done,
    /// The call could not do it, and says why.
    Error,
    /// The policy refused the call.
    Denied,
    /// A person refused the call.
    RejectedByUser,
    /// The call was stopped before it acted.
    Cancelled,
    /// The call was lost while it was out: it may have acted.
    InDoubt,
}

/// A person's decision on a call, bound to the bytes that the person saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// The call.
    pub call: CallId,
    /// The id of the pending call.
    pub pending: PendingId,
    /// The decision.
    pub decision: Decision,
    /// The instant at which the decision was taken, by the store's clock.
    pub at: Timestamp,
    /// The part of the decision that was not carried out, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The content of an answer to an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Whether the call may run.
    pub approve: bool,
    /// The digest of the arguments that were shown. A decision with another digest decides nothing.
    pub saw: Digest,
    /// Arguments to run with instead, as JSON text. They are checked again by schema and policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// Whether later calls of this tool in this session need no approval any more. The policy's `deny` still
    /// takes precedence. Has no meaning in a refusal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// Limits `always` to calls whose arguments fit. The arguments that run now must fit too, or the approval
    /// holds only for this call.
    #[serde(default, skip_serializing_if = "ArgumentPatterns::is_empty")]
    pub only: ArgumentPatterns,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The person who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The content of an answer to a client tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientAnswer {
    /// Whether the client could not do it.
    #[serde(default)]
    pub is_error: bool,
    /// The text that the model is told.
    pub content: String,
    /// The pictures that the model is shown beside the text. An error has none.
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    pub images: Images,
}

impl ClientAnswer {
    /// The answer of a client that ran the call: this is the result.
    ///
    /// ```
    /// use holdover_core::message::ClientAnswer;
    ///
    /// assert!(!ClientAnswer::done("total: 12.50").is_error);
    /// assert!(ClientAnswer::failed("the paper is torn").is_error);
    /// ```
    pub fn done(content: impl Into<String>) -> Self {
        Self { is_error: false, content: content.into(), images: Images::none() }
    }

    /// The answer of a client that could not run the call, for this reason.
    pub fn failed(content: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::done(content) }
    }

    /// Sets the pictures that the model is shown beside the text, in place of any that were set before.
    #[must_use]
    pub fn showing(self, images: Images) -> Self {
        Self { images, ..self }
    }
}

/// The body of a pending call, shown to those who owe the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingBody {
    /// The tool.
    pub tool: ToolName,
    /// The arguments that would run, exactly.
    pub arguments: String,
    /// The digest of the arguments, which the decision must name.
    pub digest: Digest,
    /// The reason for asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The people who must decide, if the policy names them or asks for several; with the approvals at the
    /// time of asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panel: Option<Box<Panel>>,
}
