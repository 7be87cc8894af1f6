//! An agent's rules for the custom state of its sessions.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The largest custom state of a session, as JSON, unless its agent says otherwise. It is part of the
/// session's state, which every commit writes.
pub const STATE_BYTES_MAX: usize = 64 * 1024;

/// An agent's rules for the custom state of its sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StateRules {
    /// The JSON Schema of the whole state, an object. The state must fit after every change. The empty state
    /// with which a session begins is not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The largest state, as JSON, in bytes. The changes of one call have the same limit.
    pub bytes_max: usize,
    /// The function that checks a state against the schema, provided by the program that builds the agent.
    /// Without it nothing fits a schema.
    #[serde(skip)]
    pub check: StateCheck,
}

impl Default for StateRules {
    fn default() -> Self {
        Self { schema: None, bytes_max: STATE_BYTES_MAX, check: StateCheck::default() }
    }
}

type Check = dyn Fn(&Value) -> Result<(), String> + Send + Sync;

/// A check of a whole state, which says what is wrong with it. It is code, so it is not stored, and any two
/// compare as equal: the schema tells rules apart.
#[derive(Clone, Default)]
pub struct StateCheck(Option<Arc<Check>>);

impl StateCheck {
    /// A check by this function, which must always give the same answer for the same state.
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
    /// Checks a state against the schema, and says what is wrong with it.
    pub(crate) fn fits(&self, state: &Value) -> Result<(), String> {
        match (&self.schema, &self.check.0) {
            (None, _) => Ok(()),
            (Some(_), Some(check)) => check(state),
            (Some(_), None) => Err("nobody here can check it".to_owned()),
        }
    }
}
