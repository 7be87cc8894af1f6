//! Types for reads of a store: messages, events, runs and lists, with their queries.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{DeltaPage, EventCursor, OutcomeKind, PageCursor, PendingKind, SessionStatus};
use crate::ids::{
    Epoch, EventSeq, Incarnation, MessageSeq, QueueLabel, RunId, SessionId, SessionKey, TenantId, WorkerId,
};
use crate::payload::{Digest, Payload};
use crate::time::Timestamp;

/// The most rows of one page. A larger limit is reduced to this number.
pub const PAGE_ROWS_MAX: u32 = 200;

/// The limit of rows that applies if the caller gives none.
pub const PAGE_ROWS_DEFAULT: u32 = 50;

/// The most bytes of payload in one page of any read or list. Only a page with a single row may be larger,
/// because a page has at least one row if there is one to show.
pub const PAGE_BYTES_MAX: usize = 8 << 20;

/// A range of messages, `from ..= to`. It is empty if `to` is before `from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MessageRange {
    /// The first message.
    pub from: MessageSeq,
    /// The last message.
    pub to: MessageSeq,
}

impl MessageRange {
    /// Returns the range `from ..= to`.
    pub fn new(from: MessageSeq, to: MessageSeq) -> Self {
        Self { from, to }
    }

    /// Returns true if `seq` lies in the range.
    pub fn contains(&self, seq: MessageSeq) -> bool {
        self.from <= seq && seq <= self.to
    }
}

/// A stored message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    /// The place of the message in its session.
    pub seq: MessageSeq,
    /// The instant of the commit or fork that appended it.
    pub at: Timestamp,
    /// The bytes of the message.
    pub payload: Payload,
}

/// The answer to [`read_messages`](super::StateStore::read_messages). A page may end early although there are
/// more messages. A walk to the end is complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessagePage {
    /// The messages, in the order of the ranges.
    pub messages: Vec<StoredMessage>,
    /// The ranges to read next: the rest of the range in which the page ended, then the ranges after it. Pass
    /// them back unchanged. There are none at the end.
    pub rest: Vec<MessageRange>,
}

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// The place of the event in its session.
    pub seq: EventSeq,
    /// The instant of the commit or fork that appended it.
    pub at: Timestamp,
    /// The bytes of the event.
    pub payload: Payload,
}

/// The answer to [`read_events`](super::StateStore::read_events).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventPage {
    /// The events after the cursor, oldest first, without gap or repeat. A page may end early although there
    /// are more rows, so check `more`, not the number of rows.
    Events {
        /// The events.
        events: Vec<StoredEvent>,
        /// The deltas of the stream that runs, after the end of the log. None if no stream runs, or if the
        /// log continues beyond this page.
        stream: Option<DeltaPage>,
        /// The cursor to continue from. If the page is empty, it may be the given cursor.
        next: EventCursor,
        /// True if there were more rows after this page when it was read. Such a page has at least one row.
        more: bool,
    },
    /// The cursor belongs to an incarnation of the session that was deleted.
    Gone,
    /// There is no such session.
    NotFound,
}

/// The record of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// The number of the run in the session.
    pub epoch: Epoch,
    /// The caller's id of the run.
    pub run: RunId,
    /// The worker of the run.
    pub worker: WorkerId,
    /// The status that the run found. [`SessionStatus::Active`] means a takeover.
    pub found: SessionStatus,
    /// The run that this run continues. None if the run found the session idle, or if the session had no run
    /// before.
    pub parent: Option<Epoch>,
    /// The instant at which the run began.
    pub started_at: Timestamp,
    /// The end of the run; none while the run is open.
    pub end: Option<RunEnded>,
}

/// The end of a run, as its record keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnded {
    /// The instant at which the run ended.
    pub at: Timestamp,
    /// The kind of the end. [`OutcomeKind::Lost`] is written by the next claim if it finds the run open.
    pub outcome: OutcomeKind,
    /// The run's usage and the reason for its end; none for a lost run.
    pub detail: Option<Payload>,
}

