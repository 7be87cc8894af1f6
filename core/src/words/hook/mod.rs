//! Hooks: code of an embedding program that is asked at points of a turn.
//!
//! A gate decides whether a call may run. A hook may also change what is said and done, and is told of the
//! rest. Hooks are asked one after the other, by [`priority`](Hook::priority) and then by name. Each has a
//! time limit, and a panic counts as a failure. The meaning of a failure is declared for each point
//! ([`OnFailure`]).
//!
//! **At least once.** A hook's answer takes effect with the commit that carries it. If a run dies before that
//! commit, the next run asks the hook again, with the same bytes, or with those of a new answer of the model.
//! So a hook that has an effect of its own must tolerate being asked twice. Once an answer is durable, the
//! hook is not asked for it again: this holds for arguments that it rewrote, a result that it changed, and a
//! turn that it ended.

mod told;
mod verdicts;

use std::time::Duration;

pub use crate::words::agent::{HookPoint, OnFailure};
use async_trait::async_trait;
pub use told::{ModelAsked, Moved, StepEnded, SubAgentAsked, ToolEnded, TurnBegins, TurnEnds};
pub use verdicts::{AfterStep, AfterTool, BeforeModel, BeforeSubAgent, BeforeTool, HookError, StopIf};

use crate::words::gate::GateQuestion;
use crate::words::ids::ToolName;
use crate::words::model::{ModelAnswer, ModelRequest};

/// The time limit of a hook that sets none.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(5);

/// Code of an embedding program that is asked at points of a turn.
///
/// Only the methods of the points that the hook names are ever called. A call is given up by dropping its
/// future.
#[async_trait]
pub trait Hook: Send + Sync + 'static {
    /// The name of the hook, unique among the hooks of an agent. It decides the order, and appears in errors
    /// and in the transcript.
    fn name(&self) -> &str;

    /// The points at which the hook is asked. Read once, when its agent is built, as are all settings below.
    fn points(&self) -> &[HookPoint];

    /// The priority: hooks with a smaller number are asked first, and among equals the name decides.
    fn priority(&self) -> i32 {
        0
    }

    /// How long one call of the hook may take. A longer silence is a failure.
    fn timeout(&self) -> Duration {
        HOOK_TIMEOUT
    }

    /// The consequence of a failure at this point.
    fn on_failure(&self, point: HookPoint) -> OnFailure {
        point.on_failure()
    }

    /// Whether the hook is asked about the calls of this tool.
    fn concerns(&self, _tool: &ToolName) -> bool {
        true
    }

    /// A turn begins. It is durable, and nothing of it has been done. The hook is asked again if the run dies
    /// before the turn is under way. A closed failure ends the turn with an error.
    async fn agent_start(&self, _turn: &TurnBegins) -> Result<(), HookError> {
        Ok(())
    }

    /// The model is about to be asked, for a step or for a summary. A changed request holds for this one
    /// request and is stored nowhere: each request passes the hook anew. After a closed failure no model is
    /// asked.
    async fn before_model(
        &self,
        _asked: &ModelAsked,
        _request: &ModelRequest,
    ) -> Result<BeforeModel, HookError> {
        Ok(BeforeModel::Ask)
    }

    /// The model answered. The hook cannot change the answer. After a closed failure the answer counts for
    /// nothing, and the turn ends with an error. The hook is not asked about an answer during which the turn
    /// was stopped; if failures are closed, nothing of such an answer is kept.
    async fn after_model(&self, _asked: &ModelAsked, _answer: &ModelAnswer) -> Result<(), HookError> {
        Ok(())
    }

    /// A call is about to be put before the gate. Its arguments fit the tool's schema. A call that the hook
    /// lets through must still pass the gate, with the arguments as they are then, so a hook cannot lift what
    /// the gate forbids. After a person's approval the hook is asked again. A closed failure denies the call.
    async fn before_tool(&self, _call: &GateQuestion) -> Result<BeforeTool, HookError> {
        Ok(BeforeTool::Allow)
    }

    /// A call is about to begin children of a sub-agent. It has passed [`before_tool`](Self::before_tool), and is yet
    /// to pass the gate. Also asked if another hook has answered the call, as long as the gate may still let it
    /// through. After a person's approval the hook is asked again. A closed failure denies the call.
    async fn before_sub_agent(&self, _asked: &SubAgentAsked) -> Result<BeforeSubAgent, HookError> {
        Ok(BeforeSubAgent::Allow)
    }

    /// A call came back, and nobody has seen its result yet. Only the result that the hooks leave is kept, so
    /// a part that a hook withholds reaches neither the store nor the model. The hook is not asked about
    /// calls that did not run here: refused calls, calls of a client, and calls that a hook answered. A
    /// closed failure withholds the result.
    async fn after_tool(&self, _call: &ToolEnded) -> Result<AfterTool, HookError> {
        Ok(AfterTool::Keep)
    }

    /// A step is over. The hook may end the turn although the model would go on, or let it go on with a
    /// correction although the model would end. It is not asked before the first step of a turn: a user's
    /// message goes to the model as it is. Meanwhile the results of the step are on their way to the store. A
    /// closed failure ends the turn with an error.
    async fn after_step(&self, _step: &StepEnded) -> Result<AfterStep, HookError> {
        Ok(AfterStep::GoOn)
    }

    /// The machine moved. Hooks are told in order, beside the run. The run does not wait for them: a hook
    /// that falls far behind misses some moves. The moves are decided, but not yet durable: a run that dies,
    /// or that has to decide again, may report moves that are not in the history.
    async fn transition(&self, _moved: &Moved) -> Result<(), HookError> {
        Ok(())
    }

    /// A turn ends, and its outcome is durable: done, interrupted or failed. The hook is asked again if the
    /// run dies before the session rests. A failure changes nothing; a closed failure is recorded in the
    /// event log.
    async fn agent_end(&self, _turn: &TurnEnds) -> Result<(), HookError> {
        Ok(())
    }
}
