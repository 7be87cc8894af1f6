//! Rules against a model that makes the same calls again and again.

use serde::{Deserialize, Serialize};

/// The highest number of similar calls that a rule against loops may name.
pub const COUNTED_MAX: u32 = 100;

/// The rules against a model that makes the same calls again and again. Each number is a count of similar
/// calls of one tool, at most [`COUNTED_MAX`], from which on a consequence follows. Zero: never.
/// [`machine::looping`](crate::machine::looping) defines similar calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LoopDetection {
    /// From this number on, the turn ends before the model is asked again (`loop_detected`).
    pub stop_at: u32,
    /// From this number on, the model is warned, in the next request only.
    pub warn_at: u32,
    /// From this number on, the model is told to stop, and the tool is withheld from it.
    pub withhold_at: u32,
    /// The number of steps for which the tool is withheld.
    pub withheld_steps: u32,
    /// Whether calls are similar only if their results are equal too. Then polling is not stopped.
    pub with_results: bool,
}

setters! { LoopDetection {
    stop_at: u32,
    warn_at: u32,
    withhold_at: u32,
    withheld_steps: u32,
    with_results: bool,
} }

impl Default for LoopDetection {
    fn default() -> Self {
        Self { stop_at: 8, warn_at: 0, withhold_at: 0, withheld_steps: 3, with_results: false }
    }
}

impl LoopDetection {
    /// Nothing is detected.
    pub const OFF: Self =
        Self { stop_at: 0, warn_at: 0, withhold_at: 0, withheld_steps: 0, with_results: false };

    /// The fewest calls that have a consequence; none if nothing is detected.
    pub fn least(&self) -> Option<u32> {
        [self.stop_at, self.warn_at, self.withhold_at].into_iter().filter(|at| *at > 0).min()
    }
}
