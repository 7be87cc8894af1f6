//! How a session stands, read from what is stored.

use holdover_core::machine::{AgentState, Machine, classify_suspension};
use holdover_core::step::RunOutcome;
use holdover_core::store::Session;
use holdover_core::time::Timestamp;

use crate::error::RuntimeError;

/// What a session remembers. None before its first commit.
///
/// Errors: [`Unreadable`](RuntimeError::Unreadable), for a newer version wrote it, or something else did.
pub fn machine_of(session: &Session) -> Result<Option<Machine>, RuntimeError> {
    let Some(state) = &session.state else { return Ok(None) };
    let read = state.parse();
    read.map(Some).map_err(|error| RuntimeError::unreadable(&session.key, "state", error))
}

/// What the last run left: whoever parks or ends a session writes its state so that it says why. None before
/// its first commit, and in the middle of a run.
///
/// Errors: as [`machine_of`].
pub fn outcome_of(session: &Session, now: Timestamp) -> Result<Option<RunOutcome>, RuntimeError> {
    let Some(machine) = machine_of(session)? else { return Ok(None) };
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
