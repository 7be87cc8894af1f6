//! STUB for the branch `runtime` only; the real one replaces it on `main`.
use std::sync::Arc;
use super::{Action, Reply, RunOutcome};
use crate::agent::AgentSpec;
use crate::machine::{Facts, Machine};
use crate::store::Claim;

/// Stub.
pub struct StepIterator { machine: Machine }
/// Stub.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("session {key}: {detail}")]
pub struct StartError { /// Which session.
    pub key: crate::ids::SessionKey, /// What.
    pub detail: String }
impl StepIterator {
    /// Fresh, resumed or recovered: the same door.
    pub fn start(_claim: Claim, _agent: Arc<AgentSpec>, _facts: Facts) -> Result<Self, StartError> { Ok(Self { machine: Machine::default() }) }
    /// Ends a session that an interrupt waits for, without its agent.
    pub fn end(_claim: Claim, _facts: Facts) -> Result<Self, StartError> { Ok(Self { machine: Machine::default() }) }
    /// The next action; `Await` when there is nothing to start.
    pub fn next_action(&mut self) -> Action { Action::Exit(RunOutcome::Released) }
    /// Takes what became of an action.
    pub fn apply(&mut self, _reply: Reply, _facts: Facts) {}
    /// The machine as decided so far.
    pub fn machine(&self) -> &Machine { &self.machine }
}
