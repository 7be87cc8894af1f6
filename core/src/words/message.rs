//! The messages of a transcript.
//!
//! A message is written once as JSON and never changed. Tool calls keep their arguments as the exact text
//! that the model wrote, because an approval applies to exactly those bytes.

use serde::{Deserialize, Serialize};

use crate::words::custom::StateChange;
use crate::words::gate::DenialRecord;
use crate::words::ids::{CallId, InboxSeq, ToolName};
use crate::words::image::Images;
use crate::words::mode::Briefing;
use crate::words::panel::Panel;
use crate::words::payload::{Digest, Payload};
use crate::words::plan_record::PlanRecord;
use crate::words::tool::NotRunTool;

mod answer;
mod decision;
mod mention;
mod notice;
mod policy;
mod redaction;
mod said;
mod settlement;

pub use answer::ClientAnswer;
pub use decision::{Decision, DecisionRecord};
pub use mention::{InvalidMention, MENTION_PATH_BYTES_MAX, MENTIONS_MAX, Mention, Mentions, NotRead};
pub use notice::{InShort, Notice, Rewriting, Summary};
pub use policy::{MessagePolicy, WhileAsking};
pub(crate) use said::corrected;
pub use said::{CallSignal, Said, SignalBody};
pub use settlement::{SETTLEMENT_BYTES_MAX, Settlement, SettlementRecord};

/// One message of the transcript.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A message to the agent, usually from a person.
    User(UserMessage),
    /// A message of the model.
    Assistant(AssistantMessage),
    /// The one result of a tool call.
    Tool(ToolResult),
    /// A decision on a call, usually of a person. It is kept for the record; no model sees it.
    Decision(DecisionRecord),
    /// A message of the engine to followers of the session, for example about a step limit or about arguments that a
    /// hook rewrote. The model sees a notice only if it reports the effects of a turn that was taken back, settles a
    /// call that ended in doubt, or reports moves of the procedure.
    Notice(Notice),
    /// A summary of the conversation so far, or the extract of a handoff. The model sees it in place of the
    /// messages that it covers.
    Summary(Summary),
}

impl Message {
    /// Returns the wire name of the role.
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

    /// Returns the pictures of the message.
    pub fn images(&self) -> &Images {
        static NONE: Images = Images::none();
        match self {
            Self::User(said) => &said.images,
            Self::Tool(result) => &result.images,
            Self::Assistant(_) | Self::Decision(_) | Self::Notice(_) | Self::Summary(_) => &NONE,
        }
    }

    /// Returns the files that the message mentions.
    pub fn mentions(&self) -> &Mentions {
        static NONE: Mentions = Mentions::none();
        match self {
            Self::User(said) => &said.mentions,
            Self::Assistant(_) | Self::Tool(_) | Self::Decision(_) | Self::Notice(_) | Self::Summary(_) => {
                &NONE
            }
        }
    }

    /// Returns the bytes that are stored.
    pub(crate) fn to_payload(&self) -> Result<Payload, serde_json::Error> {
        Payload::json(self)
    }
}

/// A message to the agent.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// The text of the message.
    pub text: String,
    /// The inbox item of the message. `None` if the message is the goal of a handoff, a correction by a hook, or a
    /// reminder of the engine. A correction from outside has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<InboxSeq>,
    /// The changes to the mode and the system prompt that apply from this message on.
    #[serde(default, skip_serializing_if = "Briefing::is_empty")]
    pub briefing: Briefing,
    /// The pictures that the model sees with the text.
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    pub images: Images,
    /// The files that the message mentions, as its sender saw them. The model is told their paths and sizes.
    #[serde(default, skip_serializing_if = "Mentions::is_empty")]
    pub mentions: Mentions,
    /// True if the engine wrote the message, or a correction that the user did not say: a correction by a hook or from
    /// outside, a reminder to return a value or to go on with the procedure, or a report of the end of a background
    /// child. Not recorded in old messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_engine: bool,
}

impl UserMessage {
    /// Returns a message with this text only.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            item: None,
            briefing: Briefing::default(),
            images: Images::none(),
            mentions: Mentions::none(),
            by_engine: false,
        }
    }

    /// Returns a message that the engine wrote.
    pub fn by_engine(text: impl Into<String>) -> Self {
        Self { by_engine: true, ..Self::new(text) }
    }

    /// Returns true if the session took this message from a delivery that `again` repeats: `again` says the same and
    /// mentions the same files, whatever became of the files since. False if neither mentions a file.
    pub fn is_repeated_by(&self, again: &Said) -> bool {
        let same_text = match &again.correction_by {
            Some(by) => self.by_engine && self.text == corrected(by, &again.text),
            None => !self.by_engine && self.text == again.text,
        };
        let Said { text, briefing, images, mentions, .. } = again;
        same_text
            && (&self.briefing, &self.images) == (briefing, images)
            && said::same_mentions(text, &self.mentions, mentions)
    }
}

