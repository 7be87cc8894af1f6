//! Hooks: code of the embedding program that is called at points of a turn.
//!
//! A gate only decides if a call may run. A hook may also change requests, arguments and results, and it
//! observes the turn. Hooks are called one after another, ordered by [`priority`](Hook::priority) and then by
//! name. Each call has a time limit, and a panic counts as a failure. The consequence of a failure is set for
//! each point ([`OnFailure`]).
//!
//! **At least once.** A hook's answer takes effect with the commit that contains it. If a run dies before that
//! commit, the next run calls the hook again, with the same data or with a new answer of the model. A hook with
//! effects of its own must therefore tolerate repeated calls. Once the effect of an answer is durable, a later run
//! does not call the hook for it again. This holds for arguments that the hook rewrote, a result that it changed,
//! and a turn that it ended. A call that people approve is checked again, so its hooks are called again then.

mod outside;
mod told;
mod verdicts;

use std::time::Duration;

pub use crate::words::agent::{HookPoint, OnFailure};
use async_trait::async_trait;
pub(crate) use outside::{Answer, request};
pub use outside::{
    Carrier, HOOK_NAME_BYTES_MAX, HookSettings, InvalidHook, OUTSIDE_ANSWER_BYTES_MAX, OUTSIDE_VERSION,
    OutsideHook,
};
pub use told::{ModelAsked, Moved, MovesMissed, StepEnded, SubAgentAsked, ToolEnded, TurnBegins, TurnEnds};
pub use verdicts::{AfterStep, AfterTool, BeforeModel, BeforeSubAgent, BeforeTool, HookError, StopIf};

use crate::words::gate::GateQuestion;
use crate::words::ids::ToolName;
use crate::words::model::{ModelAnswer, ModelRequest};

/// The time limit of a hook that does not set its own.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(5);

/// Code of the embedding program that is called at points of a turn.
///
/// Only the methods for the points in [`points`](Self::points) are called. A call is cancelled by dropping
/// its future.
#[async_trait]
pub trait Hook: Send + Sync + 'static {
    /// Returns the name of the hook, which must be unique among the hooks of an agent. It affects the order,
    /// and it appears in errors and in the transcript.
    fn name(&self) -> &str;

    /// Returns the points at which the hook is called. The name, the points and all settings below are read once,
    /// when the agent is built.
    fn points(&self) -> &[HookPoint];

    /// Returns the priority. Hooks with smaller numbers are called first; hooks with equal numbers are
    /// ordered by name.
    fn priority(&self) -> i32 {
        0
    }

    /// Returns the time limit of one call of the hook. Exceeding it counts as a failure.
    fn timeout(&self) -> Duration {
        HOOK_TIMEOUT
    }

    /// Returns the consequence of a failure at this point.
    fn on_failure(&self, point: HookPoint) -> OnFailure {
        point.on_failure()
    }

    /// Returns true if the hook is called for calls of this tool.
    fn concerns(&self, _tool: &ToolName) -> bool {
        true
    }

    /// Called when a turn begins. The turn is durable, but no work has been done. Called again if the run
    /// dies before the turn is under way. A closed failure ends the turn with an error.
    async fn agent_start(&self, _turn: &TurnBegins) -> Result<(), HookError> {
        Ok(())
    }

    /// Called before each model request, for a step or for a summary. A changed request is used once and not
    /// stored: the next request starts from the original again. After a closed failure, no model is called.
    async fn before_model(
        &self,
        _asked: &ModelAsked,
        _request: &ModelRequest,
    ) -> Result<BeforeModel, HookError> {
        Ok(BeforeModel::Ask)
    }

    /// Called when the model has answered. The hook cannot change the answer. After a closed failure, the answer is
    /// discarded, and the turn ends with an error; if the answer was a summary, there is no summary. Not called for
    /// an answer during which the turn was stopped; if failures are closed, no part of such an answer is kept.
    async fn after_model(&self, _asked: &ModelAsked, _answer: &ModelAnswer) -> Result<(), HookError> {
        Ok(())
    }

    /// Called before the gate checks a call. The arguments fit the tool's schema. Not called for a call that
    /// returns the turn's value. A call that the hook lets through must still pass the gate with its current
    /// arguments, so a hook cannot allow what the gate forbids. Called again after a person's approval. A closed
    /// failure denies the call.
    async fn before_tool(&self, _call: &GateQuestion) -> Result<BeforeTool, HookError> {
        Ok(BeforeTool::Allow)
    }

    /// Called before a call begins children of a sub-agent or hands the session over to it, after
    /// [`before_tool`](Self::before_tool) and before the gate. For a handoff, the goal is the only task. Also
    /// called if another hook has supplied the call's result, unless the call has already been denied. Called again
    /// after a person's approval. A closed failure denies the call.
    async fn before_sub_agent(&self, _asked: &SubAgentAsked) -> Result<BeforeSubAgent, HookError> {
        Ok(BeforeSubAgent::Allow)
    }

    /// Called when a call has returned, before its result is stored or shown. Only the result that the hooks leave
    /// is kept, so a part that a hook removes reaches neither the store nor the model. Not called for calls that
    /// did not run here: refused calls, calls that a client or children answer, handoffs, and calls whose result a
    /// hook supplied. A closed failure withholds the result.
    async fn after_tool(&self, _call: &ToolEnded) -> Result<AfterTool, HookError> {
        Ok(AfterTool::Keep)
    }

    /// Called when a step is over. The hook may end the turn although the model would continue, or continue
    /// the turn with a correction although the model would end it. Not called before the first step of a
    /// turn: the user's message goes to the model unchanged. The results of the step are being stored in the
    /// meantime. A closed failure ends the turn with an error.
    async fn after_step(&self, _step: &StepEnded) -> Result<AfterStep, HookError> {
        Ok(AfterStep::GoOn)
    }

    /// Called when the machine makes a transition. Calls come in order and in parallel with the run, which
    /// does not wait for them. A hook that falls far behind misses some transitions, and
    /// [`transitions_missed`](Self::transitions_missed) is called at that place. The transitions are
    /// decided but not yet durable: if the run dies or must decide again, some of them may not appear in the
    /// history.
    async fn transition(&self, _moved: &Moved) -> Result<(), HookError> {
        Ok(())
    }

    /// Called in place of transitions that the hook is not told of: more than 1024 of them waited for it, or it was
    /// not told of all within 5 s after its run. Only called for hooks that are called at transitions. The history of
    /// the session has all transitions that became durable. A process that dies cannot call this.
    async fn transitions_missed(&self, _missed: &MovesMissed) -> Result<(), HookError> {
        Ok(())
    }

    /// Called when a turn ends. The outcome is durable: done, interrupted, aborted or failed. Called again if the
    /// run dies before the session rests. A failure changes nothing; a closed failure is recorded in the event log.
    async fn agent_end(&self, _turn: &TurnEnds) -> Result<(), HookError> {
        Ok(())
    }
}
