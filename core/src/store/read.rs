//! What is read back: messages, events, runs, lists.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{DeltaPage, EventCursor, OutcomeKind, PageCursor, PendingKind, SessionStatus};
use crate::ids::{Epoch, EventSeq, MessageSeq, QueueLabel, RunId, SessionId, SessionKey, TenantId, WorkerId};
use crate::payload::{Digest, Payload};
use crate::time::Timestamp;

/// The most rows of one page; a larger limit is read as this.
pub const PAGE_ROWS_MAX: u32 = 200;

/// The rows of a page when the caller names no number.
pub const PAGE_ROWS_DEFAULT: u32 = 50;

/// The most bytes of payload in one page of any read or list. Only a row that is larger by itself goes
/// beyond: it is the whole page then, since a page has at least one row if there is one to show.
pub const PAGE_BYTES_MAX: usize = 8 << 20;

/// Messages `from ..= to`. Empty when `to` lies before `from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MessageRange {
    /// The first.
    pub from: MessageSeq,
    /// The last.
    pub to: MessageSeq,
}

impl MessageRange {
    /// Messages `from ..= to`.
    pub fn new(from: MessageSeq, to: MessageSeq) -> Self {
        Self { from, to }
    }

    /// Whether `seq` lies in it.
    pub fn contains(&self, seq: MessageSeq) -> bool {
        self.from <= seq && seq <= self.to
    }
}

/// A message as it was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    /// Its place.
    pub seq: MessageSeq,
    /// When it was appended.
    pub at: Timestamp,
    /// Its bytes.
    pub payload: Payload,
}

/// The answer to [`read_messages`](super::StateStore::read_messages). It may be short and still go on; a
/// walk to the end is complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessagePage {
    /// The messages, in the order of the ranges.
    pub messages: Vec<StoredMessage>,
    /// The ranges that are still to be read, to be handed back as they are: what is left of the one in
    /// which the page ended, then those after it. Empty at the end.
    pub rest: Vec<MessageRange>,
}

/// An event as it was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its place.
    pub seq: EventSeq,
    /// When it was appended.
    pub at: Timestamp,
    /// Its bytes.
    pub payload: Payload,
}

/// The answer to [`read_events`](super::StateStore::read_events).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventPage {
    /// What comes after the cursor, oldest first, without gap or repeat. It may be short and still have
    /// more: `more` decides, not the number of rows.
    Events {
        /// The events.
        events: Vec<StoredEvent>,
        /// The stream that runs, at the end of the log. None: no stream runs, or the log goes on beyond
        /// this page.
        stream: Option<DeltaPage>,
        /// Where to go on; the given place when there was nothing.
        next: EventCursor,
        /// Whether there was more beyond this page already when it was read. Then the page shows at least
        /// one row.
        more: bool,
    },
    /// The cursor belongs to a life of the session that was deleted.
    Gone,
    /// There is no such session.
    NotFound,
}

/// What a run was started by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// Its number in the session.
    pub epoch: Epoch,
    /// The caller's id, verbatim.
    pub run: RunId,
    /// Who ran it.
    pub worker: WorkerId,
    /// The status it found. [`SessionStatus::Active`] means a recovery.
    pub found: SessionStatus,
    /// The run before it, unless it found the session idle: new, or its turn ended well.
    pub parent: Option<Epoch>,
    /// When it began.
    pub started_at: Timestamp,
    /// How and when it ended; none while it is open.
    pub end: Option<RunEnded>,
}

/// How and when a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnded {
    /// When.
    pub at: Timestamp,
    /// How. [`OutcomeKind::Lost`] is written by the claim that found it open.
    pub outcome: OutcomeKind,
    /// What it used and why it ended; none for a lost run.
    pub detail: Option<Payload>,
}

/// Which page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// Where the page before ended; from the start if none.
    pub after: Option<PageCursor>,
    /// No more than this many rows; [`PAGE_ROWS_DEFAULT`] if none, [`PAGE_ROWS_MAX`] at most.
    pub limit: Option<NonZeroU32>,
}

impl PageRequest {
    /// The first page of `limit` rows.
    pub fn first(limit: NonZeroU32) -> Self {
        Self { after: None, limit: Some(limit) }
    }

    /// How many rows are asked for, after bounds.
    pub fn rows(&self) -> u32 {
        self.limit.map_or(PAGE_ROWS_DEFAULT, NonZeroU32::get).min(PAGE_ROWS_MAX)
    }
}

/// A page of a list. It may be short, even empty, and still have a cursor: `next` decides, not the number
/// of rows. A walk to the end is complete. No page holds more payload than [`PAGE_BYTES_MAX`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// Where to go on; none at the end.
    pub next: Option<PageCursor>,
}

/// Which sessions, newest first, ties by id descending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionQuery {
    /// Of this tenant.
    pub tenant: TenantId,
    /// With one of these statuses; any if empty.
    pub status: Vec<SessionStatus>,
    /// In this queue.
    pub queue: Option<QueueLabel>,
    /// With all of these labels.
    pub labels: super::Labels,
    /// Which page.
    pub page: PageRequest,
}

impl SessionQuery {
    /// All sessions of `tenant`.
    pub fn all(tenant: TenantId) -> Self {
        Self {
            tenant,
            status: Vec::new(),
            queue: None,
            labels: super::Labels::default(),
            page: PageRequest::default(),
        }
    }

    /// The digest of everything but the page, to which its cursors are bound.
    pub fn digest(&self) -> Digest {
        let filter = serde_json::json!({
            "list": "sessions", "tenant": self.tenant, "status": self.status,
            "queue": self.queue, "labels": self.labels,
        });
        Digest::of(filter.to_string().as_bytes())
    }
}

/// Which open pending calls, soonest deadline first (none last), ties by session id and pending id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingQuery {
    /// Of this tenant.
    pub tenant: TenantId,
    /// Of this session.
    pub session: Option<SessionId>,
    /// Owed by this kind.
    pub kind: Option<PendingKind>,
    /// Which page.
    pub page: PageRequest,
}

impl PendingQuery {
    /// All pending calls of `tenant`.
    pub fn all(tenant: TenantId) -> Self {
        Self { tenant, session: None, kind: None, page: PageRequest::default() }
    }

    /// The digest of everything but the page, to which its cursors are bound.
    pub fn digest(&self) -> Digest {
        let filter = serde_json::json!({
            "list": "pending", "tenant": self.tenant, "session": self.session, "kind": self.kind,
        });
        Digest::of(filter.to_string().as_bytes())
    }
}

/// The digest to which the cursors of [`list_runs`](super::StateStore::list_runs) of `key` are bound.
pub fn runs_digest(key: &SessionKey) -> Digest {
    Digest::of(serde_json::json!({ "list": "runs", "key": key }).to_string().as_bytes())
}

/// What a waiter waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watch {
    /// Any change of this session.
    Session(SessionKey),
    /// Any session may have become due.
    Due,
}