/// A message of the model.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// The parts of the message, in order.
    pub parts: Vec<AssistantPart>,
    /// True if the turn was stopped while the model was writing. The message then holds the text received so
    /// far, without the calls that the model was about to make.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aborted: bool,
    /// The record of a decision of code that plans in place of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Box<PlanRecord>>,
}

impl AssistantMessage {
    /// Returns a complete message with these parts.
    pub fn new(parts: Vec<AssistantPart>) -> Self {
        Self { parts, aborted: false, plan: None }
    }

    /// Returns the record of a decision of code, with the calls that it made.
    pub fn planned(calls: Vec<CallRequest>, record: PlanRecord) -> Self {
        let parts = calls.into_iter().map(AssistantPart::Call).collect();
        Self { parts, aborted: false, plan: Some(Box::new(record)) }
    }

    /// Returns a message with the text that had arrived when the turn was stopped.
    pub fn aborted(text: impl Into<String>) -> Self {
        Self { parts: vec![AssistantPart::Text { text: text.into() }], aborted: true, plan: None }
    }

    /// Returns the text parts, joined.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                AssistantPart::Text { text } => Some(text.as_str()),
                AssistantPart::Reasoning { .. } | AssistantPart::Call(_) => None,
            })
            .collect()
    }

    /// Returns the calls of the message, in order.
    pub fn calls(&self) -> impl Iterator<Item = &CallRequest> {
        self.parts.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call),
            AssistantPart::Text { .. } | AssistantPart::Reasoning { .. } => None,
        })
    }
}

/// A part of a message of the model.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AssistantPart {
    /// Text for the reader.
    Text {
        /// The text of the part.
        text: String,
    },
    /// The reasoning of the model, if the provider shows it.
    Reasoning {
        /// The reasoning text.
        text: String,
        /// Opaque data that the provider needs back together with the reasoning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A tool call.
    Call(CallRequest),
}

/// A tool call as the model wrote it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRequest {
    /// The id that the engine assigned. It is unique in the session, unlike the ids of providers.
    pub id: CallId,
    /// The name of the tool, as the model wrote it. The tool may not exist.
    pub tool: String,
    /// The arguments, as the model wrote them. They may not be valid JSON.
    pub arguments: String,
}

/// The result of a call. Every call in the transcript has exactly one result (INV-08).
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub call: CallId,
    /// The name of the tool; of a call that fell back, the tool that was called last.
    pub tool: String,
    /// The final status of the call.
    pub status: ResultStatus,
    /// The text for the model. The model sees long texts in part, and old ones cleared.
    pub content: String,
    /// The arguments that the call ran with, if a person edited them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_arguments: Option<String>,
    /// The time that the call ran, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// True if the result asks to end the turn after this step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop: bool,
    /// True if the call could not be run or gave no result on any try. The text then comes from the engine, not
    /// from the tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken: bool,
    /// Records if the call was sent, unless the status implies it; see [`ToolResult::was_sent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<bool>,
    /// The record of the refusal, if the call was refused, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<DenialRecord>,
    /// The changes to the [custom state](crate::words::custom). The model does not see them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<StateChange>,
    /// The pictures that the model sees beside the text.
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    pub images: Images,
    /// The tools that were called before and could not be run or gave no result, in order, if the result is that of a
    /// fallback. The first is the one that the model asked for. The text begins with a line about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instead_of: Vec<NotRunTool>,
}

impl ToolResult {
    /// Returns true if the call was sent, so that it acted or may have acted. By default, calls that are done
    /// or in doubt were sent, and all others were not. The result records exceptions: a call that failed may
    /// have acted before, and a hook can supply the result of a call that never ran. For calls that only
    /// read, no exceptions are recorded.
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

/// The final status of a call.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// The call succeeded.
    Done,
    /// The call failed, was not answered in time, or was refused by a person with a reason that does not end the
    /// batch. The text says why.
    Error,
    /// The policy refused the call, or only people may use its tool.
    Denied,
    /// A person refused the call without a reason, or ended the batch with the refusal.
    RejectedByUser,
    /// The call was stopped before it acted, or before its delayed result was due. If a client, children or the source
    /// of a fork worked on it, they may have acted.
    Cancelled,
    /// The outcome of the call is unknown. It may have acted.
    InDoubt,
}

/// The body of a pending call, shown to those who must answer it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingBody {
    /// The name of the tool.
    pub tool: ToolName,
    /// The exact arguments with which the call would run.
    pub arguments: String,
    /// The digest of the arguments. A decision must name it.
    pub digest: Digest,
    /// The reason for asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The request for approval, if its terms are not the default terms. Includes the approvals that existed at the
    /// time of asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panel: Option<Box<Panel>>,
}
