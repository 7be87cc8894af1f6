//! More steps than an agent may take by itself: a person is asked to grant them before the step limit ends the turn
//! (requirement C42).

use serde::{Deserialize, Serialize};

/// The name of the tool in a request for more steps.
pub const MORE_STEPS: &str = "more_steps";

/// The most steps that one answer grants, unless the agent's own step limit is higher.
pub(crate) const MORE_STEPS_MAX: u32 = 1_000;

/// The arguments of the request. An answer that edits them grants another number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoreSteps {
    /// The number of steps.
    pub steps: u32,
}

impl MoreSteps {
    /// Reads the number of steps that an answer with these arguments grants. `max_steps` is the agent's own step
    /// limit.
    ///
    /// # Errors
    /// Returns a text that says why the arguments are invalid.
    pub fn read(arguments: &str, max_steps: u32) -> Result<Self, String> {
        let most = MORE_STEPS_MAX.max(max_steps);
        match serde_json::from_str::<Self>(arguments) {
            Ok(more) if (1..=most).contains(&more.steps) => Ok(more),
            Ok(more) => Err(format!("{} is not from 1 to {most}", more.steps)),
            Err(error) => Err(format!("it wants the form {{\"steps\": 10}}: {error}")),
        }
    }
}
