//! An agent's rules for the custom state of its sessions.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The largest custom state that a session keeps, as JSON, unless its agent says otherwise. It is part of the state,
/// which every commit writes.
pub const STATE_BYTES_MAX: usize = 64 * 1024;

/// What an agent asks of the custom state of its sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StateRules {
    /// The JSON Schema of the whole state, an object: it must fit after every change. The empty state with which a
    /// session begins is not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The largest state, as JSON, in bytes; the changes of one call are bounded by the same.
    pub bytes_max: usize,
    /// What checks a state against the schema: whoever builds an agent brings it. Without it nothing fits a schema.
    #[serde(skip)]
    pub check: StateCheck,
}

impl Default for StateRules {
    fn default() -> Self {
        Self { schema: None, bytes_max: STATE_BYTES_MAX, check: StateCheck::default() }
    }
}

type Check = dyn Fn(&Value) -> Result<(), String> + Send + Sync;

/// Says what is wrong with a whole state. Code, so it is stored nowhere, and any two are alike: the schema tells rules apart.
#[derive(Clone, Default)]
pub struct StateCheck(Option<Arc<Check>>);

impl StateCheck {
    /// One that asks this function, which must always say the same of the same.
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
    /// What is wrong with a state.
    pub(crate) fn fits(&self, state: &Value) -> Result<(), String> {
        match (&self.schema, &self.check.0) {
            (None, _) => Ok(()),
            (Some(_), Some(check)) => check(state),
            (Some(_), None) => Err("nobody here can check it".to_owned()),
        }
    }
}
