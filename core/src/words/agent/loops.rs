//! Rules for a model that repeats the same calls.

use serde::{Deserialize, Serialize};

/// The highest number of similar calls that a rule may set.
pub const COUNTED_MAX: u32 = 100;

/// The rules for a model that repeats the same calls. Each threshold is a number of similar calls of one
/// tool, at most [`COUNTED_MAX`]. Zero switches the rule off. [`machine::looping`](crate::machine::looping)
/// defines when calls are similar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LoopDetection {
    /// The number of similar calls at which the turn ends before the model is asked again (`loop_detected`).
    pub stop_at: u32,
    /// The number of similar calls at which the model is warned, in the next request only.
    pub warn_at: u32,
    /// The number of similar calls at which the model is told to stop and the tool is withheld.
    pub withhold_at: u32,
    /// The number of steps for which the tool is withheld.
    pub withheld_steps: u32,
    /// If true, calls are similar only if their results are equal too. Polling then does not count as a loop while
    /// the results change.
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
    /// Settings that detect nothing.
    pub const OFF: Self =
        Self { stop_at: 0, warn_at: 0, withhold_at: 0, withheld_steps: 0, with_results: false };

    /// Returns the lowest threshold, or `None` if nothing is detected.
    pub fn least(&self) -> Option<u32> {
        [self.stop_at, self.warn_at, self.withhold_at].into_iter().filter(|at| *at > 0).min()
    }
}
