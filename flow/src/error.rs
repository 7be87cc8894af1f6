//! The errors of steps, and the ends of flows.

use std::fmt::Display;

/// The reason why a step gave no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The step ran and failed, or could not be run on any try.
    #[error("step {step} failed: {why}")]
    Failed {
        /// The name of the step.
        step: String,
        /// The reason.
        why: String,
    },
    /// The policy refused the step.
    #[error("step {step} was denied: {why}")]
    Denied {
        /// The name of the step.
        step: String,
        /// The reason.
        why: String,
    },
    /// A person refused the step or the approval.
    #[error("{step} was rejected: {why}")]
    Rejected {
        /// The name of the step or the approval.
        step: String,
        /// The reason that the person gave.
        why: String,
    },
    /// The step was stopped before it acted, or the flow was told to stop.
    #[error("step {step} was cancelled: {why}")]
    Cancelled {
        /// The name of the step.
        step: String,
        /// The reason.
        why: String,
    },
    /// The time for the step, the approval or the answer is over. A step that was cut off by
    /// [`Call::within`](crate::Call::within) may have acted.
    #[error("{step} timed out")]
    TimedOut {
        /// The name of the step or the approval.
        step: String,
    },
    /// It is not known whether the step acted. An undo must first find out, for example by the idempotency key.
    #[error("step {step} is in doubt: {why}")]
    InDoubt {
        /// The name of the step.
        step: String,
        /// What is known.
        why: String,
    },
    /// The value of the step does not have the type that the flow expects.
    #[error("step {step} gave no such value: {why}")]
    Unreadable {
        /// The name of the step.
        step: String,
        /// The first difference.
        why: String,
    },
}

/// The end of a flow without a value. A flow returns it as its error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop(pub(crate) Why);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    Step(StepError),
    Failed(String),
    CarryOn(String),
}

impl Stop {
    /// Returns the end of a flow that failed for this reason.
    pub fn failed(why: impl Display) -> Self {
        Self(Why::Failed(why.to_string()))
    }

    /// Returns the error of the step because of which the flow ends, if there is one.
    pub fn step(&self) -> Option<&StepError> {
        match &self.0 {
            Why::Step(error) => Some(error),
            Why::Failed(_) | Why::CarryOn(_) => None,
        }
    }
}

impl From<StepError> for Stop {
    fn from(error: StepError) -> Self {
        Self(Why::Step(error))
    }
}

impl Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Why::Step(error) => error.fmt(f),
            Why::Failed(why) => f.write_str(why),
            Why::CarryOn(_) => f.write_str("the flow carries on with a new input"),
        }
    }
}
