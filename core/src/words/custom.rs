//! Custom state: key-value data that tools keep for a session, beside its transcript.
//!
//! The output of a call may carry [`StateChange`]s. They are stored together with the call's result. When the step
//! is over, the changes of the successful calls are applied in call order, regardless of the order in which the
//! calls returned. So the state stays fixed during a step, and all calls of the step see the same state. Before a
//! result is stored, its changes are tried together with those of the calls that have already succeeded. If a
//! change cannot be applied, does not fit the agent's schema, or makes the state too large, the result becomes an
//! error and changes nothing.
//!
//! A notice after the results of a step records which keys changed and how to undo the changes. When a session is
//! rewound to an earlier message, its custom state is rewound too.

mod rules;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::words::parameters::redacted_value;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub use rules::{STATE_BYTES_MAX, STATE_DEPTH_MAX, StateCheck, StateRules};

/// The custom state of a session: JSON values by key. A clone copies one pointer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomState(Arc<BTreeMap<String, Value>>);

impl CustomState {
    /// Returns the value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Iterates over all keys and values, in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns true if the state has no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the whole state as one JSON object.
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    /// Applies one change and returns how to undo it, or `None` if it changes nothing. Fails if the change appends
    /// to a value that is not a list.
    pub(crate) fn apply(&mut self, change: &StateChange) -> Result<Option<Undo>, NoList> {
        let map = Arc::make_mut(&mut self.0);
        let restore = |key: &String, before: Option<Value>| match before {
            Some(value) => Undo::Set { key: key.clone(), value },
            None => Undo::Delete { key: key.clone() },
        };
        Ok(match change {
            StateChange::Set { key, value } if map.get(key) == Some(value) => None,
            StateChange::Set { key, value } => Some(restore(key, map.insert(key.clone(), value.clone()))),
            StateChange::Delete { key } => map.remove(key).map(|before| restore(key, Some(before))),
            StateChange::Append { key, value } => match map.get_mut(key) {
                None => {
                    map.insert(key.clone(), Value::Array(vec![value.clone()]));
                    Some(restore(key, None))
                }
                Some(Value::Array(list)) => {
                    list.push(value.clone());
                    Some(Undo::Shorten { key: key.clone(), len: list.len() - 1 })
                }
                Some(_) => return Err(NoList { key: key.clone() }),
            },
        })
    }

    /// Applies `undo` in the given order.
    pub(crate) fn take_back(&mut self, undo: &[Undo]) {
        if undo.is_empty() {
            return;
        }
        let map = Arc::make_mut(&mut self.0);
        for one in undo {
            match one {
                Undo::Set { key, value } => {
                    map.insert(key.clone(), value.clone());
                }
                Undo::Delete { key } => {
                    map.remove(key);
                }
                Undo::Shorten { key, len } => {
                    if let Some(Value::Array(list)) = map.get_mut(key) {
                        list.truncate(*len);
                    }
                }
            }
        }
    }
}

impl FromIterator<(String, Value)> for CustomState {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(values: I) -> Self {
        Self(Arc::new(values.into_iter().collect()))
    }
}

impl Serialize for CustomState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_ref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CustomState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer).map(|map| Self(Arc::new(map)))
    }
}

/// A change of the custom state.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "does", rename_all = "snake_case")]
pub enum StateChange {
    /// Sets the value under a key.
    Set {
        /// The key to set.
        key: String,
        /// The new value.
        value: Value,
    },
    /// Appends to the list under a key. If the key does not exist, creates a list with this value only.
    Append {
        /// The key of the list.
        key: String,
        /// The value to append.
        value: Value,
    },
    /// Removes a key.
    Delete {
        /// The key to remove.
        key: String,
    },
}

impl StateChange {
    /// Returns the change as watchers are shown it, by the rule of
    /// [`redacted_value`].
    #[must_use]
    pub fn redacted(self) -> Self {
        match self {
            Self::Set { key, value } => Self::Set { value: redacted_value(&key, value), key },
            Self::Append { key, value } => Self::Append { value: redacted_value(&key, value), key },
            removed @ Self::Delete { .. } => removed,
        }
    }

    /// Returns the key that the change affects.
    pub fn key(&self) -> &str {
        match self {
            Self::Set { key, .. } | Self::Append { key, .. } | Self::Delete { key } => key,
        }
    }
}

/// The inverse of one change.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "does", rename_all = "snake_case")]
pub enum Undo {
    /// Restores an earlier value of a key.
    Set {
        /// The key to restore.
        key: String,
        /// The earlier value.
        value: Value,
    },
    /// Removes a key that did not exist before.
    Delete {
        /// The key to remove.
        key: String,
    },
    /// Shortens the list under a key to its earlier length.
    Shorten {
        /// The key of the list.
        key: String,
        /// The earlier length of the list.
        len: usize,
    },
}

impl Undo {
    /// Returns the undo as watchers are shown it, as [`StateChange::redacted`] does.
    #[must_use]
    pub fn redacted(self) -> Self {
        match self {
            Self::Set { key, value } => Self::Set { value: redacted_value(&key, value), key },
            other @ (Self::Delete { .. } | Self::Shorten { .. }) => other,
        }
    }
}

impl Undo {
    pub(crate) fn key(&self) -> &str {
        match self {
            Self::Set { key, .. } | Self::Delete { key } | Self::Shorten { key, .. } => key,
        }
    }
}

/// The error of an append to a value that is not a list.
pub(crate) struct NoList {
    key: String,
}

impl fmt::Display for NoList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} holds no list to append to", self.key)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(value: Value) -> CustomState {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn every_change_can_be_taken_back() {
        let before = state(json!({ "list": [1], "word": "a" }));
        let changes: Vec<StateChange> = serde_json::from_value(json!([
            { "does": "append", "key": "list", "value": 2 },
            { "does": "append", "key": "new", "value": 1 },
            { "does": "set", "key": "word", "value": "b" },
            { "does": "delete", "key": "list" },
            { "does": "delete", "key": "missing" },
            { "does": "set", "key": "list", "value": [] },
            { "does": "append", "key": "list", "value": 3 },
        ]))
        .unwrap();
        let (mut after, mut undo) = (before.clone(), Vec::new());
        for change in &changes {
            undo.extend(after.apply(change).ok().flatten());
        }
        assert_eq!(after, state(json!({ "list": [3], "new": [1], "word": "b" })));
        undo.reverse();
        after.take_back(&undo);
        assert_eq!(after, before);
    }

    #[test]
    fn nothing_is_appended_to_what_is_no_list() {
        let mut holds_a_word = state(json!({ "word": "a" }));
        let append = StateChange::Append { key: "word".into(), value: json!(1) };
        let why = holds_a_word.apply(&append).err().map(|why| why.to_string());
        assert_eq!(why.as_deref(), Some("\"word\" holds no list to append to"));
    }
}
