//! What a store promises under its present settings.

use serde::{Deserialize, Serialize};

/// The worst fault that an acknowledged commit survives. Ordered: each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitSurvives {
    /// Nothing: the commit lives in this process only.
    Nothing,
    /// The death of any process, at any instruction: of the one that wrote it, and of the server that keeps it.
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

/// The promises of this backend under its present settings. It never promises more than it keeps: the engine
/// refuses work that the store cannot honour, and the conformance suite checks each claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// The backend with its version, as people name it: `SQLite 3.51.3`.
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
