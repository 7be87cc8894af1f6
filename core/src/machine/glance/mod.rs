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

/// A short view of a session for people. It hides internals. Two glances are equal if nothing visible has changed
/// between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Glance {
    /// The status of the session in the store.
    pub status: SessionStatus,
    /// The state of the session's machine.
    pub state: StateKind,
    /// The state as one of seven.
    pub seven: Seven,
    /// The state as one of the six of textbook agents.
    pub classic: Classic,
    /// The activity of the model.
    pub inference: Inference,
    /// The possible action of a person now.
    pub interaction: Interaction,
    /// The turn that runs, or ran last; 0 before the first.
    pub turn: TurnNumber,
    /// The step that is open.
    pub step: Option<StepNumber>,
    /// The number of steps of the turn that the model has answered.
    pub steps: u32,
    /// The most steps that the turn may have: the limit of the agent plus the granted steps. `None` if the limit is
    /// unknown.
    pub max_steps: Option<u32>,
    /// The numbers of calls of the step that run and that wait.
    pub calls: CallCounts,
    /// The calls that wait for a person's approval, in call order; or the call that stands for a request for more
    /// steps.
    pub approvals: Vec<CallId>,
    /// The result of the last turn; none while a turn is open, and before the first.
    pub ended: Option<Ended>,
    /// The error with which the turn failed, or for which the model is asked again.
    pub error: Option<ErrorInfo>,
    /// True if code plans the turn, in place of a model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub planned: bool,
}

impl Glance {
    /// Builds the glance of a session and its machine. `max_steps` is the most steps that the turn may have, if
    /// known.
    pub fn of(session: &Session, machine: &Machine, max_steps: Option<u32>) -> Self {
        let state = &machine.state;
        let inference = match (session.status, Inference::of(machine)) {
            // A run has claimed the session and has not committed anything yet.
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
                machine.handoff.is_some() || machine.turn.handing_over.is_some() && machine.turn.open,
            ),
            turn: machine.turn.number,
            step: state.open_step(),
            steps: machine.turn.steps,
            max_steps,
            calls: state.batch().map(CallCounts::of).unwrap_or_default(),
            approvals,
            ended: Ended::of(machine),
            error: error_of(state).cloned(),
            planned: machine.turn.plan.is_some(),
        }
    }

    /// Returns the inputs that the machine takes in its state, in the order of the table.
    pub fn takes(&self) -> Vec<InputKind> {
        let for_code = |input: &InputKind| matches!(input, InputKind::Planned | InputKind::Diverged);
        table::inputs_of(self.state).into_iter().filter(|input| self.planned || !for_code(input)).collect()
    }
}

/// The numbers of calls of a step that run and that wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCounts {
    /// The number of calls that are out, or about to be sent.
    pub running: usize,
    /// The number of calls that wait for an answer from outside: from a person, a client or children, or for a signal.
    pub blocked: usize,
    /// The number of calls that wait for a timer.
    pub waiting: usize,
}

impl CallCounts {
    /// Counts the calls of this step.
    pub fn of(batch: &Batch) -> Self {
        let count =
            |holds: fn(&CallState) -> bool| batch.calls.iter().filter(|call| holds(&call.state)).count();
        Self {
            running: count(CallState::is_out),
            blocked: count(|state| {
                state.pending().is_some()
                    || matches!(state, CallState::AwaitingEnds { .. } | CallState::AwaitingSignal { .. })
            }),
            waiting: count(|state| matches!(state, CallState::Waiting { .. })),
        }
    }
}

/// The result of a turn: stopped or failed.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Ended {
    /// The turn stopped: the agent finished, met a limit, or was told to stop.
    #[serde(rename = "stopped")]
    Stopped,
    /// The turn failed.
    #[serde(rename = "error")]
    Failed,
}

impl Ended {
    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Failed => "error",
        }
    }

    /// Returns the result of a turn that ended for this reason.
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

    /// Returns the result of the last turn of this machine. `None` while a turn is open, and before the first turn.
    pub fn of(machine: &Machine) -> Option<Self> {
        let ending = machine.state.ending().filter(|_| !machine.turn.open)?;
        Some(Self::for_reason(ending.reason))
    }
}

/// Returns the error for which the model is asked again, or with which the turn ended.
fn error_of(state: &AgentState) -> Option<&ErrorInfo> {
    if let AgentState::BackingOff { error, .. } = state {
        return Some(error);
    }
    state.ending().and_then(|ending| ending.error.as_ref())
}
