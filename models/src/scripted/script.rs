//! The types of a script file.

use holdover_core::message::ResultStatus;
use holdover_core::model::{ModelErrorKind, StopReason, TokenUsage};
use serde::Deserialize;
use serde_json::Value;

/// A parsed script. [`ScriptedModel`](crate::ScriptedModel) documents the format.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(default)]
    stream: Streaming,
    pub(super) turns: Vec<Turn>,
}

/// The error for a text that is not a valid script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The text cannot be parsed as a script.
    #[error("line {line}: {why}")]
    Unreadable {
        /// The line number, counted from 1.
        line: usize,
        /// The reason, as one line.
        why: String,
    },
    /// The script has no turns.
    #[error("no turns")]
    NoTurns,
    /// A turn is not valid: for example, it has neither text nor calls, or it contradicts itself.
    #[error("turn {turn}{why}")]
    Turn {
        /// The number of the turn, counted from 1.
        turn: usize,
        /// The reason, as it follows the number in the message: it begins with a space or a colon.
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    pub(super) when: Option<When>,
    pub(super) think: Option<String>,
    pub(super) say: Option<String>,
    #[serde(default)]
    pub(super) calls: Vec<Call>,
    pub(super) stop: Option<StopReason>,
    #[serde(default)]
    pub(super) usage: Usage,
    stream: Option<Streaming>,
    #[serde(default)]
    pub(super) fail: Vec<Failure>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct When {
    pub(super) system_contains: Option<String>,
    pub(super) user_contains: Option<String>,
    pub(super) nth: Option<usize>,
    pub(super) result_of: Option<String>,
    pub(super) result_contains: Option<String>,
    pub(super) result_status: Option<ResultStatus>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) tool: String,
    arguments: Option<Value>,
    raw_arguments: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Streaming {
    pub(super) words: bool,
    pub(super) delay_ms: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Usage {
    input: u64,
    output: u64,
    cached: u64,
    cache_written: u64,
    reasoning: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failure {
    pub(super) attempt: u32,
    pub(super) kind: ModelErrorKind,
    pub(super) detail: Option<String>,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) after_words: Option<usize>,
}

impl Script {
    /// Parses a script in TOML.
    pub fn from_toml(text: &str) -> Result<Self, ScriptError> {
        let script: Self = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            ScriptError::Unreadable { line, why: one_line(error.message()) }
        })?;
        script.checked()
    }

    /// Parses a script in JSON.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        let script: Self = serde_json::from_str(text).map_err(|error| {
            let said = error.to_string();
            let why = said.rsplit_once(" at line ").map_or(said.as_str(), |(why, _)| why);
            ScriptError::Unreadable { line: error.line(), why: one_line(why) }
        })?;
        script.checked()
    }

    pub(super) fn streaming(&self, turn: &Turn) -> Streaming {
        turn.stream.unwrap_or(self.stream)
    }

    fn checked(self) -> Result<Self, ScriptError> {
        if self.turns.is_empty() {
            return Err(ScriptError::NoTurns);
        }
        for (at, turn) in self.turns.iter().enumerate() {
            if let Some(why) = turn.problem() {
                return Err(ScriptError::Turn { turn: at + 1, why });
            }
        }
        Ok(self)
    }
}

impl Turn {
    fn problem(&self) -> Option<String> {
        if self.say.is_none() && self.calls.is_empty() {
            return Some(" says nothing: give `say` or `calls`".to_owned());
        }
        if let Some(when) = &self.when {
            if *when == When::default() {
                return Some(": an empty `when`: leave it out if the turn always fits".to_owned());
            }
            if when.nth == Some(0) {
                return Some(": `nth` counts from 1".to_owned());
            }
        }
        self.calls.iter().find_map(|call| {
            if call.tool.is_empty() {
                Some(": a call names no tool".to_owned())
            } else if call.arguments.is_some() && call.raw_arguments.is_some() {
                Some(format!(": a call of {} has both `arguments` and `raw_arguments`", call.tool))
            } else {
                None
            }
        })
    }

    pub(super) fn stop_reason(&self) -> StopReason {
        let by_itself = if self.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        self.stop.unwrap_or(by_itself)
    }
}

impl Call {
    /// Returns the arguments as a model would have written them.
    pub(super) fn text(&self) -> String {
        match (&self.raw_arguments, &self.arguments) {
            (Some(raw), _) => raw.clone(),
            (None, Some(value)) => value.to_string(),
            (None, None) => "{}".to_owned(),
        }
    }
}

impl Default for Streaming {
    fn default() -> Self {
        Self { words: true, delay_ms: 0 }
    }
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        let Usage { input, output, cached, cache_written, reasoning } = usage;
        Self { input, output, cached, cache_written, reasoning }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
