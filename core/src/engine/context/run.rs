//! The data of this run: its claim, and facts from the runtime.

use std::sync::Arc;

use crate::engine::RunKind;
use crate::store::SessionStatus;
use crate::time::Timestamp;
use crate::words::agent::{AgentSpec, Durability, HookPoint};
use crate::words::error::ErrorInfo;
use crate::words::ids::{CallId, Fence, MessageSeq, PendingId, StateFormat};
use crate::words::usage::Usage;

/// The data of the current run: its claim, and facts from the runtime.
#[derive(Debug)]
pub(crate) struct Run {
    /// The agent. `None`: the run only ends the session, and its agent is not known here.
    pub(crate) agent: Option<Arc<AgentSpec>>,
    pub(crate) fence: Fence,
    /// How the claim found the session.
    pub(crate) found: FoundAs,
    /// The purpose of the run.
    pub(crate) kind: RunKind,
    /// The newest instant that the runtime or the store has reported.
    pub(crate) now: Timestamp,
    /// The usage of the session before the run.
    pub(crate) usage_before: Usage,
    /// The newest message at the claim.
    pub(crate) claimed: MessageSeq,
    /// The calls whose start mark was staged at the claim.
    pub(crate) marks: Vec<CallId>,
    /// True if the machine has received the claim.
    pub(crate) begun: bool,
    /// The state of the look for the children of the session.
    pub(crate) look: Look,
    /// True if the run ends the turn of another run, under the claim of that run.
    pub(crate) stands_in: bool,
    /// The error with which the turn must end: its runs keep dying, or the previous run could not go on.
    pub(crate) doom: Option<Doom>,
}

/// How a claim found its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundAs {
    pub(crate) status: SessionStatus,
    /// True if the run takes the session over in the middle of its work: the previous run died, or the session was set
    /// aside while its turn was open. Calls may be out.
    pub(crate) midway: bool,
    /// True if the turn was parked when the session was set aside, so that no call is out.
    pub(crate) parked: bool,
    /// The format of the state bytes.
    pub(crate) format: StateFormat,
}

/// The failure of a turn that is decided at the start of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doom {
    pub(crate) error: ErrorInfo,
    /// The number of runs in a row that died. 0 if the turn fails for another reason.
    pub(crate) died: u32,
}

impl Doom {
    /// The doom of a turn whose run could not go on.
    pub(crate) fn of(error: ErrorInfo) -> Self {
        Self { error, died: 0 }
    }
}

/// The state of a run's look for the children of its session, and for the sessions that took over from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Look {
    /// The run does not look.
    NotDue,
    /// The run looks as soon as it has nothing else to do.
    Due,
    /// The run has looked.
    Done {
        /// The newest successor, if all successors rest.
        resting: Option<PendingId>,
    },
}

impl Run {
    /// Returns true if the tool with this name hands the session over.
    pub(crate) fn takes_over(&self, tool: &str) -> bool {
        self.agent.as_ref().and_then(|agent| agent.sub_agent(tool)).is_some_and(|rules| rules.takes_over)
    }

    /// Returns true if code plans the calls of the agent.
    pub(crate) fn is_planned(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.planned)
    }

    /// Returns true if every commit must be acknowledged before new work begins.
    pub(crate) fn is_sync(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.durability == Durability::Sync)
    }

    /// Returns true if hooks are asked at this point.
    pub(crate) fn is_hooked(&self, point: HookPoint) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.is_hooked(point))
    }

    /// Returns the instant until which the run waits for work that is told to stop now.
    pub(crate) fn grace_ends_at(&self) -> Timestamp {
        let grace = self.agent.as_ref().map_or(0, |agent| agent.limits.stop_grace_ms);
        self.now.after(std::time::Duration::from_millis(grace))
    }
}
