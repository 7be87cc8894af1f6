//! Every mutating operation as data, for cases that are generated over all of them.

use holdover_store::Capabilities;

/// A mutating operation of the trait. What one operation can do in several ways is here once for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Create,
    Delete,
    Claim,
    ClaimDue,
    CompareAndSet,
    Renew,
    Stage,
    Commit,
    /// A commit with the message of the stream that runs, kept as a checkpoint.
    Message,
    Release,
    AppendDeltas,
    TakeInterrupt,
    Deliver,
    Answer,
    Interrupt,
    Fork,
    /// Retention that removes sessions.
    Purge,
    /// Retention that removes checkpoints.
    Prune,
}

impl Op {
    pub(crate) const ALL: [Self; 18] = [
        Self::Create,
        Self::Delete,
        Self::Claim,
        Self::ClaimDue,
        Self::CompareAndSet,
        Self::Renew,
        Self::Stage,
        Self::Commit,
        Self::Message,
        Self::Release,
        Self::AppendDeltas,
        Self::TakeInterrupt,
        Self::Deliver,
        Self::Answer,
        Self::Interrupt,
        Self::Fork,
        Self::Purge,
        Self::Prune,
    ];

    /// The stage on which the operation has something to do.
    pub(crate) fn stage(self) -> Stage {
        match self {
            Self::Create => Stage::Empty,
            Self::Delete | Self::Claim | Self::CompareAndSet | Self::Purge | Self::Prune => Stage::Failed,
            Self::ClaimDue => Stage::Due,
            Self::Renew | Self::Stage | Self::Commit | Self::Message | Self::Release | Self::AppendDeltas => {
                Stage::Running
            }
            Self::TakeInterrupt | Self::Deliver | Self::Answer | Self::Interrupt | Self::Fork => {
                Stage::Running
            }
        }
    }

    /// Whether a store with these capabilities can do it.
    pub(crate) fn is_declared(self, capabilities: &Capabilities) -> bool {
        match self {
            Self::Fork => capabilities.forks,
            Self::Purge | Self::Prune => capabilities.retention,
            Self::Create
            | Self::Delete
            | Self::Claim
            | Self::ClaimDue
            | Self::CompareAndSet
            | Self::Renew
            | Self::Stage
            | Self::Commit
            | Self::Message
            | Self::Release
            | Self::AppendDeltas
            | Self::TakeInterrupt
            | Self::Deliver
            | Self::Answer
            | Self::Interrupt => true,
        }
    }
}

/// What is there before an operation. Always the same ids, so that two scenarios can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing.
    Empty,
    /// The session was left failed, with a call open, a result staged and two checkpoints.
    Failed,
    /// The same, and its alarm has rung.
    Due,
    /// A run holds it, and a model streams.
    Running,
}
