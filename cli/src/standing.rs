//! How a session stands, read from what is stored.

use holdover_core::machine::{AgentState, Machine, classify_suspension};
use holdover_core::step::RunOutcome;
use holdover_core::store::Session;
use holdover_core::time::Timestamp;

use crate::exit::Failure;

/// What a session remembers. None before its first commit.
pub(crate) fn machine(session: &Session) -> Result<Option<Machine>, Failure> {
    let Some(state) = &session.state else { return Ok(None) };
    let read = state.parse();
    read.map(Some).map_err(|error| Failure::failed(format!("session {}: state: {error}", session.key.id)))
}

/// What the last run left. None before a session's first commit, and in the middle of a run.
pub(crate) fn outcome(session: &Session, now: Timestamp) -> Result<Option<RunOutcome>, Failure> {
    let Some(machine) = machine(session)? else { return Ok(None) };
    Ok(match machine.state {
        AgentState::Done { ending, .. } | AgentState::TearingDown { ending, .. } => {
            Some(RunOutcome::Ended(ending))
        }
        AgentState::BackingOff { until, error, .. } => Some(RunOutcome::BackingOff { until, error }),
        AgentState::Confirming { batch } | AgentState::Executing { batch } => {
            classify_suspension(&batch, now).map(RunOutcome::Suspended)
        }
        AgentState::Idle
        | AgentState::Provisioning { .. }
        | AgentState::Thinking { .. }
        | AgentState::Streaming { .. }
        | AgentState::Steering { .. } => None,
    })
}
