//! Procedures: a machine of the user's own over the session of an agent. It says in which state the work stands, and
//! which tools the agent may call there.
//!
//! A procedure is data. The check, the drawing and the moves are in [`machine::procedure`](crate::machine::procedure).

use std::collections::{BTreeMap, BTreeSet};

use holdover_store::text_id;
use serde::{Deserialize, Serialize};

use crate::words::ids::{InvalidId, ToolName};

/// The maximum number of states of a procedure.
pub const STATES_MAX: usize = 64;

/// The maximum number of inputs of a procedure.
pub const INPUTS_MAX: usize = 128;

/// The maximum length of a text for the model, in bytes.
pub const SAY_BYTES_MAX: usize = 8_192;

text_id!(
    /// The name of a state of a procedure.
    StateName, "state name", Plain);

text_id!(
    /// The name of an input of a procedure.
    InputName, "input name", Plain);

/// A procedure: its first state, its inputs, and its states with their rows.
///
/// The work begins in the first state when the first turn of a session begins. A pair of state and input that has no
/// row changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Procedure {
    /// The state in which the work begins.
    pub first: StateName,
    /// The inputs, and the source of each.
    #[serde(default)]
    pub inputs: BTreeMap<InputName, Source>,
    /// The states.
    #[serde(default)]
    pub states: BTreeMap<StateName, ProcedureState>,
}

/// The source of an input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Source {
    /// A call of this tool succeeded, or its fallback did in its place.
    Done(ToolName),
    /// A call of this tool failed, could not be run, or was not answered in time by its client or its children. A call
    /// that was refused, was not approved in time, was stopped, or is in doubt is no source.
    Failed(ToolName),
    /// Somebody outside answers while the work is parked.
    Outside,
    /// The deadline of a parked state passed.
    Deadline,
    /// A message of the user begins a turn.
    Message,
}

/// The nature of a state of a procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcedureNature {
    /// A turn may end here.
    Rest,
    /// The model cannot end its turn here: it is asked again until a call leads to another state. Limits, errors,
    /// stops and stop signals end the turn nevertheless.
    Working,
    /// The session waits for an input. No call runs, and the model is not asked.
    Parked,
}

/// A state of a procedure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ProcedureState {
    /// The nature of the state.
    #[serde(rename = "is")]
    pub nature: ProcedureNature,
    /// The tools that the model may call here. All other tools of the agent are withheld.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tools: BTreeSet<ToolName>,
    /// The text that the model is told when the state is entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// The time after which a parked state takes its input of the source [`Source::Deadline`], in milliseconds, counted
    /// from when the session parks. `None`: the state has no deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
    /// The rows of this state: each input, and the state to which it leads.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub on: BTreeMap<InputName, StateName>,
}

impl Procedure {
    /// Creates a procedure that begins in this state, without inputs and states.
    ///
    /// # Errors
    /// The name breaks a rule for names: only `A-Z`, `a-z`, `0-9`, `_` and `-`, at most 64 bytes.
    pub fn new(first: impl AsRef<str>) -> Result<Self, InvalidId> {
        Ok(Self { first: StateName::new(first)?, inputs: BTreeMap::new(), states: BTreeMap::new() })
    }

    /// Adds an input.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn input(mut self, name: impl AsRef<str>, source: Source) -> Result<Self, InvalidId> {
        self.inputs.insert(InputName::new(name)?, source);
        Ok(self)
    }

    /// Adds a state.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn state(mut self, name: impl AsRef<str>, rules: ProcedureState) -> Result<Self, InvalidId> {
        self.states.insert(StateName::new(name)?, rules);
        Ok(self)
    }
}

impl ProcedureState {
    /// Creates a state of this nature, without tools, text, deadline and rows.
    pub fn new(nature: ProcedureNature) -> Self {
        Self { nature, tools: BTreeSet::new(), say: None, after_ms: None, on: BTreeMap::new() }
    }

    /// Lets the model call this tool here.
    #[must_use]
    pub fn tool(mut self, name: ToolName) -> Self {
        self.tools.insert(name);
        self
    }

