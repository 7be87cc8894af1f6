//! Forks: new sessions that begin from a checkpoint of another session.

use super::{Labels, NewState, SessionStatus, StoreError};
use crate::ids::{Incarnation, OperationId, QueueLabel, SessionKey, Version};
use crate::payload::Payload;

/// A fork to create. The store copies the messages, events and checkpoints of the source, up to and including
/// the named checkpoint. A new fork has no inbox items, alarm, pending calls, staged results or runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFork {
    /// The incarnation of the source in which the checkpoint was read.
    pub source: Incarnation,
    /// Tenant and id of the fork. The tenant must be that of the source.
    pub key: SessionKey,
    /// The incarnation of the fork, which the caller draws at random or [derives](Incarnation::derived).
    pub incarnation: Incarnation,
    /// The operation id. The store uses it to recognise a repeat of this fork.
    pub operation: OperationId,
    /// The queue label. Workers use it to choose the sessions that they claim.
    pub queue: QueueLabel,
    /// The labels. Queries use them to find sessions.
    pub labels: Labels,
    /// The definition of the fork. See [`NewSession`](super::NewSession).
    pub definition: Payload,
    /// The status of the fork: idle, interrupted or failed.
    pub status: SessionStatus,
    /// The state of the fork. The store also keeps it as the newest checkpoint of the fork.
    pub state: NewState,
    /// Messages to append after the copied ones. They end the calls that are open at the checkpoint.
    pub messages: Vec<Payload>,
    /// Events to append after the copied ones.
    pub events: Vec<Payload>,
}

impl NewFork {
    /// Refuses a fork with a status other than idle, interrupted or failed, and a fork for another tenant
    /// than that of `from`.
    pub fn check(&self, from: &SessionKey) -> Result<(), StoreError> {
        const OPERATION: &str = "fork_session";
        if self.key.tenant != from.tenant {
            return Err(StoreError::invalid(OPERATION, "key: a fork belongs to the tenant of its source"));
        }
        match self.status {
            SessionStatus::Idle | SessionStatus::Interrupted | SessionStatus::Failed => Ok(()),
            SessionStatus::Active | SessionStatus::Suspended | SessionStatus::Aborted => {
                let detail = format!("status: a fork is not left {}", self.status);
                Err(StoreError::invalid(OPERATION, detail))
            }
        }
    }

    /// Returns every payload with the name of its field.
    pub fn payloads(&self) -> impl Iterator<Item = (&'static str, &Payload)> {
        let messages = self.messages.iter().map(|message| ("messages", message));
        let events = self.events.iter().map(|event| ("events", event));
        let single = [("definition", &self.definition), ("state", &self.state.payload)];
        messages.chain(events).chain(single)
    }
}

/// The answer to [`fork_session`](super::StateStore::fork_session).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForkOutcome {
    /// The fork was created by this operation. A repeat returns the same outcome.
    Forked {
        /// The version of the new fork: one more than the id of the source's checkpoint.
        version: Version,
    },
    /// Another session has the fork's key; it was not changed.
    AlreadyExists {
        /// The incarnation of that session.
        incarnation: Incarnation,
        /// The status of that session.
        status: SessionStatus,
        /// The version of that session.
        version: Version,
    },
    /// The session that this operation made, or that had this incarnation, was deleted: a
    /// [`Tombstone`](super::Tombstone) names it. Nothing was created. A repeat is refused as long as the
    /// tombstone exists.
    Deleted,
    /// The source does not exist, or has another incarnation. Nothing was created.
    NoSource,
    /// The source has no such checkpoint. Nothing was created.
    NoCheckpoint,
}
