//! Views of a session's machine for outside readers. They are computed, never stored.

mod classic;
mod inference;
mod interaction;
mod seven;
#[cfg(test)]
mod stories;

use serde::{Deserialize, Serialize};

pub use classic::Classic;
pub use inference::Inference;
pub use interaction::{Interaction, LastSaid, OpenCalls};
pub use seven::Seven;

use super::{AgentState, Batch, CallState, DoneReason, InputKind, Machine, StateKind, table};
use crate::store::{Session, SessionStatus};
use crate::words::error::ErrorInfo;
use crate::words::ids::{CallId, StepNumber, TurnNumber};

/// A session in short, for whoever shows it: small, without internals, and equal as long as nothing changed that
/// one would show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Glance {
    /// Its status in the store.
    pub status: SessionStatus,
    /// The state of its machine: one of the twelve.
    pub state: StateKind,
    /// The same as one of seven.
    pub seven: Seven,
    /// The same as one of the six that agents are taught with.
    pub classic: Classic,
    /// Whether the model is at work.
    pub inference: Inference,
    /// What a person may do now.
    pub interaction: Interaction,
    /// The turn that runs, or ran last; 0 before the first.
    pub turn: TurnNumber,
    /// The step that is open.
    pub step: Option<StepNumber>,
    /// Finished model calls of the turn.
    pub steps: u32,
    /// How many it may have, where that is known.
    pub max_steps: Option<u32>,
    /// How many calls of the step run, and how many wait.
    pub calls: CallCounts,
    /// The calls that wait for a person's approval, in call order.
    pub approvals: Vec<CallId>,
    /// How the last turn came to rest; none while one is open, and before the first.
    pub ended: Option<Ended>,
    /// What went wrong: why the turn failed, or why the model is asked again.
    pub error: Option<ErrorInfo>,
}

impl Glance {
    /// How `session` looks, whose machine this is. `max_steps`: what its agent allows.
    pub fn of(session: &Session, machine: &Machine, max_steps: Option<u32>) -> Self {
        let state = &machine.state;
        let inference = match (session.status, Inference::of(machine)) {
            // A run has the session and has not said yet what it does.
            (SessionStatus::Active, Inference::Idle | Inference::Cancelled) if !machine.turn.open => {
                Inference::Running
            }
            (_, inference) => inference,
        };
        let approvals = state.batch().map_or_else(Vec::new, |batch| {
            let asked = |state: &CallState| matches!(state, CallState::BlockedOnUser { .. });
            batch.calls.iter().filter(|call| asked(&call.state)).map(|call| call.id.clone()).collect()
        });
        Self {
            status: session.status,
            state: state.kind(),
            seven: Seven::of(state.kind()),
            classic: Classic::of(state),
            inference,
            interaction: Interaction::of(
                inference,
                &LastSaid::in_session(session, machine),
                machine.handoff.is_some(),
            ),
            turn: machine.turn.number,
            step: state.open_step(),
            steps: machine.turn.steps,
            max_steps,
            calls: state.batch().map(CallCounts::of).unwrap_or_default(),
            approvals,
            ended: Ended::of(machine),
            error: error_of(state).cloned(),
        }
    }

    /// The inputs that its machine takes as it stands, in the order of the table.
    pub fn takes(&self) -> Vec<InputKind> {
        table::inputs_of(self.state)
    }
}

/// How many calls of a step run, and how many wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCounts {
    /// They are out, or about to be.
    pub running: usize,
    /// A person or a client owes them something.
    pub blocked: usize,
    /// Time alone moves them.
    pub waiting: usize,
}

impl CallCounts {
    /// Counts the calls of this step.
    pub fn of(batch: &Batch) -> Self {
        let count =
            |holds: fn(&CallState) -> bool| batch.calls.iter().filter(|call| holds(&call.state)).count();
        Self {
            running: count(CallState::is_out),
            blocked: count(|state| state.pending().is_some()),
            waiting: count(|state| matches!(state, CallState::Waiting { .. })),
        }
    }
}

/// How a turn came to rest, in one of two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ended {
    /// It stopped: it said all it wanted, met a limit, or was told to.
    #[serde(rename = "stopped")]
    Stopped,
    /// It failed.
    #[serde(rename = "error")]
    Failed,
}

impl Ended {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Failed => "error",
        }
    }

    /// How a turn ended that ended for this reason.
    pub fn for_reason(reason: DoneReason) -> Self {
        match reason {
            DoneReason::Error => Self::Failed,
            DoneReason::ModelStop
            | DoneReason::MaxTurns
            | DoneReason::UserAbort
            | DoneReason::BudgetExceeded
            | DoneReason::LoopDetected
            | DoneReason::ToolStop => Self::Stopped,
        }
    }

    /// How the last turn of this machine ended; none while one is open, and before the first.
    pub fn of(machine: &Machine) -> Option<Self> {
        let ending = machine.state.ending().filter(|_| !machine.turn.open)?;
        Some(Self::for_reason(ending.reason))
    }
}

/// The error for which a model is asked again later, or on which the turn ended.
fn error_of(state: &AgentState) -> Option<&ErrorInfo> {
    if let AgentState::BackingOff { error, .. } = state {
        return Some(error);
    }
    state.ending().and_then(|ending| ending.error.as_ref())
}
