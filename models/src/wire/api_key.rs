//! The API key for a model server.

use std::fmt;

use holdover_core::model::{ModelError, ModelErrorKind};

/// An API key. Neither `Debug` nor errors show it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Creates a key with this text.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// Reads the key from the environment variable `name`, without white space around it. Fails with an error of kind
    /// `Configuration` if `name` cannot be the name of a variable, or if the variable is not set, blank or not UTF-8.
    pub fn from_env(name: &str) -> Result<Self, ModelError> {
        let refuse = |why: &str| {
            Err(ModelError::new(
                ModelErrorKind::Configuration,
                format!("environment variable {name:?} with the key {why}"),
            ))
        };
        if name.is_empty() || name.contains(['=', '\0']) {
            return refuse("cannot be a variable's name");
        }
        match std::env::var(name) {
            Ok(key) if key.trim().is_empty() => refuse("is empty"),
            Ok(key) => Ok(Self(key.trim().to_owned())),
            Err(std::env::VarError::NotPresent) => refuse("is not set"),
            Err(std::env::VarError::NotUnicode(_)) => refuse("is not UTF-8"),
        }
    }

    /// Returns the key itself, which must never be shown.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}
