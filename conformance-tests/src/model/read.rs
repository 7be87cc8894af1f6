//! Reads of the model. They return whole lists, because cases walk pages to their end.

use std::cmp::Reverse;

use holdover_store::ids::{SessionKey, TenantId};
use holdover_store::time::Timestamp;
use holdover_store::{
    Claim, DeltaPage, EventCursor, INBOX_PAGE, PendingCall, Session, SessionQuery, SessionSummary, Staged,
    StoredItem,
};

use super::{Life, Model};
use crate::snapshot::Snapshot;

impl Model {
    /// Returns everything that can be read of one session.
    pub(crate) fn snapshot(&self, key: &SessionKey) -> Snapshot {
        let Some(life) = self.lives.get(key) else { return Snapshot::default() };
        let stream = &life.row.stream;
        Snapshot {
            session: Some(life.session()),
            messages: life.messages.clone(),
            events: life.events.clone(),
            stream: stream.open.then(|| DeltaPage { stream: stream.id, deltas: life.deltas.clone() }),
            checkpoints: life.checkpoints.iter().rev().cloned().collect(),
            inbox: life.unread(),
            runs: life.runs.clone(),
            pending: by_deadline(life.open()),
        }
    }

    /// Returns the sessions that match the query, newest first.
    pub(crate) fn list_sessions(&self, query: &SessionQuery) -> Vec<SessionSummary> {
        let wanted = self.lives.values().filter(|life| life.row.listed(&life.labels, query));
        let mut all: Vec<SessionSummary> = wanted.map(Life::summary).collect();
        all.sort_by_key(|one| (Reverse(one.created_at), Reverse(one.key.id.clone())));
        all
    }

    /// Returns the open pending calls of a tenant, soonest deadline first.
    pub(crate) fn list_pending(&self, tenant: &TenantId) -> Vec<PendingCall> {
        let of_tenant = self.lives.values().filter(|life| life.row.key.tenant == *tenant);
        by_deadline(of_tenant.flat_map(Life::open).collect())
    }
}

fn by_deadline(mut calls: Vec<PendingCall>) -> Vec<PendingCall> {
    calls.sort_by_key(|call| (call.deadline.is_none(), call.deadline, call.key.id.clone(), call.id.clone()));
    calls
}

impl Life {
    pub(crate) fn unread(&self) -> Vec<StoredItem> {
        self.items.iter().filter(|item| item.unread).map(|item| item.stored.clone()).collect()
    }

    pub(crate) fn open(&self) -> Vec<PendingCall> {
        self.asked.iter().filter(|asked| asked.open).map(|asked| asked.call.clone()).collect()
    }

    /// Returns the cursor after the newest event of this life.
    pub(crate) fn cursor(&self) -> EventCursor {
        EventCursor::after(self.row.incarnation, self.row.last_event)
    }

    /// Returns the claim of the current run, with everything that a claim carries.
    pub(super) fn claim(&self, now: Timestamp) -> Claim {
        let run = self.row.last_claim.clone();
        let mut inbox = self.unread();
        inbox.truncate(INBOX_PAGE as usize);
        Claim {
            fence: self.row.fence(),
            run: run.unwrap_or_else(|| panic!("a claim was made before it is answered")),
            found: self.row.found,
            session: self.session(),
            pending: self.open(),
            inbox,
            now,
            lease_ends: self.row.lease.as_ref().map_or(now, |lease| lease.ends),
        }
    }

    fn session(&self) -> Session {
        let row = self.row.clone();
        let mut results = self.staged.clone();
        results.sort_by_key(|result| result.call.clone());
        Session {
            key: row.key,
            incarnation: row.incarnation,
            status: row.status,
            version: row.version,
            epoch: row.epoch,
            queue: row.queue,
            labels: self.labels.clone(),
            definition: self.definition.clone(),
            format: row.format,
            state: self.state.clone(),
            last_message: row.last_message,
            last_event: row.last_event,
            last_item: row.last_item,
            unread: row.unread,
            inbox_seen: row.inbox_seen,
            alarm: row.alarm,
            lease: row.lease,
            interrupt: row.interrupt,
            attempts: row.attempts,
            staged: Staged { results, starts: self.starts.iter().cloned().collect() },
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }

    fn summary(&self) -> SessionSummary {
        let row = self.row.clone();
        SessionSummary {
            key: row.key,
            incarnation: row.incarnation,
            status: row.status,
            version: row.version,
            epoch: row.epoch,
            queue: row.queue,
            labels: self.labels.clone(),
            last_message: row.last_message,
            unread: row.unread,
            alarm: row.alarm,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}
