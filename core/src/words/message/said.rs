//! The content of messages and signals delivered from outside the session.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::ids::{CallId, MessageSeq};
use crate::words::image::Images;
use crate::words::message::{Mentions, MessagePolicy};
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
    /// The files that the message mentions, as its sender saw them.
    #[serde(default, skip_serializing_if = "Mentions::is_empty")]
    pub mentions: Mentions,
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
    /// The instant, on the store's clock, before which no turn takes the message. Only a message
    /// [for later](crate::words::mailbox::later_kind) has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
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
            mentions: Mentions::none(),
            correction_by: None,
            reply: None,
            ended: None,
            not_before: None,
        }
    }

    /// Returns true if `again` repeats this message: it says the same and mentions the same files, whatever became of
    /// the files since. False if neither mentions a file; then a repeat has the same bytes.
    pub fn is_repeated_by(&self, again: &Self) -> bool {
        let bare = |said: &Self| Self { mentions: Mentions::none(), ..said.clone() };
        bare(self) == bare(again) && same_mentions(&self.text, &self.mentions, &again.mentions)
    }
}

/// Returns the text of a correction for the model. It marks the text as a correction.
pub(crate) fn corrected(by: &str, text: &str) -> String {
    let by = by.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("[course correction by {by}, not said by the user] {text}")
}

/// Returns true if there are mentions, and both lists name the same files. A file whose path stands in the text may
/// be missing in one of them: a sender who looks again may no longer find it.
pub(super) fn same_mentions(text: &str, one: &Mentions, other: &Mentions) -> bool {
    let any = !one.is_empty() || !other.is_empty();
    any && one.named_beside(text) == other.named_beside(text)
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
