//! Types that a store returns when it is read: messages, events, runs, lists.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{DeltaPage, EventCursor, OutcomeKind, PageCursor, PendingKind, SessionStatus};
use crate::ids::{
    Epoch, EventSeq, Incarnation, MessageSeq, QueueLabel, RunId, SessionId, SessionKey, TenantId, WorkerId,
};
use crate::payload::{Digest, Payload};
use crate::time::Timestamp;

/// The most rows of one page. A larger limit is lowered to it.
pub const PAGE_ROWS_MAX: u32 = 200;

/// The limit of rows if the caller gives none.
pub const PAGE_ROWS_DEFAULT: u32 = 50;

/// The most bytes of payload in one page of any read or list. Only a page of a single, larger row goes
/// beyond: a page has at least one row if there is one to show.
pub const PAGE_BYTES_MAX: usize = 8 << 20;

/// The messages `from ..= to`. Empty when `to` lies before `from`.
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
    /// The place of the message.
    pub seq: MessageSeq,
    /// When it was appended.
    pub at: Timestamp,
    /// The bytes of the message.
    pub payload: Payload,
}

/// The answer to [`read_messages`](super::StateStore::read_messages). A page may be short although there is
/// more. A walk to the end is complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessagePage {
    /// The messages, in the order of the ranges.
    pub messages: Vec<StoredMessage>,
    /// The ranges to read next: the rest of the range in which the page ended, then the ranges after it. Pass
    /// them back unchanged. Empty at the end.
    pub rest: Vec<MessageRange>,
}

/// An event as it was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// The place of the event.
    pub seq: EventSeq,
    /// When it was appended.
    pub at: Timestamp,
    /// The bytes of the event.
    pub payload: Payload,
}

/// The answer to [`read_events`](super::StateStore::read_events).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventPage {
    /// The events after the cursor, oldest first, without gap or repeat. A page may be short although there
    /// is more: `more` decides, not the number of rows.
    Events {
        /// The events.
        events: Vec<StoredEvent>,
        /// The stream that runs, at the end of the log. None: no stream runs, or the log continues beyond
        /// this page.
        stream: Option<DeltaPage>,
        /// The place to continue from; the given place if the page is empty.
        next: EventCursor,
        /// Whether there were more rows after this page when it was read. If so, the page has at least one
        /// row.
        more: bool,
    },
    /// The cursor belongs to another incarnation of the session, which was deleted.
    Gone,
    /// There is no such session.
    NotFound,
}

/// The record of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// The number of the run in the session.
    pub epoch: Epoch,
    /// The caller's id of the run, verbatim.
    pub run: RunId,
    /// The worker that ran it.
    pub worker: WorkerId,
    /// The status that the run found. [`SessionStatus::Active`] means a takeover.
    pub found: SessionStatus,
    /// The run before it. None if the run found the session idle: new, or with its turn ended.
    pub parent: Option<Epoch>,
    /// When the run began.
    pub started_at: Timestamp,
    /// How and when the run ended; none while it is open.
    pub end: Option<RunEnded>,
}

/// How and when a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnded {
    /// When the run ended.
    pub at: Timestamp,
    /// How the run ended. The claim that found the run open writes [`OutcomeKind::Lost`].
    pub outcome: OutcomeKind,
    /// The run's usage and the reason for its end; none for a lost run.
    pub detail: Option<Payload>,
}

/// A request for one page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageRequest {
    /// The cursor of the previous page; the first page if none.
    pub after: Option<PageCursor>,
    /// The most rows of the page: [`PAGE_ROWS_DEFAULT`] if none, and never more than [`PAGE_ROWS_MAX`].
    pub limit: Option<NonZeroU32>,
}

impl PageRequest {
    /// The first page of `limit` rows.
    pub fn first(limit: NonZeroU32) -> Self {
        Self { after: None, limit: Some(limit) }
    }

