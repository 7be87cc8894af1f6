//! A view of the machine as one of seven states.

use serde::{Deserialize, Serialize};

use super::super::StateKind;

/// Seven states that describe an agent to outside readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seven {
    /// The turn prepares its next model request, waits to repeat one, or decides whether to go on.
    Thinking,
    /// The model answers.
    Streaming,
    /// Calls run.
    Executing,
    /// A call waits for an answer from outside, or for a timer.
    Confirming,
    /// Calls wait for children only.
    Dispatching,
    /// Old messages are summarised.
    Compacting,
    /// At rest, including before the first turn; or the turn is being torn down.
    Done,
}

impl Seven {
    /// Returns the view of this state.
    pub fn of(state: StateKind) -> Self {
        match state {
            StateKind::Provisioning | StateKind::Thinking | StateKind::Steering | StateKind::BackingOff => {
                Self::Thinking
            }
            StateKind::Streaming => Self::Streaming,
            StateKind::Executing => Self::Executing,
            StateKind::Confirming => Self::Confirming,
            StateKind::Dispatching => Self::Dispatching,
            StateKind::Compacting => Self::Compacting,
            StateKind::Idle | StateKind::TearingDown | StateKind::Done => Self::Done,
        }
    }

    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Thinking => "thinking",
            Self::Streaming => "streaming",
            Self::Executing => "executing",
            Self::Confirming => "confirming",
            Self::Dispatching => "dispatching",
            Self::Compacting => "compacting",
            Self::Done => "done",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::glance::stories::{play, stories};

    use Seven::{Compacting, Confirming, Dispatching, Done, Executing, Streaming, Thinking};

    /// Moves that the sample turns must show. Steering, which follows calls that have ended, counts as thinking.
    const MOVES: [(Seven, Seven); 11] = [
        (Thinking, Streaming),
        (Streaming, Executing),
        (Streaming, Thinking),
        (Executing, Confirming),
        (Confirming, Executing),
        (Executing, Dispatching),
        (Dispatching, Thinking),
        (Executing, Thinking),
        (Thinking, Compacting),
        (Compacting, Thinking),
        (Thinking, Done),
    ];

    #[test]
    fn a01_a07_the_seven_move_as_the_loop_of_an_agent_does() {
        let mut seen = Vec::new();
        for story in stories() {
            for pair in play(&story).windows(2) {
                seen.push((Seven::of(pair[0].state.kind()), Seven::of(pair[1].state.kind())));
            }
        }
        for (from, to) in MOVES {
            assert!(seen.contains(&(from, to)), "{from:?} -> {to:?} was not seen");
        }
        for never in [Executing, Confirming, Dispatching, Compacting, Done].map(|from| (from, Streaming)) {
            assert!(!seen.contains(&never), "{never:?}: the next request is made ready first");
        }
    }
}