/// A request for one page of a list.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageRequest {
    /// The cursor that the previous page returned. If none, the first page is returned.
    pub after: Option<PageCursor>,
    /// The most rows of the page: 50 ([`PAGE_ROWS_DEFAULT`]) if none, and never more than 200 ([`PAGE_ROWS_MAX`]).
    pub limit: Option<NonZeroU32>,
}

impl PageRequest {
    /// Returns a request for the first page, with at most `limit` rows.
    pub fn first(limit: NonZeroU32) -> Self {
        Self { after: None, limit: Some(limit) }
    }

    /// Returns the limit of rows, with the default and the maximum applied.
    pub fn rows(&self) -> u32 {
        self.limit.map_or(PAGE_ROWS_DEFAULT, NonZeroU32::get).min(PAGE_ROWS_MAX)
    }
}

/// A page of a list. It may have few rows or none and still have a cursor, so check `next`, not the number of rows. A
/// walk to the end is complete. No page holds more payload than [`PAGE_BYTES_MAX`], except one with a single larger
/// row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// The cursor of the next page; none at the end.
    pub next: Option<PageCursor>,
}

/// The instants from `since`, inclusive, to `before`, exclusive. The range is half-open, so adjacent ranges
/// share no instant. Both bounds are optional. The range is empty if `before` is not after `since`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimeRange {
    /// The first instant; no lower bound if none.
    pub since: Option<Timestamp>,
    /// The first instant after the range; no upper bound if none.
    pub before: Option<Timestamp>,
}

impl TimeRange {
    /// The range of all instants.
    pub const ALWAYS: Self = Self { since: None, before: None };

    /// Returns the range from this instant on. Accepts a [`Timestamp`] or a `chrono::DateTime<Utc>`.
    pub fn since(at: impl Into<Timestamp>) -> Self {
        Self { since: Some(at.into()), before: None }
    }

    /// Returns the range before this instant. Accepts a [`Timestamp`] or a `chrono::DateTime<Utc>`.
    pub fn before(at: impl Into<Timestamp>) -> Self {
        Self { since: None, before: Some(at.into()) }
    }

    /// Returns true if `at` lies in the range.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= at) && self.before.is_none_or(|before| at < before)
    }
}

/// A query for sessions. They are listed newest first, and by descending id if created at the same instant.
/// To filter by agent, user, tags, metadata or the source of a fork, use [`labels`](Self::labels).
///
/// A session must pass all filters. A store walks over the sessions of the tenant, or only over those that have all of
/// the labels, from the newest to the oldest. `created` may limit that walk. The store checks the other filters on each
/// session of the walk. A store may bound how many sessions it looks at for one page; the page may then have fewer rows
/// and still have a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionQuery {
    /// The tenant.
    pub tenant: TenantId,
    /// The incarnation of the only session to list. A store finds it with an index, unless an older version
    /// of the store wrote the session without that index.
    pub life: Option<Incarnation>,
    /// The statuses of the sessions to list; any status if empty.
    pub status: Vec<SessionStatus>,
    /// The queue of the sessions to list; any queue if none.
    pub queue: Option<QueueLabel>,
    /// The labels that every listed session must have. A store finds such sessions with an index, unless an
    /// older version of the store wrote them without that index.
    pub labels: super::Labels,
    /// The time in which the sessions were created, by [`created_at`](super::SessionSummary::created_at),
    /// which never changes.
    pub created: TimeRange,
    /// The time in which the sessions last changed, by [`updated_at`](super::SessionSummary::updated_at). If
    /// a session changes during a walk, its `updated_at` when the walk reaches it decides.
    pub changed: TimeRange,
    /// The page to return.
    pub page: PageRequest,
}

impl SessionQuery {
    /// Returns a query for all sessions of `tenant`.
    pub fn all(tenant: TenantId) -> Self {
        Self {
            tenant,
            life: None,
            status: Vec::new(),
            queue: None,
            labels: super::Labels::default(),
            created: TimeRange::ALWAYS,
            changed: TimeRange::ALWAYS,
            page: PageRequest::default(),
        }
    }

