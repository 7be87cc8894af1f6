//! Deltas show the model's answer while it is being written, and calls that are running, before they are
//! committed. Deltas are provisional: only the commit is final, and the next attempt may differ.

use serde::{Deserialize, Serialize};

use crate::words::ids::{CallId, ToolName};
use crate::words::tool::Progress;

/// A piece of an answer, or a note that a call is running. One stored delta is this value as JSON with a
/// `type`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delta {
    /// More text of the answer.
    Text {
        /// The piece of text.
        text: String,
    },
    /// More reasoning of the model.
    Reasoning {
        /// The piece of text.
        text: String,
    },
    /// The model began to write a call of a tool.
    CallStarted {
        /// The name of the tool.
        tool: String,
    },
    /// A call has been running longer than the interval in which deltas are gathered, or a read has begun while the model
    /// is still writing the answer that asks for it. The event of the call follows with the next commit, unless it is
    /// already committed. A read that began early may be said to run again once the answer is complete. If the answer
    /// turns out not to ask for it, no event follows.
    CallRunning {
        /// The id of the call.
        call: CallId,
        /// The tool of the call.
        tool: ToolName,
    },
    /// A running call reported progress. Follows its `CallRunning`.
    CallProgress {
        /// The id of the call.
        call: CallId,
        /// The tool of the call.
        tool: ToolName,
        /// The reports since the previous delta of the call, as one.
        #[serde(flatten)]
        progress: Progress,
    },
}

impl Delta {
    /// Appends `next` to the last delta if both are text or both are reasoning. Otherwise adds `next` as a
    /// new delta.
    pub fn coalesce(deltas: &mut Vec<Self>, next: Self) {
        match (deltas.last_mut(), next) {
            (Some(Self::Text { text }), Self::Text { text: more })
            | (Some(Self::Reasoning { text }), Self::Reasoning { text: more }) => text.push_str(&more),
            (_, next) => deltas.push(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_one_text_become_one_and_others_stay_apart() {
        let text = |text: &str| Delta::Text { text: text.into() };
        let reasoning = |text: &str| Delta::Reasoning { text: text.into() };
        let call = || Delta::CallStarted { tool: "t".into() };
        let mut deltas = Vec::new();
        for next in [reasoning("a"), reasoning("b"), text("c"), text("d"), call(), call(), text("e")] {
            Delta::coalesce(&mut deltas, next);
        }
        assert_eq!(deltas, [reasoning("ab"), text("cd"), call(), call(), text("e")]);
    }
}
