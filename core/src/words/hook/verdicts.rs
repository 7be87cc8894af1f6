//! The answers that hooks return.

use std::time::Duration;

use async_trait::async_trait;

use super::{Hook, HookPoint, StepEnded};
use crate::words::model::ModelRequest;
use crate::words::tool::ToolOutput;

/// The error of a hook that could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// The answer of a hook before the model is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum BeforeModel {
    /// The model is asked with this request unchanged.
    Ask,
    /// The model is asked with this new request instead.
    AskWith(Box<ModelRequest>),
    /// The model is asked later. The wait is durable. It uses up one of the attempts at the step; after the last
    /// attempt, the turn ends with an error. If the request was for a summary, the summary is not made; only the
    /// extract of a handoff is tried again.
    Hold {
        /// The wait, counted from now.
        wait: Duration,
        /// The reason for the wait.
        reason: String,
    },
    /// The model is not asked, and the turn ends with an error. If the request was for a summary, the summary
    /// is not made.
    Deny {
        /// The reason for the denial.
        reason: String,
    },
}

/// The answer of a hook before children begin or the session is handed over. A denial by any hook counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeSubAgent {
    /// The call continues to the gate.
    Allow,
    /// No child is begun, and the session is not handed over. The model sees the reason, and the turn continues.
    Deny {
        /// The reason for the denial.
        reason: String,
    },
    /// The children get these tasks instead, if the rules of the sub-agent and the gate allow them. The tasks are
    /// stored before a child is begun. The model does not see them. A handoff takes exactly one task, its goal.
    Rewrite {
        /// The new tasks, one for each child.
        tasks: Vec<String>,
    },
}

/// The answer of a hook before a call. If several hooks answer, the strictest answer counts. From strictest to
/// mildest: `Fail`, `Deny`, `Hold`, `Answer`, `Allow`. `Rewrite` changes the arguments for the hooks that follow
/// and for the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeTool {
    /// The call continues to the gate.
    Allow,
    /// The call does not run. The model sees the reason, and the turn continues.
    Deny {
        /// The reason for the denial.
        reason: String,
    },
    /// A person must approve the call with exactly these arguments. If the gate requires at most one approval
    /// by anyone, an earlier approval for the rest of the session that covers the arguments is enough. If the
    /// request expires, the call is refused, whatever the terms of the gate say.
    Hold {
        /// The text that the person sees.
        prompt: Option<String>,
    },
    /// The call runs with these arguments instead, if they are JSON that fits the schema and the gate allows
    /// them. They are stored before the call is sent. The model does not see them. When the hook is called
    /// about its own arguments, it must not change them, because an approval applies to the exact bytes that
    /// were shown.
    Rewrite {
        /// The exact new arguments.
        arguments: String,
    },
    /// The call does not run, and this is its result, if the gate allows the call. If people must approve the
    /// call first, the hook is called again after their approval, and the later answer counts.
    Answer(ToolOutput),
    /// The call does not run, and the turn ends with an error.
    Fail {
        /// The reason for the failure.
        reason: String,
    },
}

/// The answer of a hook after a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterTool {
    /// The result is kept.
    Keep,
    /// The whole result is replaced, including its [changes](crate::words::custom) to the custom state. A
    /// call that failed or is in doubt keeps its status: only its text changes.
    Rewrite(ToolOutput),
    /// The result is withheld. The model sees that the call failed, with this reason. A call that is in doubt
    /// stays in doubt.
    Reject {
        /// The reason for withholding the result.
        reason: String,
    },
}

/// The answer of a hook after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterStep {
    /// The turn continues, unless something else ends it.
    GoOn,
    /// The turn ends here, as with a stop condition (`tool_stop`).
    Stop {
        /// The reason, shown to followers of the session.
        why: String,
    },
    /// The turn continues even if the model had finished. Before the model is asked again, it sees this text as a
    /// message from the engine. Has no effect if another hook or anything else ends the turn, or if
    /// [`Limits::corrections_max`](crate::words::agent::Limits::corrections_max) is reached.
    Correct {
        /// The text that the model sees.
        text: String,
    },
    /// The turn ends here because a budget is used up (`budget_exceeded`).
    OverBudget {
        /// The reason, shown to followers of the session.
        why: String,
    },
}

/// A hook that ends the turn on a condition of the embedding program. The condition is a function of the
/// finished step, and it returns the reason to end the turn.
pub struct StopIf<F> {
    name: String,
    condition: F,
}

impl<F: Fn(&StepEnded) -> Option<String> + Send + Sync + 'static> StopIf<F> {
    /// Creates a hook called `name` that ends the turn when `condition` returns a reason.
    pub fn new(name: impl Into<String>, condition: F) -> Self {
        Self { name: name.into(), condition }
    }
}

#[async_trait]
impl<F: Fn(&StepEnded) -> Option<String> + Send + Sync + 'static> Hook for StopIf<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::AfterStep]
    }

    async fn after_step(&self, step: &StepEnded) -> Result<AfterStep, HookError> {
        Ok((self.condition)(step).map_or(AfterStep::GoOn, |why| AfterStep::Stop { why }))
    }
}
