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
    use std::collections::BTreeSet;

    use super::*;
    use crate::machine::glance::stories::{play, stories};
    use crate::machine::tests::{FACTS, at, inputs, states};
    use crate::machine::transition;

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

    /// The moves that the table of D02 does not have: from, the reason, to.
    const BEYOND: [(Classic, &str, Classic); 11] = [
        (Thinking, "a stop from outside", Idle),
        (Acting, "a stop from outside", Idle),
        (Observing, "a stop from outside", Idle),
        (Responding, "a message came during the answer", Thinking),
        (Responding, "a person is asked for more steps", Acting),
        (Observing, "a person is asked for more steps", Acting),
        (Acting, "the person grants them", Thinking),
        (Acting, "the person does not grant them, or a limit ends the turn", Responding),
        (Error, "a limit ends the turn while it waits to retry", Responding),
        (Observing, "the turn fails", Error),
        (Responding, "the turn fails", Error),
    ];

    fn is_known(from: Classic, to: Classic) -> bool {
        let mut rows = TABLE.iter().chain(&BEYOND);
        from == to || rows.any(|row| (row.0, row.2) == (from, to))
    }

    #[test]
    fn d02_the_six_states_move_as_their_table_says() {
        let mut seen = BTreeSet::new();
        for story in stories() {
            for pair in play(&story).windows(2) {
                let (from, to) = (Classic::of(&pair[0].state), Classic::of(&pair[1].state));
                assert!(is_known(from, to), "{from:?} -> {to:?} in {story:?}");
                seen.insert((from, to));
            }
        }
        for (from, on, to) in TABLE.into_iter().chain(BEYOND) {
            assert!(seen.contains(&(from, to)), "{from:?} -{on}-> {to:?} was not seen");
        }
    }

    #[test]
    fn d02_no_input_in_any_state_moves_the_six_outside_of_the_listed_moves() {
        let mut unknown = BTreeSet::new();
        for state in states() {
            for input in inputs() {
                let machine = at(state.clone());
                let Ok(moved) = transition(&machine, &input, &FACTS) else { continue };
                let (from, to) = (Classic::of(&machine.state), Classic::of(&moved.next.state));
                if !is_known(from, to) {
                    unknown.insert((from, input.kind().as_str(), to));
                }
            }
        }
        assert_eq!(unknown, BTreeSet::new());
    }
}
