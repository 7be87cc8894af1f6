//! The answers of hooks.

use std::time::Duration;

use async_trait::async_trait;

use super::{Hook, HookPoint, StepEnded};
use crate::words::model::ModelRequest;
use crate::words::tool::ToolOutput;

/// The error of a hook that could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// The answer before the model is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum BeforeModel {
    /// The model is asked with this request.
    Ask,
    /// The model is asked with the given request instead.
    AskWith(Box<ModelRequest>),
    /// The model is asked later. The wait is durable. It counts as one of the few attempts at a step; after
    /// the last attempt the turn ends with an error.
    Hold {
        /// The wait from now.
        wait: Duration,
        /// The reason.
        reason: String,
    },
    /// The model is not asked, and the turn ends with an error. If the request was for a summary, the summary
    /// is not made.
    Deny {
        /// The reason.
        reason: String,
    },
}

/// The answer about children that are about to be begun. A denial by any hook counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeSubAgent {
    /// The call is put before the gate.
    Allow,
    /// No child is begun. The model is told why, and the turn goes on.
    Deny {
        /// The reason.
        reason: String,
    },
    /// These tasks are given instead, if the rules of the sub-agent and the gate let them through. They are stored
    /// before a child is begun; the model is not told of them.
    Rewrite {
        /// The tasks, one for each child.
        tasks: Vec<String>,
    },
}

/// The answer about a call. If several hooks answer, the strictest answer counts. From strictest to mildest:
/// a failure of the turn, a denial, a person's decision, an answer, an allowance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeTool {
    /// The call is put before the gate.
    Allow,
    /// The call does not run. The model is told why, and the turn goes on.
    Deny {
        /// The reason.
        reason: String,
    },
    /// A person must decide. Satisfied by an approval of the same bytes. If the gate asks for no more than
    /// one approval by anyone, also satisfied by an approval for the rest of the session that covers them. If
    /// nobody decides in time, the call is refused, whatever the terms of the gate say.
    Hold {
        /// The text that the person is told.
        prompt: Option<String>,
    },
    /// The call runs with these arguments instead, JSON that fits the schema, if the gate lets them through.
    /// They are stored before the call is sent; the model is not told of them. When a hook is asked about its
    /// own arguments it must leave them as they are, because an approval binds the bytes that were shown.
    Rewrite {
        /// The arguments, exactly.
        arguments: String,
    },
    /// If the gate lets the call through, this is its result, and it does not run. If people must approve the
    /// call first, the hook is asked again after their approval, and that later answer counts.
    Answer(ToolOutput),
    /// The call does not run, and the turn ends with an error.
    Fail {
        /// The reason.
        reason: String,
    },
}

/// The answer about a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterTool {
    /// The result stays.
    Keep,
    /// This replaces everything in the result, including its [changes](crate::words::custom) of the custom
    /// state. A call that failed or is in doubt keeps that status: only its text changes.
    Rewrite(ToolOutput),
    /// The result is withheld: the model is told that the call failed, with this reason. A call that is in
    /// doubt stays so.
    Reject {
        /// The reason.
        reason: String,
    },
}

/// The answer after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterStep {
    /// The turn goes on, as far as this hook is concerned.
    GoOn,
    /// The turn ends here, as by a stop condition (`tool_stop`).
    Stop {
        /// The reason, for followers of the session.
        why: String,
    },
    /// The turn goes on, although the model may have said all that it wanted. Before the model is asked again
    /// it is told this text, as a message of the system. This has no effect if another hook or anything else
    /// ends the turn, nor more often in a turn than
    /// [`Limits::corrections_max`](crate::words::agent::Limits::corrections_max) allows.
    Correct {
        /// The text for the model.
        text: String,
    },
    /// The turn ends here, because a budget is spent (`budget_exceeded`).
    OverBudget {
        /// The reason, for followers of the session.
        why: String,
    },
}

/// A stop condition of an embedding program: a function of the step that is over, which returns the reason
/// why the turn ends here.
pub struct StopIf<F> {
    name: String,
    condition: F,
}

impl<F: Fn(&StepEnded) -> Option<String> + Send + Sync + 'static> StopIf<F> {
    /// A hook called `name` that ends the turn when `condition` returns a reason.
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
