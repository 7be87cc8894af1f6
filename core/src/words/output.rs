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

/// How often a model is told that it owes a value, or that its value does not fit, unless the agent says otherwise.
pub const OUTPUT_RETRIES: u32 = 2;

/// The value that every turn of an agent owes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSpec {
    /// The tool by which a model gives it. No tool of the agent has this name.
    pub tool: ToolName,
    /// What a model is told of that tool.
    pub description: String,
    /// The JSON Schema of the value, which is an object.
    pub schema: Value,
    /// How often in a turn a model that gave none, or one that does not fit, is told so and asked again; then the
    /// turn ends on an error.
    pub retries: u32,
}

impl OutputSpec {
    /// A value of this schema, given by a tool called `finish`, or `finish_2` and so on beside a tool of that name.
    ///
    /// # Errors
    /// None that a caller can bring about: the names are fixed.
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

    /// What a model is told that still owes the value.
    pub fn reminder(&self) -> String {
        format!("Give your final answer by calling {}; text alone does not end the task.", self.tool)
    }
}

/// Where the value of a turn stands: it is the arguments of this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OutputPlace {
    /// The model's message that asks for the call.
    pub message: MessageSeq,
    /// Which of its calls, from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub call: u32,
}

impl OutputPlace {
    /// The value, as the model wrote it, in the message that stands there. None: that message holds no such call.
    pub fn find(self, message: &Message) -> Option<&str> {
        let Message::Assistant(said) = message else { return None };
        let call = said.calls().nth(usize::try_from(self.call).ok()?)?;
        Some(&call.arguments)
    }
}

/// What became of the value that a step was to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputCheck {
    /// It does not fit the schema.
    Misfit,
    /// It fits, and stands there.
    Fits(OutputPlace),
}
