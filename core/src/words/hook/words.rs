//! The answers of hooks.

use std::time::Duration;

use async_trait::async_trait;

use super::{Hook, HookPoint, StepEnded};
use crate::words::model::ModelRequest;
use crate::words::tool::ToolOutput;

/// A hook could not do what it is for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// Whether the model is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum BeforeModel {
    /// With this request.
    Ask,
    /// With this one instead.
    AskWith(Box<ModelRequest>),
    /// Later: the wait is durable. It is one of the few attempts at a step; after the last the turn ends on an error.
    Hold {
        /// How long from now.
        wait: Duration,
        /// Why.
        reason: String,
    },
    /// Not at all: the turn ends on an error. A summary is not made.
    Deny {
        /// Why.
        reason: String,
    },
}

/// What becomes of a call. Of what several hooks say the strictest counts: a failure of the turn, a denial, a person,
/// an answer, an allowance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeTool {
    /// It is put before the gate.
    Allow,
    /// It does not run; the model is told why, and the turn goes on.
    Deny {
        /// Why.
        reason: String,
    },
    /// A person must decide. Satisfied by an approval of the same bytes, and where the gate asks for no more than one of
    /// anyone, by one for the rest of the session that covers them. That nobody decided in time satisfies it never,
    /// whatever the terms of the gate say: the call is refused then.
    Hold {
        /// What the person is told.
        prompt: Option<String>,
    },
    /// It runs with these arguments instead, JSON that fits the schema, if the gate lets them through. They are stored
    /// before the call is sent; the model is not told of them. Asked about its own rewriting, a hook must leave it as it
    /// is: an approval binds the bytes that were shown.
    Rewrite {
        /// The arguments, exactly.
        arguments: String,
    },
    /// If the gate lets it through, this is its result, and it does not run. Where people must approve it first, the hook
    /// is asked again once they have, and its word of then counts.
    Answer(ToolOutput),
    /// It does not run, and the turn ends on an error.
    Fail {
        /// Why.
        reason: String,
    },
}

/// What becomes of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterTool {
    /// It stays.
    Keep,
    /// This stands in place of all that it brought, what it [changes](crate::words::custom) too. A call that failed, or
    /// is in doubt, stays so: only its words change.
    Rewrite(ToolOutput),
    /// It is withheld: the model is told that the call failed, with these words. A call that is in doubt stays so.
    Reject {
        /// Why.
        reason: String,
    },
}

/// Whether a turn goes on after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterStep {
    /// As far as this hook is concerned.
    GoOn,
    /// It ends here, as by a stop condition (`tool_stop`).
    Stop {
        /// Why, for whoever reads along.
        why: String,
    },
    /// It goes on, although the model may have said all it wanted: before it is asked again it is told this, as a word of
    /// the system. Not where another hook or anything else ends the turn, and not more often in a turn than
    /// [`Limits::corrections_max`](crate::words::agent::Limits::corrections_max) says.
    Correct {
        /// What the model is told.
        text: String,
    },
    /// It ends here, because a budget is spent (`budget_exceeded`).
    OverBudget {
        /// Why, for whoever reads along.
        why: String,
    },
}

/// A stop condition of a program's own: a function of the step that is over, which says why the turn ends here.
pub struct StopIf<F> {
    name: String,
    condition: F,
}

impl<F: Fn(&StepEnded) -> Option<String> + Send + Sync + 'static> StopIf<F> {
    /// A hook called `name` that ends the turn when `condition` says why.
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
