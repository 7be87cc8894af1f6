//! The wire to agents and callers in other programs. The runtime decides when something is sent, and the wire sends
//! it.

use std::fmt;

use async_trait::async_trait;
use holdover_core::children::Parent;
use holdover_core::ids::SessionId;
use holdover_core::remote::{Remote, RemoteTask, TaskOutcome, TaskStanding};

/// The wire to agents elsewhere, and to programs elsewhere that gave tasks to agents here. Every request may be
/// repeated, and a repeat changes nothing. The runtime limits the time of each request, and retries a request if
/// its error allows that.
#[async_trait]
pub trait Elsewhere: Send + Sync + 'static {
    /// Returns the address to which `remote` sends the outcome of a task, so that it reaches `parent`. `None` means
    /// that outcomes cannot be received here, so the parent asks for them.
    fn address(&self, remote: &Remote, parent: &Parent) -> Option<String>;

    /// Gives a task to an agent elsewhere, and returns the state of the task. If the agent already has the task, nothing
    /// changes.
    async fn begin(&self, remote: &Remote, task: &RemoteTask) -> Result<TaskStanding, ElsewhereError>;

    /// Returns the state of a task, or `None` if the agent does not know the task.
    async fn look(&self, remote: &Remote, task: &SessionId) -> Result<Option<TaskStanding>, ElsewhereError>;

    /// Stops a task for ever. A task that arrives after its stop must not begin.
    async fn stop(&self, remote: &Remote, task: &SessionId) -> Result<(), ElsewhereError>;

    /// Sends the outcome of a task that an agent here has done. The address came with the task.
    async fn tell(&self, url: &str, task: &SessionId, outcome: &TaskOutcome) -> Result<(), ElsewhereError>;
}

/// The reason why a request to another program failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElsewhereError {
    /// True if the same request may succeed later.
    pub again: bool,
    /// The reason, in one line.
    pub detail: String,
}

impl ElsewhereError {
    /// Creates the error of a request that would fail every time.
    pub fn never(detail: impl Into<String>) -> Self {
        Self { again: false, detail: detail.into() }
    }

    /// Creates the error of a request that may succeed later.
    pub fn later(detail: impl Into<String>) -> Self {
        Self { again: true, detail: detail.into() }
    }
}

impl fmt::Display for ElsewhereError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for ElsewhereError {}
