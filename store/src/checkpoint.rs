//! Checkpoints: saved states of a session from which a fork can begin.

use super::PageRequest;
use crate::ids::{CheckpointId, Epoch, EventSeq, Incarnation, MessageSeq, SessionKey, StateFormat};
use crate::payload::{Digest, Payload};
use crate::time::Timestamp;

/// The state of a session after one of its commits. It holds the number of the newest message and of the
/// newest event, not copies of them. It never changes. It is removed with its session, or by
/// [`purge`](super::StateStore::purge).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The version of the session after the commit that made this checkpoint.
    pub id: CheckpointId,
    /// The incarnation of the session that the checkpoint belongs to.
    pub incarnation: Incarnation,
    /// The run that made the checkpoint.
    pub epoch: Epoch,
    /// The newest message at that time.
    pub last_message: MessageSeq,
    /// The newest event at that time.
    pub last_event: EventSeq,
    /// When the checkpoint was made.
    pub at: Timestamp,
    /// The format of the state.
    pub format: StateFormat,
    /// The state at that time.
    pub state: Payload,
}

/// A query for checkpoints of a session, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointQuery {
    /// The session.
    pub key: SessionKey,
    /// Only this checkpoint, if set.
    pub id: Option<CheckpointId>,
    /// The page that is asked for.
    pub page: PageRequest,
}

impl CheckpointQuery {
    /// All checkpoints of `key`.
    pub fn all(key: SessionKey) -> Self {
        Self { key, id: None, page: PageRequest::default() }
    }

    /// The checkpoint `id` of `key`.
    pub fn one(key: SessionKey, id: CheckpointId) -> Self {
        Self { key, id: Some(id), page: PageRequest::default() }
    }

    /// The digest of everything but the page. The query's cursors are bound to it.
    pub fn digest(&self) -> Digest {
        let filter = serde_json::json!({ "list": "checkpoints", "key": self.key, "id": self.id });
        Digest::of(filter.to_string().as_bytes())
    }
}
