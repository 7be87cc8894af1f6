//! Messages of the engine itself: notices and summaries.

use serde::{Deserialize, Serialize};

use crate::words::custom::Undo;
use crate::words::ids::{CallId, MessageSeq};

/// A message of the engine to followers of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The text.
    pub text: String,
    /// From here on, the model is not shown anything between this message and this notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewound: Option<MessageSeq>,
    /// Whether the model is told too, because the turn that was taken back has left effects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
    /// The arguments with which a hook replaced the earlier ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewriting: Option<Rewriting>,
    /// The changes that undo the changes of the calls before this notice to the custom state, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<Undo>,
    /// Summaries of old results: the model is shown these texts in place of the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_short: Vec<InShort>,
}

impl Notice {
    /// A notice that no model sees.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            rewound: None,
            told: false,
            rewriting: None,
            in_short: Vec::new(),
            state: Vec::new(),
        }
    }
}

/// Arguments with which a hook replaced the earlier ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewriting {
    /// The call.
    pub call: CallId,
    /// The arguments, exactly, as they would run.
    pub arguments: String,
}

/// The summary of an old result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InShort {
    /// The place of the result.
    pub of: MessageSeq,
    /// The text that the model is shown in place of the result.
    pub text: String,
}

/// A summary of the conversation so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The text.
    pub text: String,
    /// The first message that the summary does not cover: it stands for everything that the model was shown
    /// before.
    pub before: MessageSeq,
    /// Whether this is the extract of a handoff, made for the goal that follows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extract: bool,
}
