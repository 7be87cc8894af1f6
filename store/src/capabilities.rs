//! The promises of a store under its present settings.

use serde::{Deserialize, Serialize};

/// The worst fault that an acknowledged commit survives. The variants are ordered: each includes those before
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitSurvives {
    /// None: the commit exists only in this process.
    Nothing,
    /// The death of any process at any instruction: the process that wrote the commit, or the server that
    /// keeps it.
    ProcessKill,
    /// The death of the machine that wrote it.
    PowerCut,
    /// The loss of the server that acknowledged it.
    Failover,
}

/// Who may hold handles on the same data at the same time.
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

/// The promises of this backend under its present settings. They never promise more than the store does: the
/// engine refuses work that needs a stronger promise, and the conformance suite checks each claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// The usual name of the backend with its version: `SQLite 3.51.3`.
    pub backend: String,
    /// The worst fault that an acknowledged commit survives.
    pub commit_survives: CommitSurvives,
    /// Who may share the data.
    pub shared_by: SharedBy,
    /// Whether [`wait_for_change`](super::StateStore::wait_for_change) returns early across handles of
    /// other processes. Polling suffices everywhere.
    pub change_hints_across_processes: bool,
    /// Whether the store can fork. If not, [`fork_session`](super::StateStore::fork_session) answers
    /// [`Unsupported`](super::StoreErrorKind::Unsupported).
    pub forks: bool,
    /// Whether the store can remove by age. If not, [`purge`](super::StateStore::purge) answers
    /// [`Unsupported`](super::StoreErrorKind::Unsupported).
    pub retention: bool,
    /// The largest single payload, in bytes.
    pub payload_bytes_max: usize,
    /// The largest write, in bytes: the sum of all payloads that one call carries. The call may be a commit,
    /// a creation, a fork, a claim, a compare-and-set, a staging, a delivery or a batch of deltas.
    /// [`Limits`](super::rules::Limits) counts them.
    pub commit_bytes_max: usize,
    /// The backend's settings on which these promises depend, as it reports them, by name.
    pub settings: Vec<(String, String)>,
}
