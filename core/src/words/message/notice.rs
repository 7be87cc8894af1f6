//! Messages of the engine itself: notices and summaries.

use serde::{Deserialize, Serialize};

use crate::words::custom::Undo;
use crate::words::ids::{CallId, MessageSeq};

/// A word of the engine to whoever reads along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The text.
    pub text: String,
    /// From here on the model is shown nothing of what stands after this message and before this notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewound: Option<MessageSeq>,
    /// Whether the model is told, too: what is taken back has left something behind.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
    /// The arguments that a hook put in place of those that stood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewriting: Option<Rewriting>,
    /// The calls before it changed the custom state: so it is taken back, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<Undo>,
    /// Old results in short: the model is shown these words in place of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_short: Vec<InShort>,
}

impl Notice {
    /// A word that no model sees.
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

/// The arguments that a hook put in place of those that stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewriting {
    /// Of which call.
    pub call: CallId,
    /// The arguments, exactly, as they would run.
    pub arguments: String,
}

/// An old result, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InShort {
    /// Where the result stands.
    pub of: MessageSeq,
    /// What the model should still know of it.
    pub text: String,
}

/// What was said so far, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The text.
    pub text: String,
    /// It stands for all that was shown to the model before this message.
    pub before: MessageSeq,
    /// Whether it was made for a handoff: of what matters for the goal that follows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extract: bool,
}
