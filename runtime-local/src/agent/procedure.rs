//! The procedure of an agent.

use holdover_core::agent::AgentSpec;
use holdover_core::machine::procedure::faults;
use holdover_core::procedure::Procedure;

use super::AgentBuilder;
use crate::error::AgentError;

impl AgentBuilder {
    /// Sets the procedure of the agent: a machine of your own, which says in which state the work of a session stands, and
    /// which tools the model may call there. [`build`](Self::build) refuses one that is not sound, with all its faults.
    pub fn procedure(mut self, procedure: Procedure) -> Self {
        self.spec.procedure = Some(Box::new(procedure));
        self
    }
}

/// Returns an error with all faults of the agent's procedure, if it has one that is not sound.
pub(super) fn check(agent: &str, spec: &AgentSpec) -> Result<(), AgentError> {
    let Some(procedure) = &spec.procedure else { return Ok(()) };
    let found = faults(procedure, |tool| spec.tool(tool.as_str()).is_some());
    match found.is_empty() {
        true => Ok(()),
        false => Err(AgentError::Procedure { agent: agent.to_owned(), faults: found }),
    }
}
