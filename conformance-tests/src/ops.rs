//! Every mutating operation as data, for cases that are generated over all of them.

use holdover_store::Capabilities;

/// A mutating operation of the trait. An operation that can do several things has one variant for each.
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
    /// A commit of the message of the running stream, with a state kept as a checkpoint.
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

    /// Returns the stage that the operation needs to have an effect.
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

    /// Returns true if a store with these capabilities supports the operation.
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

/// The state before an operation. The ids are always the same, so that two scenarios can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No session.
    Empty,
    /// A failed session with an open pending call, a staged result and two checkpoints.
    Failed,
    /// The same session, with an alarm that has rung.
    Due,
    /// A session that a run holds while a model streams.
    Running,
}
