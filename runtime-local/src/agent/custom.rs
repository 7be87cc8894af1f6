//! Sets and checks an agent's rules for the custom state of its sessions.

use holdover_core::custom::{StateCheck, StateRules};

use super::AgentBuilder;
use crate::error::AgentError;

impl AgentBuilder {
    /// Sets the rules for the [custom state](holdover_core::custom) of the agent's sessions. The agent's
    /// tools change that state. If the rules have a schema, it replaces [`StateRules::check`].
    pub fn state(mut self, rules: StateRules) -> Self {
        self.spec.state = rules;
        self
    }
}

/// Compiles the schema of the rules, if they have one, and makes it the check of each state.
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
