//! The output of a turn as a value: its schema, and its place in the transcript.
//!
//! An agent whose turns owe a value has one more tool for its model. A call of it has no effect: its
//! arguments are the value, and are checked against the schema as every call's arguments are. A call that
//! fits ends the turn.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::ids::{InvalidId, MessageSeq, ToolName};
use crate::words::message::Message;
use crate::words::payload::is_default;
use crate::words::tool::ToolSpec;

/// The default number of reminders in a turn whose model gave no value, or one that does not fit.
pub(crate) const OUTPUT_RETRIES: u32 = 2;

/// The value that every turn of an agent must return.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSpec {
    /// The tool by which a model gives the value. No tool of the agent has this name.
    pub tool: ToolName,
    /// The description of that tool, for the model.
    pub description: String,
    /// The JSON Schema of the value, which is an object.
    pub schema: Value,
    /// The number of reminders in a turn: a model that gave no value, or one that does not fit, is told so
    /// and asked again. After the last reminder the turn ends with an error.
    pub retries: u32,
}

impl OutputSpec {
    /// A value of this schema, given by a tool called `finish`, or `finish_2` and so on if a tool of that
    /// name exists.
    ///
    /// # Errors
    /// None in practice, because the names are fixed.
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

    /// The reminder for a model that still owes the value.
    pub(crate) fn reminder(&self) -> String {
        format!("Give your final answer by calling {}; text alone does not end the task.", self.tool)
    }
}

/// The place of the value of a turn: the arguments of this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OutputPlace {
    /// The message of the model that has the call.
    pub message: MessageSeq,
    /// The place of the call in that message, from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub call: u32,
}

impl OutputPlace {
    /// The value, as the model wrote it, in the message at that place. None: the message holds no such call.
    pub fn find(self, message: &Message) -> Option<&str> {
        let Message::Assistant(said) = message else { return None };
        let call = said.calls().nth(usize::try_from(self.call).ok()?)?;
        Some(&call.arguments)
    }
}

/// The result of checking the value of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputCheck {
    /// The value does not fit the schema.
    Misfit,
    /// The value fits, and stands at this place.
    Fits(OutputPlace),
}
