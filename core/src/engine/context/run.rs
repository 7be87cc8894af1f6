//! The identity of this run: what its claim said, and what the runtime told it of the world.

use std::sync::Arc;

use crate::engine::RunKind;
use crate::store::SessionStatus;
use crate::time::Timestamp;
use crate::words::agent::{AgentSpec, Durability, HookPoint};
use crate::words::error::ErrorInfo;
use crate::words::ids::{CallId, Fence, MessageSeq};
use crate::words::usage::Usage;

/// One run of a session.
#[derive(Debug)]
pub(crate) struct Run {
    /// None: the session is to be ended, and its agent is not known here.
    pub(crate) agent: Option<Arc<AgentSpec>>,
    pub(crate) fence: Fence,
    /// The status in which the claim found the session.
    pub(crate) found: SessionStatus,
    /// What it was begun for.
    pub(crate) kind: RunKind,
    /// The newest instant that it was told.
    pub(crate) now: Timestamp,
    /// What the session had used before it.
    pub(crate) usage_before: Usage,
    /// The newest message as the claim found it.
    pub(crate) claimed: MessageSeq,
    /// Calls whose start mark was staged then.
    pub(crate) marks: Vec<CallId>,
    /// Whether the machine knows of the claim.
    pub(crate) begun: bool,
    /// Whether it ends the turn of another run, under the claim of that one.
    pub(crate) stands_in: bool,
    /// Why nothing else can be done with a turn but to end it: its runs die, or the one before could not go on.
    pub(crate) doom: Option<ErrorInfo>,
}

impl Run {
    /// Whether every commit is acknowledged before anything else begins.
    pub(crate) fn is_sync(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.durability == Durability::Sync)
    }

    /// Whether hooks are asked at this point.
    pub(crate) fn is_hooked(&self, point: HookPoint) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.is_hooked(point))
    }

    /// Until when what is told to stop now is waited for.
    pub(crate) fn grace_ends_at(&self) -> Timestamp {
        let grace = self.agent.as_ref().map_or(0, |agent| agent.limits.stop_grace_ms);
        self.now.after(std::time::Duration::from_millis(grace))
    }
}
