//! Checkpoints: places in a session's life from which a fork can begin.

use super::PageRequest;
use crate::ids::{CheckpointId, Epoch, EventSeq, Incarnation, MessageSeq, SessionKey, StateFormat};
use crate::payload::{Digest, Payload};
use crate::time::Timestamp;

/// The state of a session after one of its commits. It refers to the transcript by place and copies none
/// of it. Never changed; removed with its session, or by [`purge`](super::StateStore::purge).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The version that its commit made.
    pub id: CheckpointId,
    /// The life of the session that it belongs to.
    pub incarnation: Incarnation,
    /// The run that made it.
    pub epoch: Epoch,
    /// The newest message then.
    pub last_message: MessageSeq,
    /// The newest event then.
    pub last_event: EventSeq,
    /// When it was made.
    pub at: Timestamp,
    /// The format of the state.
    pub format: StateFormat,
    /// The state then.
    pub state: Payload,
}

/// Which checkpoints of a session, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointQuery {
    /// Of this session.
    pub key: SessionKey,
    /// Only this one.
    pub id: Option<CheckpointId>,
    /// Which page.
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

    /// The digest of everything but the page, to which its cursors are bound.
    pub fn digest(&self) -> Digest {
        let filter = serde_json::json!({ "list": "checkpoints", "key": self.key, "id": self.id });
        Digest::of(filter.to_string().as_bytes())
    }
}
