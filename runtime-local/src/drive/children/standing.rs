//! The standing of a background child.

use holdover_core::ending::DoneReason;
use holdover_core::machine::{Machine, classify_suspension};
use holdover_core::store::{OutcomeKind, Session, SessionStatus};
use holdover_core::time::Timestamp;
use serde::Serialize;

use super::has_ended;
use crate::error::RuntimeError;

/// Returns the machine of a session as it is stored.
pub(super) fn machine_of(session: &Session) -> Result<Machine, RuntimeError> {
    let Some(state) = &session.state else { return Ok(Machine::default()) };
    state.parse().map_err(|error| RuntimeError::unreadable(&session.key, "state", error))
}

/// The standing of a background child, as models and views show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChildStanding {
    /// The child works, is about to, or waits for something other than people and clients.
    Works,
    /// The child waits for people or clients.
    Waits,
    /// The child has ended, and its last turn ended with `model_stop` or `tool_stop`.
    Done,
    /// The child has ended, and its last turn ended for another reason.
    Failed,
    /// The child was aborted and never runs again.
    Stopped,
    /// The child does not exist: it was deleted, or has not begun yet.
    Gone,
}

impl ChildStanding {
    /// Returns the name that is used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Waits => "waits",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Gone => "gone",
        }
    }

    /// Returns the standing of a child from its stored session, or [`Gone`](Self::Gone) if there is none.
    pub(crate) fn of(session: Option<&Session>, now: Timestamp) -> Result<Self, RuntimeError> {
        let Some(session) = session else { return Ok(Self::Gone) };
        if session.status == SessionStatus::Aborted {
            return Ok(Self::Stopped);
        }
        let machine = machine_of(session)?;
        if has_ended(session) {
            let did = machine.state.ending().is_some_and(|ending| {
                ending.status() == SessionStatus::Idle
                    && matches!(ending.reason, DoneReason::ModelStop | DoneReason::ToolStop)
            });
            return Ok(if did { Self::Done } else { Self::Failed });
        }
        let people = [OutcomeKind::SuspendedClientTool, OutcomeKind::SuspendedStepPartial];
        let parked = machine.state.batch().and_then(|batch| classify_suspension(batch, now));
        let waits = parked.is_some_and(|parked| people.contains(&parked.kind));
        Ok(if waits { Self::Waits } else { Self::Works })
    }
}
