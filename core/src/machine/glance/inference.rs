//! A view of the activity of the model.

use serde::{Deserialize, Serialize};

use super::super::{AgentState, DoneReason, Machine, StopCause};

/// The activity of the model. A cancelled inference is over; the next one begins as from idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inference {
    /// The model is not asked: the session rests, or calls run or wait.
    Idle,
    /// The model answers, is about to be asked, or is asked again after a wait; old messages are summarised; or the
    /// turn decides how to go on, or ends.
    Running,
    /// The turn was stopped from outside.
    Cancelled,
}

impl Inference {
    /// Returns the view of this machine.
    pub fn of(machine: &Machine) -> Self {
        // A draft of a handoff also rests as stopped, but nobody stopped it.
        let stopped = machine.state.ending().is_some_and(|ending| {
            ending.reason == DoneReason::UserAbort && ending.cause != StopCause::HandedOff
        });
        match &machine.state {
            AgentState::Done { .. } | AgentState::TearingDown { .. } if stopped => Self::Cancelled,
            AgentState::Idle
            | AgentState::Done { .. }
            | AgentState::Executing { .. }
            | AgentState::Confirming { .. }
            | AgentState::Dispatching { .. } => Self::Idle,
            AgentState::Provisioning { .. }
            | AgentState::Thinking { .. }
            | AgentState::Streaming { .. }
            | AgentState::Steering { .. }
            | AgentState::Compacting { .. }
            | AgentState::BackingOff { .. }
            | AgentState::TearingDown { .. } => Self::Running,
        }
    }

    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Cancelled => "cancelled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::glance::stories::{play, stories};

    /// B02: idle -> running -> idle; running -> cancelled; cancelled -> a new inference.
    #[test]
    fn b02_inference_runs_rests_and_is_cancelled_and_begins_anew() {
        let allowed = |from: Inference, to: Inference| match (from, to) {
            (Inference::Idle, Inference::Running)
            | (Inference::Running, Inference::Idle | Inference::Cancelled)
            | (Inference::Cancelled, Inference::Running | Inference::Idle) => true,
            // The model is idle while calls run, but a stop cancels the turn all the same.
            (Inference::Idle, Inference::Cancelled) => true,
            (Inference::Idle, Inference::Idle)
            | (Inference::Running, Inference::Running)
            | (Inference::Cancelled, Inference::Cancelled) => true,
        };
        let mut seen = Vec::new();
        for story in stories() {
            let machines = play(&story);
            for pair in machines.windows(2) {
                let (from, to) = (Inference::of(&pair[0]), Inference::of(&pair[1]));
                assert!(allowed(from, to), "{from:?} -> {to:?} in {story:?}");
                if from != to && !seen.contains(&(from, to)) {
                    seen.push((from, to));
                }
            }
        }
        for move_ in [
            (Inference::Idle, Inference::Running),
            (Inference::Running, Inference::Idle),
            (Inference::Running, Inference::Cancelled),
            (Inference::Cancelled, Inference::Running),
        ] {
            assert!(seen.contains(&move_), "{move_:?} was not seen: {seen:?}");
        }
    }
}
