//! Deltas show a model's answer while it comes, and calls that are out, before they are committed. Deltas are
//! provisional: only the commit is final, and the next attempt may differ.

use serde::{Deserialize, Serialize};

use crate::words::ids::{CallId, ToolName};

/// A piece of an answer, or a call that is out. JSON with a `type`; the payload of one stored delta.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delta {
    /// More text.
    Text {
        /// The piece of text.
        text: String,
    },
    /// More reasoning.
    Reasoning {
        /// The piece of text.
        text: String,
    },
    /// The model began to write a call of a tool.
    CallStarted {
        /// The tool.
        tool: String,
    },
    /// A call is out for longer than the interval in which deltas are gathered. The event that says so comes
    /// with the next commit, if it has not come before.
    CallRunning {
        /// The call.
        call: CallId,
        /// The tool of the call.
        tool: ToolName,
    },
}

impl Delta {
    /// Appends `next` to the last of `deltas` if both are pieces of the same text; else adds it as a new
    /// delta.
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
