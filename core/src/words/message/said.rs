//! The content of messages and signals that are delivered from outside.

use serde::{Deserialize, Serialize};

use crate::words::ids::{CallId, MessageSeq};
use crate::words::image::Images;
use crate::words::message::MessagePolicy;
use crate::words::mode::{Briefing, Mode};
use crate::words::reply::{ChildEnd, ReplyTo};

/// The content of a delivered message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The text.
    pub text: String,
    /// How the agent works from now on.
    #[serde(default, skip_serializing_if = "Briefing::is_empty")]
    pub briefing: Briefing,
    /// The policy while a turn runs or is parked; none: the agent's policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<MessagePolicy>,
    /// The earlier message that this message replaces. Everything since that message is taken back, including
    /// changes of how the agent works, and a running turn is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits: Option<MessageSeq>,
    /// The pictures that the agent is shown with the text.
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    pub images: Images,
    /// The address to which the outcome of the turn is sent, if the message is the task of a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Box<ReplyTo>>,
    /// The end of a background child that the message tells of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Box<ChildEnd>>,
}

impl Said {
    /// A message with this text, under the policy of the agent.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            briefing: Briefing::default(),
            policy: None,
            edits: None,
            images: Images::none(),
            reply: None,
            ended: None,
        }
    }
}

/// The content of a delivered signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum SignalBody {
    /// A failed or interrupted turn goes on where it stopped.
    Retry,
    /// As [`Retry`](Self::Retry), asked for after an interrupt.
    Resume,
    /// Old messages are summarised. Taken while the session rests, before a message begins a turn. A running
    /// turn drops the signal, and so does a stop.
    Compact,
    /// The agent works in this mode from the next step on, whether a turn runs or the session rests.
    Mode {
        /// The mode.
        mode: Mode,
    },
}

/// The content of a signal that is about one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum CallSignal {
    /// The call, and only this call, is to be stopped.
    StopCall {
        /// The call.
        call: CallId,
    },
}
