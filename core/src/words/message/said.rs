//! The content of messages and signals delivered from outside the session.

use serde::{Deserialize, Serialize};

use crate::words::ids::{CallId, MessageSeq};
use crate::words::image::Images;
use crate::words::message::MessagePolicy;
use crate::words::mode::{Briefing, Mode};
use crate::words::reply::{ChildEnd, ReplyTo};

/// The content of a delivered message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The text of the message.
    pub text: String,
    /// The changes to the mode and the system prompt that apply from this message on.
    #[serde(default, skip_serializing_if = "Briefing::is_empty")]
    pub briefing: Briefing,
    /// The policy while a turn runs or is parked. `None` means the agent's policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<MessagePolicy>,
    /// The earlier message that this message replaces. That message and everything after it are taken back,
    /// including changes to the mode and the system prompt. A running turn is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits: Option<MessageSeq>,
    /// The pictures that the model sees with the text.
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    pub images: Images,
    /// The author, if the message is a correction of the agent's course. The model is told that the user did not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction_by: Option<String>,
    /// The address to which the outcome of the turn is sent, if the message is a task from a parent or another
    /// program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Box<ReplyTo>>,
    /// The end of a background child, if the message reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Box<ChildEnd>>,
}

impl Said {
    /// Returns a message with this text, under the policy of the agent.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            briefing: Briefing::default(),
            policy: None,
            edits: None,
            images: Images::none(),
            correction_by: None,
            reply: None,
            ended: None,
        }
    }
}

/// The content of a delivered signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum SignalBody {
    /// Continues a failed or interrupted turn where it stopped. If a model call or a tool call waits for its next
    /// try, the try is made at once.
    Retry,
    /// As [`Retry`](Self::Retry), but the run is recorded as resumed instead of retried.
    Resume,
    /// Requests a summary of old messages. Takes effect while the session rests, before a message begins a
    /// turn. The signal is dropped if a turn is running or a stop arrives.
    Compact,
    /// Sets the mode of the agent from the next step on, or at once while the session rests.
    Mode {
        /// The mode.
        mode: Mode,
    },
}

/// The content of a signal about one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum CallSignal {
    /// Stops this call and no other.
    StopCall {
        /// The id of the call.
        call: CallId,
    },
}
