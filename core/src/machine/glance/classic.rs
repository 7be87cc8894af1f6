//! A view of the machine as the six states of textbook agents.

use serde::{Deserialize, Serialize};

use super::super::{AgentState, DoneReason, SteeringFrom};

/// One of the six states of textbook agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Classic {
    /// At rest, or stopped from outside.
    Idle,
    /// The model is asked, or the next request is being prepared.
    Thinking,
    /// Calls run, or wait.
    Acting,
    /// The results of the calls are checked.
    Observing,
    /// The model has answered without calls, or the turn is ending without an error or a stop from outside.
    Responding,
    /// A model call failed and is retried, or the turn ended with an error.
    Error,
}

impl Classic {
    /// Returns the view of this state.
    pub fn of(state: &AgentState) -> Self {
        match state {
            AgentState::Idle => Self::Idle,
            AgentState::Provisioning { .. }
            | AgentState::Thinking { .. }
            | AgentState::Streaming { .. }
            | AgentState::Steering { from: SteeringFrom::Resumed } => Self::Thinking,
            AgentState::Executing { .. } | AgentState::Confirming { .. } | AgentState::Dispatching { .. } => {
                Self::Acting
            }
            AgentState::Steering { from: SteeringFrom::Calls { .. } } => Self::Observing,
            AgentState::Steering { from: SteeringFrom::Answer { .. } } => Self::Responding,
            AgentState::BackingOff { .. } => Self::Error,
            AgentState::Compacting { .. } | AgentState::TearingDown { .. } | AgentState::Done { .. } => {
                Self::of_the_end(state)
            }
        }
    }

    /// Returns the view of a state in which the outcome of the turn may be fixed.
    fn of_the_end(state: &AgentState) -> Self {
        let frees = matches!(state, AgentState::TearingDown { .. });
        match state.ending().map(|ending| ending.reason) {
            None => Self::Thinking,
            Some(DoneReason::Error) => Self::Error,
            Some(DoneReason::UserAbort) => Self::Idle,
            Some(
                DoneReason::ModelStop
                | DoneReason::MaxTurns
                | DoneReason::BudgetExceeded
                | DoneReason::LoopDetected
                | DoneReason::ToolStop,
            ) => {
                if frees {
                    Self::Responding
                } else {
                    Self::Idle
                }
            }
        }
    }

    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Thinking => "thinking",
            Self::Acting => "acting",
            Self::Observing => "observing",
            Self::Responding => "responding",
            Self::Error => "error",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::glance::stories::{play, stories};

    use Classic::{Acting, Error, Idle, Observing, Responding, Thinking};

    /// The table of D02: from, on, to.
    const TABLE: [(Classic, &str, Classic); 11] = [
        (Idle, "user_input", Thinking),
        (Thinking, "needs_tool", Acting),
        (Thinking, "has_answer", Responding),
        (Thinking, "error", Error),
        (Acting, "tool_success", Observing),
        (Acting, "tool_failure", Error),
        (Observing, "need_more", Thinking),
        (Observing, "done", Responding),
        (Responding, "done", Idle),
        (Error, "retry", Thinking),
        (Error, "abort", Idle),
    ];

    /// Returns true if a move is outside the six-state model. A stop from outside ends the turn in any state, and a
    /// message that came during the answer begins the next step at once.
    fn is_beyond_the_six(from: Classic, to: Classic) -> bool {
        matches!((from, to), (_, Idle) | (Responding, Thinking))
    }

    #[test]
    fn d02_the_six_states_move_as_their_table_says() {
        let mut seen = Vec::new();
        for story in stories() {
            for pair in play(&story).windows(2) {
                let (from, to) = (Classic::of(&pair[0].state), Classic::of(&pair[1].state));
                let known = from == to || TABLE.iter().any(|row| (row.0, row.2) == (from, to));
                assert!(known || is_beyond_the_six(from, to), "{from:?} -> {to:?} in {story:?}");
                seen.push((from, to));
            }
        }
        for (from, on, to) in TABLE {
            assert!(seen.contains(&(from, to)), "{from:?} -{on}-> {to:?} was not seen");
        }
    }
}
