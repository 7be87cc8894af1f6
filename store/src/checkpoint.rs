//! Checkpoints: saved states of a session from which a fork can begin.

use super::PageRequest;
use crate::ids::{CheckpointId, Epoch, EventSeq, Incarnation, MessageSeq, SessionKey, StateFormat};
use crate::payload::{Digest, Payload};
use crate::time::Timestamp;

/// The state of a session after a commit, or of a fork at its creation. A checkpoint names the newest message and the
/// newest event by number and does not copy them. It never changes. It is removed with its session, or by
/// [`purge`](super::StateStore::purge).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The version of the session after the commit or fork that made this checkpoint.
    pub id: CheckpointId,
    /// The incarnation of the session that the checkpoint belongs to.
    pub incarnation: Incarnation,
    /// The number of the newest run when the checkpoint was made.
    pub epoch: Epoch,
    /// The place of the newest message when the checkpoint was made; 0 if there was none.
    pub last_message: MessageSeq,
    /// The place of the newest event when the checkpoint was made; 0 if there was none.
    pub last_event: EventSeq,
    /// The instant at which the checkpoint was made.
    pub at: Timestamp,
    /// The format of the state.
    pub format: StateFormat,
    /// The state when the checkpoint was made.
    pub state: Payload,
}

/// A query for checkpoints of a session, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointQuery {
    /// The session.
    pub key: SessionKey,
    /// The id of the only checkpoint to list. If none, all are listed.
    pub id: Option<CheckpointId>,
    /// The page to return.
    pub page: PageRequest,
}

impl CheckpointQuery {
    /// Returns a query for all checkpoints of `key`.
    pub fn all(key: SessionKey) -> Self {
        Self { key, id: None, page: PageRequest::default() }
    }

    /// Returns a query for the checkpoint `id` of `key`.
    pub fn one(key: SessionKey, id: CheckpointId) -> Self {
        Self { key, id: Some(id), page: PageRequest::default() }
    }

    /// Returns the digest of the query without its page. Cursors are valid only for queries with the same digest.
    pub fn digest(&self) -> Digest {
        let filter = serde_json::json!({ "list": "checkpoints", "key": self.key, "id": self.id });
        Digest::of(filter.to_string().as_bytes())
    }
}
