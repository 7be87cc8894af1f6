//! Types that a store returns when it is read: messages, events, runs, lists.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{DeltaPage, EventCursor, OutcomeKind, PageCursor, PendingKind, SessionStatus};
use crate::ids::{
    Epoch, EventSeq, Incarnation, MessageSeq, QueueLabel, RunId, SessionId, SessionKey, TenantId, WorkerId,
};
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// Where to go on; none at the end.
    pub next: Option<PageCursor>,
}

/// Instants from `since` on that lie before `before`: half-open, so that of ranges side by side each instant lies in
/// one. A side without a bound is open. Holds nothing when `before` does not come after `since`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimeRange {
    /// The first; as early as you like if none.
    pub since: Option<Timestamp>,
    /// The first that no longer is; as late as you like if none.
    pub before: Option<Timestamp>,
}

impl TimeRange {
    /// Every instant.
    pub const ALWAYS: Self = Self { since: None, before: None };

    /// From this instant on.
    pub const fn since(at: Timestamp) -> Self {
        Self { since: Some(at), before: None }
    }

    /// Before this instant.
    pub const fn before(at: Timestamp) -> Self {
        Self { since: None, before: Some(at) }
    }

    /// Whether `at` lies in it.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= at) && self.before.is_none_or(|before| at < before)
    }
}

/// Which sessions, newest first, ties by id descending. Agent, user, tags, metadata and the session that one was
/// forked from are [`labels`](Self::labels).
///
/// All filters hold together. A list is a walk along the sessions of the tenant by their creation, or along those alone that
/// have all of the labels: `created` bounds the walk, every other filter is asked of each session on it. A store that bounds
/// how many it looks at for one page answers fewer rows, with a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionQuery {
    /// Of this tenant.
    pub tenant: TenantId,
    /// Living this life: one session, or none. A store finds it without looking at others, but where an older version
    /// has left it without the index for that.
    pub life: Option<Incarnation>,
    /// With one of these statuses; any if empty.
    pub status: Vec<SessionStatus>,
    /// In this queue.
    pub queue: Option<QueueLabel>,
    /// With all of these labels. A store finds them without looking at others, but where an older version has left them
    /// without the index for that.
    pub labels: super::Labels,
    /// Created in this time: by [`created_at`](super::SessionSummary::created_at), which never changes.
    pub created: TimeRange,
    /// Last changed in this time: by [`updated_at`](super::SessionSummary::updated_at). A session that changes during
    /// a walk is shown or not by what it is when the walk comes by.
    pub changed: TimeRange,
    /// Which page.
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

    /// The digest of everything but the page, to which its cursors are bound.
    pub fn digest(&self) -> Digest {
        let mut filter = serde_json::json!({
            "list": "sessions", "tenant": self.tenant, "status": self.status,
            "queue": self.queue, "labels": self.labels,
        });
        // Some filters came later: cursors from before them still belong to queries without them.
        let times = [("created", self.created), ("changed", self.changed)];
        let times = times.into_iter().filter(|(_, range)| *range != TimeRange::ALWAYS);
        if let Some(filter) = filter.as_object_mut() {
            filter.extend(times.map(|(name, range)| (name.to_owned(), serde_json::json!(range))));
            filter.extend(self.life.map(|life| ("life".to_owned(), serde_json::json!(life))));
        }
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
    /// Whatever the run that holds this session should hear of: an item, a stop, another owner or status, its
    /// removal.
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
