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
    /// Said to the agent.
    User(UserMessage),
    /// Said by the model.
    Assistant(AssistantMessage),
    /// The one result of a tool call.
    Tool(ToolResult),
    /// A person's decision on a call. Kept for the record; no model sees it.
    Decision(DecisionRecord),
    /// A word of the engine to whoever reads along (a step limit was reached, a hook rewrote arguments). The model sees
    /// only what it must be told of a turn that was taken back.
    Notice(Notice),
    /// What was said so far, in short. The model sees it in place of that.
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

    /// The pictures that it shows.
    pub fn images(&self) -> &Images {
        static NONE: Images = Images::none();
        match self {
            Self::User(said) => &said.images,
            Self::Tool(result) => &result.images,
            Self::Assistant(_) | Self::Decision(_) | Self::Notice(_) | Self::Summary(_) => &NONE,
        }
    }

    /// The bytes that are stored.
    pub fn to_payload(&self) -> Result<Payload, serde_json::Error> {
        Payload::json(self)
    }
}

/// Said to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// The text.
    pub text: String,
    /// The inbox item it came as; none: the goal of a handoff, or the engine's own word to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<InboxSeq>,
    /// How the agent works from here on.
    #[serde(default, skip_serializing_if = "Briefing::is_empty")]
    pub briefing: Briefing,
    /// What it is shown with the text.
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    pub images: Images,
    /// Whether nobody said it: a correction by a hook, or a reminder of what is owed. Not told by old messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_engine: bool,
}

impl UserMessage {
    /// This text, and nothing else.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            item: None,
            briefing: Briefing::default(),
            images: Images::none(),
            by_engine: false,
        }
    }

    /// This text, said by nobody.
    pub fn by_engine(text: impl Into<String>) -> Self {
        Self { by_engine: true, ..Self::new(text) }
    }
}

/// Said by the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// What was said, in order.
    pub parts: Vec<AssistantPart>,
    /// Whether the turn was stopped in the middle of it: this is the text that had come. The calls that it was about to
    /// ask for are left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aborted: bool,
}

impl AssistantMessage {
    /// These parts, said to their end.
    pub fn new(parts: Vec<AssistantPart>) -> Self {
        Self { parts, aborted: false }
    }

    /// What had come when the turn was stopped.
    pub fn aborted(text: impl Into<String>) -> Self {
        Self { parts: vec![AssistantPart::Text { text: text.into() }], aborted: true }
    }

    /// All of the text, put together.
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

/// A part of what the model said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AssistantPart {
    /// Text for the reader.
    Text {
        /// The text.
        text: String,
    },
    /// The model's reasoning, as far as the provider shows it.
    Reasoning {
        /// The text.
        text: String,
        /// What the provider wants to see again with it, opaque.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A tool call that the model asks for.
    Call(CallRequest),
}

/// A tool call as the model asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRequest {
    /// Our own id, unique in the session; providers' ids are not.
    pub id: CallId,
    /// Which tool, as the model named it. It may name one that does not exist.
    pub tool: String,
    /// The arguments, as the model wrote them. Not necessarily JSON.
    pub arguments: String,
}

/// The one result of a call. Every call of the transcript has exactly one (INV-08).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Which call.
    pub call: CallId,
    /// Which tool.
    pub tool: String,
    /// How the call ended.
    pub status: ResultStatus,
    /// What the model is told.
    pub content: String,
    /// The arguments that ran, if a person edited them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_arguments: Option<String>,
    /// How long the call was out, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Whether it says that the turn should end after this step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop: bool,
    /// Whether it could not be run as often as it was tried: this is no word of the tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken: bool,
    /// Whether the call was sent, where its status does not say it; see [`ToolResult::was_sent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<bool>,
    /// Who refused it, and why, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<DenialRecord>,
    /// What it changes of the [custom state](crate::words::custom). No model sees it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<StateChange>,
    /// What the model is shown beside what it is told.
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    pub images: Images,
}

impl ToolResult {
    /// Whether the call was sent, so that it acted or may have: what is done or in doubt was, the rest was not, unless
    /// the result says otherwise. A call that failed may have acted before it did, a hook can give the result of a call
    /// that never ran. Of calls that only read nothing is said beyond their status.
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

/// How a call ended, as its result says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// It did what it was asked for.
    Done,
    /// It could not, and says why.
    Error,
    /// The policy refused it.
    Denied,
    /// A person refused it.
    RejectedByUser,
    /// It was stopped before it acted.
    Cancelled,
    /// It was out when it was lost sight of: it may have acted.
    InDoubt,
}

/// A person's decision on a call: bound to the bytes it saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// Which call.
    pub call: CallId,
    /// Which asking.
    pub pending: PendingId,
    /// What was decided.
    pub decision: Decision,
    /// When it was taken, by the store's clock.
    pub at: Timestamp,
    /// What of it was not taken, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The content of an answer to an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Whether the call may run.
    pub approve: bool,
    /// The digest of the arguments that were shown; another digest decides nothing.
    pub saw: Digest,
    /// Arguments to run with instead, as JSON text. Checked again by schema and policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// Whether later calls of this tool in this session need no approval any more. The policy's `deny` still
    /// wins. Means nothing in a refusal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// Then only those whose arguments fit; those that run now must, else this stands for this once.
    #[serde(default, skip_serializing_if = "ArgumentPatterns::is_empty")]
    pub only: ArgumentPatterns,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The content of an answer to a client tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientAnswer {
    /// Whether the client could not do it.
    #[serde(default)]
    pub is_error: bool,
    /// What the model is told.
    pub content: String,
    /// What the model is shown beside it. An error shows none.
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    pub images: Images,
}

impl ClientAnswer {
    /// It was done: this is the result.
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

    /// It could not be done, for this reason.
    pub fn failed(content: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::done(content) }
    }

    /// The same, and the model is shown these pictures with it.
    #[must_use]
    pub fn showing(self, images: Images) -> Self {
        Self { images, ..self }
    }
}

/// What is shown to whoever owes an answer: the body of a pending call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingBody {
    /// Which tool.
    pub tool: ToolName,
    /// The arguments that would run, exactly.
    pub arguments: String,
    /// Their digest, to be named by the decision.
    pub digest: Digest,
    /// Why the answer is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Who must decide, where the policy says more than that somebody must; with the approvals that it had when it was
    /// asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panel: Option<Box<Panel>>,
}
