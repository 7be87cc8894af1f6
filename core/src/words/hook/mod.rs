//! Hooks: code of an embedding program that is asked at points of a turn.
//!
//! A gate decides whether a call may run. A hook may also change what is said and done, and is told of the
//! rest. Hooks are asked one after the other, by [`priority`](Hook::priority) and then by name. Each has a
//! time limit, and a panic counts as a failure. The meaning of a failure is declared for each point
//! ([`OnFailure`]).
//!
//! **At least once.** A hook's answer takes effect with the commit that carries it. If a run dies before that
//! commit, the next run asks the hook again, with the same bytes or with those that the model said in their
//! place. So a hook that has an effect of its own must tolerate being asked twice. Once an answer is durable,
//! the hook is not asked for it again: this holds for arguments that it rewrote, a result that it changed,
//! and a turn that it ended.

mod told;
mod words;

use std::time::Duration;

pub use crate::words::agent::{HookPoint, OnFailure};
use async_trait::async_trait;
pub use told::{ModelAsked, Moved, StepEnded, ToolEnded, TurnBegins, TurnEnds};
pub use words::{AfterStep, AfterTool, BeforeModel, BeforeTool, HookError, StopIf};

use crate::words::gate::GateQuestion;
use crate::words::ids::ToolName;
use crate::words::model::{ModelAnswer, ModelRequest};

/// How long a hook may take, unless it says otherwise.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(5);

/// Code of a program's own that is asked at points of a turn.
///
/// Only the methods of the points that it names are ever called. A call is given up by dropping its future.
#[async_trait]
pub trait Hook: Send + Sync + 'static {
    /// Its name, unique among the hooks of an agent: for order, for errors and for whoever reads the transcript.
    fn name(&self) -> &str;

    /// At which points it is asked. Looked at once, when its agent is built, as is all that follows.
    fn points(&self) -> &[HookPoint];

    /// Hooks with a smaller number are asked first; among equals the name decides.
    fn priority(&self) -> i32 {
        0
    }

    /// How long one call of it may take. Silence for longer is a failure.
    fn timeout(&self) -> Duration {
        HOOK_TIMEOUT
    }

    /// What its failure means at this point.
    fn on_failure(&self, point: HookPoint) -> OnFailure {
        point.on_failure()
    }

    /// Whether it is asked about the calls of this tool.
    fn concerns(&self, _tool: &ToolName) -> bool {
        true
    }

    /// A turn begins: it is durable, and nothing of it has been done. Asked again if the run dies before the turn is under
    /// way. A failure that is closed ends the turn on an error.
    async fn agent_start(&self, _turn: &TurnBegins) -> Result<(), HookError> {
        Ok(())
    }

    /// The model is about to be asked, for a step or for a summary. What it is told instead is told in this one request,
    /// and stored nowhere: each request passes the hook anew. A failure that is closed asks no model.
    async fn before_model(
        &self,
        _asked: &ModelAsked,
        _request: &ModelRequest,
    ) -> Result<BeforeModel, HookError> {
        Ok(BeforeModel::Ask)
    }

    /// The model answered. The answer stays as it is; with a failure that is closed it counts for nothing, and the turn
    /// ends on an error. Not asked about an answer in the middle of which the turn was stopped: where a failure is closed,
    /// nothing of that is kept.
    async fn after_model(&self, _asked: &ModelAsked, _answer: &ModelAnswer) -> Result<(), HookError> {
        Ok(())
    }

    /// A call is about to be put before the gate. Its arguments fit the tool's schema. What a hook lets through must still
    /// pass the gate, with the arguments as they are then; so a hook cannot lift what the gate forbids. After a person's
    /// approval it is asked again. A failure that is closed denies the call.
    async fn before_tool(&self, _call: &GateQuestion) -> Result<BeforeTool, HookError> {
        Ok(BeforeTool::Allow)
    }

    /// A call came back; nobody has seen what it brought. What is kept is what the hooks leave of it, so what one of them
    /// withholds reaches neither the store nor the model. Not asked about calls that did not run here: refused ones, those
    /// of a client, those that a hook answered. A failure that is closed withholds the result.
    async fn after_tool(&self, _call: &ToolEnded) -> Result<AfterTool, HookError> {
        Ok(AfterTool::Keep)
    }

    /// A step is over: the turn may end here, although the model would go on, or go on with a correction, although the
    /// model would end. Not asked before the first step of a turn: what a user says goes to the model as it is. What the
    /// step brought is on its way to the
    /// store meanwhile. A failure that is closed ends the turn on an error.
    async fn after_step(&self, _step: &StepEnded) -> Result<AfterStep, HookError> {
        Ok(AfterStep::GoOn)
    }

    /// The machine moved. Told in order, beside the run, which waits for nobody: a hook that falls far behind misses
    /// some. What is told is what was decided, not yet what is durable: a run that dies, or that has to decide again,
    /// may tell of something that is not in the history.
    async fn transition(&self, _moved: &Moved) -> Result<(), HookError> {
        Ok(())
    }

    /// A turn ends; its outcome is durable: done, interrupted or failed. Asked again if the run dies before the session
    /// rests. A failure changes nothing; one that is closed is in the event log.
    async fn agent_end(&self, _turn: &TurnEnds) -> Result<(), HookError> {
        Ok(())
    }
}
