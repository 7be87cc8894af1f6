//! An agent's rules for the custom state of its sessions.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The default limit for the custom state of a session, in bytes of JSON. The custom state is part of the session's
/// state, and almost every commit writes the whole state.
pub const STATE_BYTES_MAX: usize = 64 * 1024;

/// The most lists and objects around a value that a change sets or appends. The records of a session nest the value
/// further, and its reader takes at most 127 levels.
pub const STATE_DEPTH_MAX: usize = 64;

/// An agent's rules for the custom state of its sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StateRules {
    /// The JSON Schema of the whole state, which is an object. The state must fit after the changes of each call.
    /// The empty state at the start of a session is not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The maximum size of the state, in bytes of JSON. The changes of one call have the same limit.
    pub bytes_max: usize,
    /// The function that checks a state against the schema. The program that builds the agent provides it.
    /// Without this function, no state fits a schema.
    #[serde(skip)]
    pub check: StateCheck,
}

impl Default for StateRules {
    fn default() -> Self {
        Self { schema: None, bytes_max: STATE_BYTES_MAX, check: StateCheck::default() }
    }
}

type Check = dyn Fn(&Value) -> Result<(), String> + Send + Sync;

/// A function that checks a whole state and returns an error text. It is code, so it is not stored. Any two
/// checks compare as equal: rules differ by their schema.
#[derive(Clone, Default)]
pub struct StateCheck(Option<Arc<Check>>);

impl StateCheck {
    /// Wraps a check function. The function must always give the same answer for the same state.
    pub fn new(check: impl Fn(&Value) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(check)))
    }
}

impl PartialEq for StateCheck {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for StateCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "StateCheck" } else { "no StateCheck" })
    }
}

impl StateRules {
    /// Checks a state against the schema. The error text says what is wrong.
    pub(crate) fn fits(&self, state: &Value) -> Result<(), String> {
        match (&self.schema, &self.check.0) {
            (None, _) => Ok(()),
            (Some(_), Some(check)) => check(state),
            (Some(_), None) => Err("nobody here can check it".to_owned()),
        }
    }
}