    /// The limit of rows, with the default and the maximum applied.
    pub fn rows(&self) -> u32 {
        self.limit.map_or(PAGE_ROWS_DEFAULT, NonZeroU32::get).min(PAGE_ROWS_MAX)
    }
}

/// A page of a list. It may be short, even empty, and still have a cursor: `next` decides, not the number of
/// rows. A walk to the end is complete. No page holds more payload than [`PAGE_BYTES_MAX`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// The cursor of the next page; none at the end.
    pub next: Option<PageCursor>,
}

/// The instants from `since`, inclusive, to `before`, exclusive. The range is half-open, so adjacent ranges
/// share no instant. A side without a bound is open. The range is empty when `before` does not come after
/// `since`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimeRange {
    /// The first instant; no lower bound if none.
    pub since: Option<Timestamp>,
    /// The first instant after the range; no upper bound if none.
    pub before: Option<Timestamp>,
}

impl TimeRange {
    /// Every instant.
    pub const ALWAYS: Self = Self { since: None, before: None };

    /// From this instant on. Accepts a [`Timestamp`] or a `chrono::DateTime<Utc>`.
    pub fn since(at: impl Into<Timestamp>) -> Self {
        Self { since: Some(at.into()), before: None }
    }

    /// Before this instant. Accepts a [`Timestamp`] or a `chrono::DateTime<Utc>`.
    pub fn before(at: impl Into<Timestamp>) -> Self {
        Self { since: None, before: Some(at.into()) }
    }

    /// Whether `at` lies in the range.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= at) && self.before.is_none_or(|before| at < before)
    }
}

/// A query for sessions, newest first, ties by id descending. To filter by agent, user, tags, metadata or the
/// source of a fork, use [`labels`](Self::labels).
///
/// A session must pass all filters. A list walks along the sessions of the tenant by their creation, or only
/// along those that have all of the labels. `created` bounds the walk. The other filters are checked on each
/// session of the walk. A store may bound how many sessions it looks at for one page; the page may then have
/// fewer rows and still have a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionQuery {
    /// The tenant.
    pub tenant: TenantId,
    /// Only the session with this incarnation, if it exists. A store finds it by an index, unless an older
    /// version of the store wrote the session without that index.
    pub life: Option<Incarnation>,
    /// Only sessions with one of these statuses; any status if empty.
    pub status: Vec<SessionStatus>,
    /// Only sessions in this queue.
    pub queue: Option<QueueLabel>,
    /// Only sessions with all of these labels. A store finds them by an index, unless an older version of the
    /// store wrote them without that index.
    pub labels: super::Labels,
    /// Only sessions created in this time, by [`created_at`](super::SessionSummary::created_at), which never
    /// changes.
    pub created: TimeRange,
    /// Only sessions last changed in this time, by [`updated_at`](super::SessionSummary::updated_at). If a
    /// session changes during a walk, the walk uses its `updated_at` at the instant when it reaches the
    /// session.
    pub changed: TimeRange,
    /// The page that is asked for.
    pub page: PageRequest,
}

impl SessionQuery {
    /// All sessions of `tenant`.
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

    /// The digest of everything but the page. The query's cursors are bound to it.
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

/// A query for open pending calls, soonest deadline first (none last), ties by session id and pending id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingQuery {
    /// The tenant.
    pub tenant: TenantId,
    /// Only calls of this session, if set.
    pub session: Option<SessionId>,
    /// Only calls of this kind, if set.
    pub kind: Option<PendingKind>,
    /// The page that is asked for.
    pub page: PageRequest,
}

impl PendingQuery {
    /// All pending calls of `tenant`.
    pub fn all(tenant: TenantId) -> Self {
        Self { tenant, session: None, kind: None, page: PageRequest::default() }
    }

    /// The digest of everything but the page. The query's cursors are bound to it.
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

/// The changes that a caller waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watch {
    /// Any change of this session.
    Session(SessionKey),
    /// News for the run that holds this session: an inbox item, an interrupt, another owner or status, the
    /// removal of the session.
    News(SessionKey),
    /// Any session may have become due.
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
