//! Functions that build the values for readers from a row and its data. They make no decisions.

use super::{Arrival, Claimed, SessionRow};
use crate::ids::{InboxSeq, RunId, WorkerId};
use crate::payload::Payload;
use crate::time::Timestamp;
use crate::{
    Claim, InboxItem, Labels, NewPending, PendingCall, RunRecord, Session, SessionSummary, Staged, StoredItem,
};

impl SessionRow {
    /// Returns true if `after` differs from this row at most in the lease, the alarm, `updated_at`, or the
    /// run to which the interrupt was handed.
    pub fn differs_only_in_its_lease(&self, after: &Self) -> bool {
        let same = Self {
            lease: after.lease.clone(),
            alarm: after.alarm,
            updated_at: after.updated_at,
            interrupt_handed_to: after.interrupt_handed_to,
            ..self.clone()
        };
        same == *after
    }

    /// Returns the session as [`load_session`](crate::StateStore::load_session) returns it.
    pub fn session(
        &self,
        labels: Labels,
        definition: Payload,
        state: Option<Payload>,
        staged: Staged,
    ) -> Session {
        Session {
            key: self.key.clone(),
            incarnation: self.incarnation,
            status: self.status,
            version: self.version,
            epoch: self.epoch,
            queue: self.queue.clone(),
            labels,
            definition,
            format: self.format,
            state,
            last_message: self.last_message,
            last_event: self.last_event,
            last_item: self.last_item,
            unread: self.unread,
            inbox_seen: self.inbox_seen,
            alarm: self.alarm,
            lease: self.lease.clone(),
            interrupt: self.interrupt.clone(),
            attempts: self.attempts,
            staged,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }

    /// Returns the session as [`list_sessions`](crate::StateStore::list_sessions) returns it.
    pub fn summary(&self, labels: Labels) -> SessionSummary {
        SessionSummary {
            key: self.key.clone(),
            incarnation: self.incarnation,
            status: self.status,
            version: self.version,
            epoch: self.epoch,
            queue: self.queue.clone(),
            labels,
            last_message: self.last_message,
            unread: self.unread,
            alarm: self.alarm,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }

    /// Returns the newest claim, or none if the session was never claimed. Takes the
    /// [`session`](Self::session), the open pending calls in the order in which they were opened, and the
    /// first page of the inbox.
    pub fn newest_claim(
        &self,
        session: Session,
        pending: Vec<PendingCall>,
        inbox: Vec<StoredItem>,
        now: Timestamp,
    ) -> Option<Claim> {
        Some(Claim {
            fence: self.fence(),
            run: self.last_claim.clone()?,
            found: self.found,
            session,
            pending,
            inbox,
            now,
            lease_ends: self.lease.as_ref().map_or(now, |lease| lease.ends),
        })
    }

    /// Returns the record of the run that begins with this claim.
    pub fn run_record(&self, run: RunId, worker: WorkerId, claimed: Claimed, now: Timestamp) -> RunRecord {
        RunRecord {
            epoch: self.epoch,
            run,
            worker,
            found: self.found,
            parent: claimed.parent,
            started_at: now,
            end: None,
        }
    }

    /// Returns the open pending call for `new`, which a commit opens.
    pub fn opened(&self, new: NewPending, now: Timestamp) -> PendingCall {
        PendingCall {
            key: self.key.clone(),
            incarnation: self.incarnation,
            id: new.id,
            call: new.call,
            kind: new.kind,
            needed: new.needed,
            answered: 0,
            last_answer: InboxSeq(0),
            deadline: new.deadline,
            body: new.body,
            opened_at: now,
        }
    }
}

impl Arrival {
    /// Returns the accepted item in the form in which it is stored.
    pub fn stored(&self, item: InboxItem, now: Timestamp) -> StoredItem {
        StoredItem { seq: self.seq, key: item.key, kind: item.kind, payload: item.payload, at: now }
    }
}
