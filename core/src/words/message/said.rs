//! The content of messages and signals that are delivered from outside.

use serde::{Deserialize, Serialize};

use crate::words::ids::{CallId, MessageSeq};
use crate::words::image::Images;
use crate::words::message::MessagePolicy;
use crate::words::mode::{Briefing, Mode};

/// The content of a delivered message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The text.
    pub text: String,
    /// How the agent is to work from here on.
    #[serde(default, skip_serializing_if = "Briefing::is_empty")]
    pub briefing: Briefing,
    /// What becomes of it while a turn runs or is parked; what its agent says if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<MessagePolicy>,
    /// The earlier message that it stands for from now on: all that was said from there on is taken back, with what it
    /// said of how the agent is to work, and a turn that runs is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits: Option<MessageSeq>,
    /// What the agent is shown with the text.
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    pub images: Images,
}

impl Said {
    /// This text, under the policy of the agent.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            briefing: Briefing::default(),
            policy: None,
            edits: None,
            images: Images::none(),
        }
    }
}

/// The content of a delivered signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum SignalBody {
    /// Go on where a failed or interrupted turn stopped.
    Retry,
    /// The same, asked for after an interrupt.
    Resume,
    /// Summarise what is old. Taken while the session rests, before what was said begins a turn; a turn that runs drops
    /// it, and so does a stop.
    Compact,
    /// Work in this mode from the next step on, whether a turn runs or the session rests.
    Mode {
        /// Which.
        mode: Mode,
    },
}

/// The content of a signal that is about one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum CallSignal {
    /// It is to be stopped, and it alone.
    StopCall {
        /// Which.
        call: CallId,
    },
}