    /// Sets the text that the model is told when the state is entered.
    #[must_use]
    pub fn say(self, text: impl Into<String>) -> Self {
        Self { say: Some(text.into()), ..self }
    }

    /// Sets the deadline of a parked state, in milliseconds.
    #[must_use]
    pub fn after_ms(self, after_ms: u64) -> Self {
        Self { after_ms: Some(after_ms), ..self }
    }

    /// Adds a row: this input leads to this state.
    ///
    /// # Errors
    /// As for [`Procedure::new`].
    pub fn on(mut self, input: impl AsRef<str>, to: impl AsRef<str>) -> Result<Self, InvalidId> {
        self.on.insert(InputName::new(input)?, StateName::new(to)?);
        Ok(self)
    }
}

/// A move of the work from one state of its procedure to another.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcedureMove {
    /// The state before. `None`: the work begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<StateName>,
    /// The input. `None`: the work begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<InputName>,
    /// The state after.
    pub to: StateName,
}

impl std::fmt::Display for ProcedureMove {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.from, &self.on) {
            (Some(from), Some(on)) => write!(f, "{from} -> {} on {on}", self.to),
            (_, _) => write!(f, "begins in {}", self.to),
        }
    }
}

/// The rows on which the end of a call moves the work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallLeads {
    /// The rows that count if the call succeeds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<ProcedureMove>,
    /// The rows that count if the call fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<ProcedureMove>,
}

/// The moves of a procedure with which a turn begins, and the mark of a turn that begins with a wait.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcedureBegins {
    /// The moves with which the turn begins, in order: into the first state, and by the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<ProcedureMove>,
    /// True if the state is parked, so that the turn begins with the wait.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parked: bool,
}

/// The state to which a rewind takes the work back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcedureBack {
    /// The state. `None`: the work has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<StateName>,
}

/// The arguments of the pending call with which a parked state waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProcedureWait {
    /// The state.
    pub state: StateName,
    /// The inputs that may be the answer.
    pub inputs: Vec<InputName>,
}

impl ProcedureWait {
    /// Creates the arguments.
    pub fn new(state: StateName, inputs: Vec<InputName>) -> Self {
        Self { state, inputs }
    }
}

/// An answer to a parked state: one of the inputs that it waits for, and words for the model.
///
/// As a text it is the name of the input alone, or JSON: `{"input": "paid", "words": "by card"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ProcedureAnswer {
    /// The input.
    pub input: InputName,
    /// Words for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

impl ProcedureAnswer {
    /// Creates an answer with this input, without words.
    pub fn new(input: InputName) -> Self {
        Self { input, words: None }
    }

    /// Adds words for the model.
    #[must_use]
    pub fn words(self, words: impl Into<String>) -> Self {
        Self { words: Some(words.into()), ..self }
    }

    /// Reads an answer to this wait.
    ///
    /// # Errors
    /// Returns a text that says why the answer is not valid: it has another form, or the state does not wait for the
    /// input.
    pub fn read(text: &str, wait: &ProcedureWait) -> Result<Self, String> {
        let names = || wait.inputs.iter().map(InputName::as_str).collect::<Vec<_>>().join(", ");
        let text = text.trim();
        let answer = if text.starts_with('{') {
            serde_json::from_str::<Self>(text).map_err(|error| {
                format!("it wants an input ({}) or the form {{\"input\": …, \"words\": …}}: {error}", names())
            })?
        } else {
            let name = text.trim_matches('"');
            Self::new(name.parse().map_err(|error| format!("it wants one of {}: {error}", names()))?)
        };
        if wait.inputs.contains(&answer.input) {
            return Ok(answer);
        }
        Err(format!("the state {} does not wait for {}; it waits for {}", wait.state, answer.input, names()))
    }

    /// Returns the answer as a text.
    pub fn to_text(&self) -> String {
        match &self.words {
            None => self.input.to_string(),
            Some(words) => serde_json::json!({ "input": self.input.as_str(), "words": words }).to_string(),
        }
    }
}
