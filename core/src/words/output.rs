//! The structured output of a turn: its schema, and its position in the transcript.
//!
//! If an agent's turns must return a value, the model gets one more tool. A call of that tool has no effect:
//! its arguments are the value, and they are checked against the schema like the arguments of any call. A
//! valid call ends the turn.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::ids::{InvalidId, MessageSeq, ToolName};
use crate::words::message::Message;
use crate::words::payload::is_default;
use crate::words::tool::ToolSpec;

/// The default maximum number of reminders in a turn whose model gives no valid value.
pub(crate) const OUTPUT_RETRIES: u32 = 2;

/// The definition of the value that every turn of an agent must return.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSpec {
    /// The tool with which the model returns the value. No other tool of the agent has this name.
    pub tool: ToolName,
    /// The description of that tool, for the model.
    pub description: String,
    /// The JSON Schema of the value, which must be an object.
    pub schema: Value,
    /// The maximum number of reminders in a turn. A model that gave no valid value is reminded and asked
    /// again. After the last reminder, the turn ends with an error.
    pub retries: u32,
}

impl OutputSpec {
    /// Creates the definition of a value with this schema. Its tool is called `finish`, or `finish_2` and so
    /// on if the name is taken.
    ///
    /// Never fails in practice, because the generated names are valid.
    pub fn beside(tools: &[ToolSpec], schema: Value) -> Result<Self, InvalidId> {
        let taken = |name: &str| tools.iter().any(|tool| tool.name.as_str() == name);
        let mut name = String::from("finish");
        let mut number = 2_u32;
        while taken(&name) {
            name = format!("finish_{number}");
            number += 1;
        }
        Ok(Self {
            tool: ToolName::new(name)?,
            description: String::from(
                "Gives the final answer and ends the turn. Call it once, alone, when all work is done.",
            ),
            schema,
            retries: OUTPUT_RETRIES,
        })
    }

    /// Returns the reminder for a model that has not returned the value.
    pub(crate) fn reminder(&self) -> String {
        format!("Give your final answer by calling {}; text alone does not end the task.", self.tool)
    }
}

/// The position of a turn's value in the transcript: the arguments of one call.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OutputPlace {
    /// The model's message that contains the call.
    pub message: MessageSeq,
    /// The index of the call in that message, from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub call: u32,
}

impl OutputPlace {
    /// Returns the value as the model wrote it. `message` must be the message at this position. Returns
    /// `None` if it holds no such call.
    pub fn find(self, message: &Message) -> Option<&str> {
        let Message::Assistant(said) = message else { return None };
        let call = said.calls().nth(usize::try_from(self.call).ok()?)?;
        Some(&call.arguments)
    }
}

/// The result of checking the value that a step returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputCheck {
    /// The value does not fit the schema.
    Misfit,
    /// The value fits the schema and is at this position.
    Fits(OutputPlace),
}
