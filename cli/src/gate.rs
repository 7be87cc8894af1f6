//! The gate of an agent file: its rules, and optionally a server.

use std::sync::Arc;

use holdover_core::gate::{PolicyGate, RuleGate, StrictestGate};
use serde::{Deserialize, Serialize};

use crate::http::HttpGate;
use crate::recipe::Recipe;

/// A server that is asked about each call that the rules do not deny.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GateRef {
    pub(crate) url: String,
    /// The environment variable that holds the bearer token for the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bearer_env: Option<String>,
}

impl GateRef {
    /// Checks the reference without reading the environment. The reference is stored with sessions, so it must not
    /// contain a secret.
    pub(crate) fn check(&self) -> Result<(), String> {
        let gate = HttpGate::new(&self.url).map_err(|error| error.to_string())?;
        let authority = self.url.split("://").nth(1).unwrap_or_default().split(['/', '?', '#']).next();
        if authority.unwrap_or_default().contains('@') {
            return Err("gate: url: it holds a password; name its variable in bearer_env".to_owned());
        }
        // Any token shows whether one may be sent there.
        if self.bearer_env.is_some() {
            gate.bearer("token").map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn connect(&self) -> Result<HttpGate, String> {
        let gate = HttpGate::new(&self.url).map_err(|error| error.to_string())?;
        let Some(variable) = &self.bearer_env else { return Ok(gate) };
        let token = std::env::var(variable)
            .map_err(|_| format!("gate: bearer_env: the environment variable {variable} is not set"))?;
        gate.bearer(&token).map_err(|error| error.to_string())
    }
}

/// Builds the gate of an agent from its rules and its server, if it has one. The stricter verdict counts.
pub(crate) fn of(recipe: &Recipe) -> Result<Arc<dyn PolicyGate>, String> {
    let rules =
        RuleGate::new(recipe.approval.clone()).mode(recipe.permissions).always_allow(&recipe.always_allow);
    Ok(match &recipe.gate {
        Some(server) => Arc::new(StrictestGate::new().and(rules).and(server.connect()?)),
        None => Arc::new(rules),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str) -> Result<(), String> {
        GateRef { url: url.to_owned(), bearer_env: None }.check()
    }

    #[test]
    fn what_is_stored_holds_no_password() {
        assert_eq!(at("https://gate.example/a@b?c=@"), Ok(()));
        assert!(at("https://user:word@gate.example/").unwrap_err().contains("bearer_env"));
        assert!(at("gate.example").unwrap_err().starts_with("gate: url: "));
    }
}
