//! Forks: new sessions that begin from a checkpoint of another session.

use super::{Labels, NewState, SessionStatus, StoreError};
use crate::ids::{Incarnation, OperationId, QueueLabel, SessionKey, Version};
use crate::payload::Payload;

/// What a fork is made of, beside the prefix that the store copies: messages, events and checkpoints up to
/// the checkpoint, as they are. It has no inbox, alarm, pending calls, staged results or runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFork {
    /// The life of the source that the checkpoint was read in.
    pub source: Incarnation,
    /// Tenant and id of the fork. The tenant is that of the source.
    pub key: SessionKey,
    /// Drawn at random by the caller.
    pub incarnation: Incarnation,
    /// Recognises a repeat of this fork.
    pub operation: OperationId,
    /// Which workers may serve it.
    pub queue: QueueLabel,
    /// By what it is listed.
    pub labels: Labels,
    /// As of [`NewSession`](super::NewSession).
    pub definition: Payload,
    /// The status that it rests with: idle, interrupted or failed.
    pub status: SessionStatus,
    /// Its state. It is also its newest checkpoint.
    pub state: NewState,
    /// Appended after the copied messages: what closes the calls that were open.
    pub messages: Vec<Payload>,
    /// Appended after the copied events.
    pub events: Vec<Payload>,
}

impl NewFork {
    /// Refuses what has no meaning: a status that is no rest or is final, a fork for another tenant.
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

    /// Every payload with the name of its field.
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
    /// Made by this operation; a repeat answers the same.
    Forked {
        /// The version of the fork: one above its checkpoint.
        version: Version,
    },
    /// Another session has the fork's key; it was not touched.
    AlreadyExists {
        /// Which life of it.
        incarnation: Incarnation,
        /// Its status.
        status: SessionStatus,
        /// Its version.
        version: Version,
    },
    /// The session that this operation made, or that had this incarnation, was deleted: a
    /// [`Tombstone`](super::Tombstone) names it. Nothing was created, and nothing ever is under these
    /// names.
    Deleted,
    /// There is no such source, or it is another life of it. Nothing was created.
    NoSource,
    /// The source has no such checkpoint. Nothing was created.
    NoCheckpoint,
}
