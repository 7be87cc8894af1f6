//! The promises of a store under its present settings.

use serde::{Deserialize, Serialize};

/// The worst fault that an acknowledged commit survives. The variants are in ascending order: each includes
/// the faults of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitSurvives {
    /// No fault: the commit exists only in this process.
    Nothing,
    /// The death of any process at any instruction: the process that wrote the commit, or the server that
    /// keeps it.
    ProcessKill,
    /// The sudden loss of power of the machine that keeps the data.
    PowerCut,
    /// The loss of the server that acknowledged the commit.
    Failover,
}

/// The processes whose handles may share the same data at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedBy {
    /// Handles within one process.
    Process,
    /// Processes on one machine.
    Machine,
    /// Processes on many machines.
    Network,
}

/// The promises of this backend under its present settings. The engine refuses work that needs a stronger
/// promise, and the conformance suite checks each promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// The usual name of the backend and its version, such as `SQLite 3.51.3`.
    pub backend: String,
    /// The worst fault that an acknowledged commit survives.
    pub commit_survives: CommitSurvives,
    /// The processes that may share the data.
    pub shared_by: SharedBy,
    /// True if [`wait_for_change`](super::StateStore::wait_for_change) also returns early for changes by
    /// other processes. If false, callers must poll for these.
    pub change_hints_across_processes: bool,
    /// True if the store can fork sessions. If false, [`fork_session`](super::StateStore::fork_session) fails
    /// with [`Unsupported`](super::StoreErrorKind::Unsupported).
    pub forks: bool,
    /// True if the store can remove old data. If false, [`purge`](super::StateStore::purge) fails with
    /// [`Unsupported`](super::StoreErrorKind::Unsupported).
    pub retention: bool,
    /// The largest single payload, in bytes.
    pub payload_bytes_max: usize,
    /// The largest write, in bytes: the sum of all payloads that one call carries. The call may be a commit, a
    /// creation, a fork, a claim, a compare-and-set, a staging, a delivery, a batch of deltas or an interrupt request,
    /// whose reason counts as a payload. [`Limits`](super::rules::Limits) counts them.
    pub commit_bytes_max: usize,
    /// The settings of the backend on which these promises depend: the name and the reported value of each.
    pub settings: Vec<(String, String)>,
}
