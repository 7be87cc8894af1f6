//! The identity of this run: what its claim said, and what the runtime told it of the world.

use std::sync::Arc;

use crate::engine::RunKind;
use crate::store::SessionStatus;
use crate::time::Timestamp;
use crate::words::agent::{AgentSpec, Durability, HookPoint};
use crate::words::error::ErrorInfo;
use crate::words::ids::{CallId, Fence, MessageSeq, PendingId};
use crate::words::usage::Usage;

/// One run of a session.
#[derive(Debug)]
pub(crate) struct Run {
    /// The agent. None: the session is to be ended, and its agent is not known here.
    pub(crate) agent: Option<Arc<AgentSpec>>,
    pub(crate) fence: Fence,
    /// The status in which the claim found the session.
    pub(crate) found: SessionStatus,
    /// The purpose of the run.
    pub(crate) kind: RunKind,
    /// The newest instant that the run was told.
    pub(crate) now: Timestamp,
    /// The usage of the session before the run.
    pub(crate) usage_before: Usage,
    /// The newest message as the claim found it.
    pub(crate) claimed: MessageSeq,
    /// The calls whose start mark was staged at the claim.
    pub(crate) marks: Vec<CallId>,
    /// Whether the machine knows of the claim.
    pub(crate) begun: bool,
    /// Whether the run looks for the children of the session.
    pub(crate) look: Look,
    /// Whether the run ends the turn of another run, under the claim of that run.
    pub(crate) stands_in: bool,
    /// The reason why the turn can only be ended: its runs die, or the previous run could not go on.
    pub(crate) doom: Option<ErrorInfo>,
}

/// Whether a run looks for the children of its session, and for the sessions that took over from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is not time.
    NotDue,
    /// It looks as soon as there is nothing else to do.
    Due,
    /// It has looked.
    Done {
        /// The newest successor, if all successors rest.
        resting: Option<PendingId>,
    },
}

impl Run {
    /// Whether the tool with this name hands the session over.
    pub(crate) fn takes_over(&self, tool: &str) -> bool {
        self.agent.as_ref().and_then(|agent| agent.sub_agent(tool)).is_some_and(|rules| rules.takes_over)
    }

    /// Whether every commit is acknowledged before anything else begins.
    pub(crate) fn is_sync(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.durability == Durability::Sync)
    }

    /// Whether hooks are asked at this point.
    pub(crate) fn is_hooked(&self, point: HookPoint) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.is_hooked(point))
    }

    /// The instant until which the run waits for something that is told to stop now.
    pub(crate) fn grace_ends_at(&self) -> Timestamp {
        let grace = self.agent.as_ref().map_or(0, |agent| agent.limits.stop_grace_ms);
        self.now.after(std::time::Duration::from_millis(grace))
    }
}