    /// Returns the digest of the query without its page. Cursors are valid only for queries with the same digest.
    pub fn digest(&self) -> Digest {
        let mut filter = serde_json::json!({
            "list": "sessions", "tenant": self.tenant, "status": self.status,
            "queue": self.queue, "labels": self.labels,
        });
        // Later filters are left out when unset, so that older cursors still belong to queries without them.
        let times = [("created", self.created), ("changed", self.changed)];
        let times = times.into_iter().filter(|(_, range)| *range != TimeRange::ALWAYS);
        if let Some(filter) = filter.as_object_mut() {
            filter.extend(times.map(|(name, range)| (name.to_owned(), serde_json::json!(range))));
            filter.extend(self.life.map(|life| ("life".to_owned(), serde_json::json!(life))));
        }
        Digest::of(filter.to_string().as_bytes())
    }
}

/// A query for open pending calls, soonest deadline first. Calls without a deadline come last; ties are
/// ordered by session id and pending id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingQuery {
    /// The tenant.
    pub tenant: TenantId,
    /// The session of the calls to list; any session if none.
    pub session: Option<SessionId>,
    /// The kind of the calls to list; any kind if none.
    pub kind: Option<PendingKind>,
    /// The page to return.
    pub page: PageRequest,
}

impl PendingQuery {
    /// Returns a query for all pending calls of `tenant`.
    pub fn all(tenant: TenantId) -> Self {
        Self { tenant, session: None, kind: None, page: PageRequest::default() }
    }

    /// Returns the digest of the query without its page. Cursors are valid only for queries with the same digest.
    pub fn digest(&self) -> Digest {
        let filter = serde_json::json!({
            "list": "pending", "tenant": self.tenant, "session": self.session, "kind": self.kind,
        });
        Digest::of(filter.to_string().as_bytes())
    }
}

/// Returns the digest for the cursors of [`list_runs`](super::StateStore::list_runs) for `key`. Cursors are valid
/// only for lists with the same digest.
pub fn runs_digest(key: &SessionKey) -> Digest {
    Digest::of(serde_json::json!({ "list": "runs", "key": key }).to_string().as_bytes())
}

/// The changes that a caller waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watch {
    /// Any change of this session, except a longer lease and the handing of an interrupt to a run.
    Session(SessionKey),
    /// News for the run that holds this session: an inbox item, an interrupt, another owner or status, or the
    /// creation or removal of the session.
    News(SessionKey),
    /// Any session that may have become due.
    Due,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_its_begin_and_not_its_end() {
        let at = Timestamp::from_ms;
        let range = TimeRange { since: Some(at(2)), before: Some(at(4)) };
        let held: Vec<i64> = (0..6).filter(|ms| range.contains(at(*ms))).collect();
        assert_eq!(held, [2, 3]);
        assert!(TimeRange::ALWAYS.contains(at(i64::MIN)) && TimeRange::ALWAYS.contains(at(i64::MAX)));
        assert!(TimeRange::since(at(2)).contains(at(i64::MAX)) && !TimeRange::since(at(2)).contains(at(1)));
        assert!(TimeRange::before(at(2)).contains(at(i64::MIN)) && !TimeRange::before(at(2)).contains(at(2)));
        assert!(!TimeRange { since: Some(at(3)), before: Some(at(3)) }.contains(at(3)), "it is empty");
    }

    #[test]
    fn a_cursor_is_bound_to_each_bound_of_time_and_one_from_before_them_still_holds() {
        let all = SessionQuery::all("acme".parse().unwrap());
        let before = r#"{"labels":{},"list":"sessions","queue":null,"status":[],"tenant":"acme"}"#;
        assert_eq!(all.digest(), Digest::of(before.as_bytes()));
        let (at, later) = (Timestamp::from_ms(1), Timestamp::from_ms(2));
        let ranges = [TimeRange::since(at), TimeRange::before(at), TimeRange::since(later)];
        let created = ranges.map(|created| SessionQuery { created, ..all.clone() });
        let changed = ranges.map(|changed| SessionQuery { changed, ..all.clone() });
        let mut digests: Vec<Digest> =
            [&all].into_iter().chain(&created).chain(&changed).map(SessionQuery::digest).collect();
        digests.sort_by_key(|digest| digest.0);
        digests.dedup();
        assert_eq!(digests.len(), 7);
    }
}
