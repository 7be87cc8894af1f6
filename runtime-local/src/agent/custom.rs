//! An agent's rules for the custom state of its sessions, and their check.

use holdover_core::custom::{StateCheck, StateRules};

use super::AgentBuilder;
use crate::error::AgentError;

impl AgentBuilder {
    /// Sets the rules for the [custom state](holdover_core::custom) of the agent's sessions, which its tools
    /// change. The schema is checked here, whatever [`StateRules::check`] says.
    pub fn state(mut self, rules: StateRules) -> Self {
        self.spec.state = rules;
        self
    }
}

/// The rules with what holds a state against their schema, compiled once.
pub(super) fn checked(agent: &str, mut rules: StateRules) -> Result<StateRules, AgentError> {
    let Some(schema) = &rules.schema else { return Ok(rules) };
    let validator = jsonschema::validator_for(schema).map_err(|error| AgentError::State {
        agent: agent.to_owned(),
        detail: error.to_string().replace('\n', " "),
    })?;
    rules.check = StateCheck::new(move |state| {
        validator.validate(state).map_err(|error| match error.instance_path().as_str() {
            "" => error.to_string(),
            path => format!("{path}: {error}"),
        })
    });
    Ok(rules)
}
