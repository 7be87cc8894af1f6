//! The rules for forks.

use super::{SessionRow, Stream, Unseen};
use crate::ids::{CheckpointId, EventSeq, InboxSeq, MessageSeq, SessionKey, Version};
use crate::time::Timestamp;
use crate::{Checkpoint, ForkOutcome, NewFork};

impl SessionRow {
    /// Returns the row of a fork from the checkpoint `at`. Version, epoch, messages and events continue from
    /// the checkpoint, so the fork never reuses a number that the copied data contains.
    pub fn fork(at: &Checkpoint, new: &NewFork, now: Timestamp) -> Self {
        Self {
            key: new.key.clone(),
            incarnation: new.incarnation,
            created_by: new.operation.clone(),
            status: new.status,
            version: Version(at.id.0).next(),
            epoch: at.epoch,
            queue: new.queue.clone(),
            format: new.state.format,
            lease: None,
            last_claim: None,
            found: new.status,
            last_commit: None,
            run_open: false,
            alarm: None,
            attempts: 0,
            interrupt: None,
            interrupt_handed_to: None,
            last_interrupt: None,
            stream: Stream::default(),
            last_message: MessageSeq(at.last_message.0 + new.messages.len() as u64),
            last_event: EventSeq(at.last_event.0 + new.events.len() as u64),
            last_item: InboxSeq(0),
            unread: 0,
            inbox_seen: InboxSeq(0),
            unseen: Unseen::default(),
            wake_on: 0,
            created_at: now,
            updated_at: now,
        }
    }

    /// Decides a fork whose key already belongs to this session.
    pub fn forked_before(&self, new: &NewFork, at: CheckpointId) -> ForkOutcome {
        if self.created_by == new.operation {
            return ForkOutcome::Forked { version: Version(at.0.saturating_add(1)) };
        }
        ForkOutcome::AlreadyExists {
            incarnation: self.incarnation,
            status: self.status,
            version: self.version,
        }
    }

    /// Returns true if this session is `from`, in the incarnation that `new` names as its source.
    pub fn is_source(&self, from: &SessionKey, new: &NewFork) -> bool {
        self.key == *from && self.incarnation == new.source
    }

    /// Returns a checkpoint of the session as it is now, with this state.
    pub fn checkpoint(&self, state: crate::payload::Payload, now: Timestamp) -> Checkpoint {
        Checkpoint {
            id: CheckpointId(self.version.0),
            incarnation: self.incarnation,
            epoch: self.epoch,
            last_message: self.last_message,
            last_event: self.last_event,
            at: now,
            format: self.format,
            state,
        }
    }
}
