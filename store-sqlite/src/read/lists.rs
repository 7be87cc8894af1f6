//! Lists, page by page along an index.

use holdover_store::ids::{Epoch, InboxSeq, MessageSeq, RunId, SessionId, SessionKey, TenantId, Version};
use holdover_store::rules::PageRoom;
use holdover_store::time::Timestamp;
use holdover_store::{
    Checkpoint, CheckpointQuery, OutcomeKind, Page, PageRequest, PendingCall, PendingKind, PendingQuery,
    RunEnded, RunRecord, SessionQuery, SessionStatus, SessionSummary, runs_digest,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite};

use super::{Snapshot, next};
use crate::columns::{Columns, int};
use crate::error::Fault;
use crate::rows::{self, Sid};

macro_rules! of_runs {
    () => {
        " FROM run WHERE sid = ? AND epoch > ? ORDER BY epoch LIMIT ?"
    };
}

macro_rules! of_checkpoints {
    () => {
        " FROM checkpoint WHERE sid = ?1 AND id < ?2 AND (?3 IS NULL OR id = ?3) ORDER BY id DESC LIMIT ?4"
    };
}

// Each page is one read transaction; a walk sees what is there when it comes by.
const LIST_SESSIONS: &str = "SELECT sid, tenant, id, incarnation, status, version, epoch, queue, last_message, \
     unread, alarm, created_at, updated_at FROM session AS s WHERE tenant = ";
const LIST_PENDING: &str = "SELECT tenant, session, incarnation, id, call, kind, needed, answered, last_answer, \
     endless, deadline, opened_at, digest, payload FROM pending WHERE tenant = ";
const SIZES_OF_PENDING: &str = "SELECT length(payload) FROM pending WHERE tenant = ";
const LIST_RUNS: &str = concat!(
    "SELECT epoch, run, worker, found, parent, started_at, ended_at, outcome, digest, detail",
    of_runs!()
);
const SIZES_OF_RUNS: &str = concat!("SELECT coalesce(length(detail), 0)", of_runs!());
const LIST_CHECKPOINTS: &str =
    concat!("SELECT id, epoch, last_message, last_event, at, format, digest, payload", of_checkpoints!());
const SIZES_OF_CHECKPOINTS: &str = concat!("SELECT length(payload)", of_checkpoints!());

/// Place bytes that this store did not write, under a checksum that is right: as good as corrupt.
fn bad_place() -> Fault {
    Fault::Invalid("after: it is no place in this list".into())
}

pub(crate) async fn list_sessions(
    snapshot: &mut Snapshot,
    query: &SessionQuery,
    after: Option<Vec<u8>>,
) -> Result<Page<SessionSummary>, Fault> {
    let limit = query.page.rows();
    let mut sql = QueryBuilder::<Sqlite>::new(LIST_SESSIONS);
    sql.push_bind(query.tenant.as_str().to_owned());
    if !query.status.is_empty() {
        sql.push(" AND status IN (");
        let mut list = sql.separated(", ");
        for status in &query.status {
            list.push_bind(status.as_str());
        }
        sql.push(")");
    }
    if let Some(queue) = &query.queue {
        sql.push(" AND queue = ").push_bind(queue.as_str().to_owned());
    }
    // What bounds the creation bounds the walk along `session_newest`.
    let times = [
        (" AND created_at >= ", query.created.since),
        (" AND created_at < ", query.created.before),
        (" AND updated_at >= ", query.changed.since),
        (" AND updated_at < ", query.changed.before),
    ];
    for (condition, bound) in times {
        if let Some(bound) = bound {
            sql.push(condition).push_bind(bound.as_ms());
        }
    }
    for (name, value) in &query.labels.0 {
        sql.push(" AND EXISTS (SELECT 1 FROM label WHERE label.sid = s.sid AND name = ")
            .push_bind(name.clone())
            .push(" AND value = ")
            .push_bind(value.clone())
            .push(")");
    }
    if let Some(place) = after {
        let (created_at, id) = place.split_first_chunk::<8>().ok_or_else(bad_place)?;
        let id = String::from_utf8(id.to_vec()).map_err(|_| bad_place())?;
        sql.push(" AND (created_at, id) < (")
            .push_bind(i64::from_be_bytes(*created_at))
            .push(", ")
            .push_bind(id)
            .push(")");
    }
    sql.push(" ORDER BY created_at DESC, id DESC LIMIT ").push_bind(i64::from(limit) + 1);
    let found = sql.build().persistent(false).fetch_all(snapshot.conn()).await?;

    let mut page = found.iter().map(summary).collect::<Result<Vec<_>, _>>()?;
    let more = page.len() > limit as usize;
    page.truncate(limit as usize);
    let next = next(&page, more, query.digest(), |(_, last)| {
        let mut place = last.created_at.as_ms().to_be_bytes().to_vec();
        place.extend_from_slice(last.key.id.as_str().as_bytes());
        place
    });
    for (sid, summary) in &mut page {
        summary.labels = rows::read_labels(snapshot.conn(), *sid).await?;
    }
    Ok(Page { items: page.into_iter().map(|(_, summary)| summary).collect(), next })
}

fn summary(row: &SqliteRow) -> Result<(Sid, SessionSummary), Fault> {
    let mut columns = Columns::of(row);
    let c = &mut columns;
    let sid = Sid(c.int()?);
    let key = SessionKey::new(c.id::<TenantId>()?, c.id::<SessionId>()?);
    let summary = SessionSummary {
        key,
        incarnation: c.incarnation()?,
        status: c.word(SessionStatus::from_wire)?,
        version: Version(c.count()?),
        epoch: Epoch(c.count()?),
        queue: c.id()?,
        labels: Default::default(),
        last_message: MessageSeq(c.count()?),
        unread: c.count()?,
        alarm: c.at_or_null()?,
        created_at: c.at()?,
        updated_at: c.at()?,
    };
    Ok((sid, summary))
}

pub(crate) async fn list_pending(
    snapshot: &mut Snapshot,
    query: &PendingQuery,
    after: Option<Vec<u8>>,
) -> Result<Page<PendingCall>, Fault> {
    let after = match &after {
        Some(place) => Some(PendingPlace::from_bytes(place).ok_or_else(bad_place)?),
        None => None,
    };
    let mut room = PageRoom::new(query.page.rows() as usize);
    let mut sizes = pending_of(SIZES_OF_PENDING, query, after.as_ref(), rows::one_too_many(&room));
    let fit = rows::fit(snapshot.conn(), sizes.build().persistent(false), &mut room).await?;
    let mut sql = pending_of(LIST_PENDING, query, after.as_ref(), fit.rows);
    let found = sql.build().persistent(false).fetch_all(snapshot.conn()).await?;

    let items = found.iter().map(pending_call).collect::<Result<Vec<_>, _>>()?;
    let next = next(&items, fit.more, query.digest(), |last| PendingPlace::of(last).to_bytes());
    Ok(Page { items, next })
}

fn pending_of(
    select: &'static str,
    query: &PendingQuery,
    after: Option<&PendingPlace>,
    limit: i64,
) -> QueryBuilder<Sqlite> {
    let mut sql = QueryBuilder::<Sqlite>::new(select);
    sql.push_bind(query.tenant.as_str().to_owned());
    if let Some(session) = &query.session {
        sql.push(" AND session = ").push_bind(session.as_str().to_owned());
    }
    if let Some(kind) = query.kind {
        sql.push(" AND kind = ").push_bind(kind.as_str());
    }
    if let Some(place) = after {
        sql.push(" AND (endless, deadline, session, id) > (")
            .push_bind(place.endless)
            .push(", ")
            .push_bind(place.deadline)
            .push(", ")
            .push_bind(place.session.clone())
            .push(", ")
            .push_bind(place.id.clone())
            .push(")");
    }
    sql.push(" ORDER BY endless, deadline, session, id LIMIT ").push_bind(limit);
    sql
}

fn pending_call(row: &SqliteRow) -> Result<PendingCall, Fault> {
    let mut columns = Columns::of(row);
    let c = &mut columns;
    let key = SessionKey::new(c.id::<TenantId>()?, c.id::<SessionId>()?);
    let (incarnation, id, call, kind) = (c.incarnation()?, c.id()?, c.id()?, c.word(PendingKind::from_wire)?);
    let (needed, answered, last_answer) = (c.count()?, c.count()?, InboxSeq(c.count()?));
    let (endless, deadline, opened_at) = (c.flag()?, c.at()?, c.at()?);
    Ok(PendingCall {
        key,
        incarnation,
        id,
        call,
        kind,
        needed,
        answered,
        last_answer,
        deadline: (!endless).then_some(deadline),
        body: c.payload()?,
        opened_at,
    })
}

/// Where a page of pending calls ended.
struct PendingPlace {
    endless: bool,
    deadline: i64,
    session: String,
    id: String,
}

impl PendingPlace {
    fn of(pending: &PendingCall) -> Self {
        Self {
            endless: pending.deadline.is_none(),
            deadline: pending.deadline.unwrap_or_default().as_ms(),
            session: pending.key.id.as_str().to_owned(),
            id: pending.id.as_str().to_owned(),
        }
    }

    /// Ids hold no NUL, which therefore parts them.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.endless)];
        bytes.extend_from_slice(&self.deadline.to_be_bytes());
        bytes.extend_from_slice(self.session.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(self.id.as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (endless, rest) = bytes.split_first()?;
        let (deadline, ids) = rest.split_first_chunk::<8>()?;
        let (session, id) = std::str::from_utf8(ids).ok()?.split_once('\0')?;
        Some(Self {
            endless: *endless != 0,
            deadline: i64::from_be_bytes(*deadline),
            session: session.to_owned(),
            id: id.to_owned(),
        })
    }
}

pub(crate) async fn list_runs(
    snapshot: &mut Snapshot,
    key: &SessionKey,
    page: &PageRequest,
    after: Option<Vec<u8>>,
) -> Result<Option<Page<RunRecord>>, Fault> {
    let Some(sid) = rows::find_sid(snapshot.conn(), key).await? else { return Ok(None) };
    let after = match after {
        Some(place) => i64::from_be_bytes(place.try_into().map_err(|_| bad_place())?),
        None => 0,
    };
    let mut room = PageRoom::new(page.rows() as usize);
    let of_session = |sql: &'static str| sqlx::query(sql).bind(sid.0).bind(after);
    let sizes = of_session(SIZES_OF_RUNS).bind(rows::one_too_many(&room));
    let fit = rows::fit(snapshot.conn(), sizes, &mut room).await?;
    let found = of_session(LIST_RUNS).bind(fit.rows).fetch_all(snapshot.conn()).await?;
    let items = found.iter().map(run_record).collect::<Result<Vec<_>, _>>()?;
    let place = |last: &RunRecord| int(last.epoch.0).to_be_bytes().to_vec();
    let next = next(&items, fit.more, runs_digest(key), place);
    Ok(Some(Page { items, next }))
}

pub(crate) async fn list_checkpoints(
    snapshot: &mut Snapshot,
    query: &CheckpointQuery,
    after: Option<Vec<u8>>,
) -> Result<Option<Page<Checkpoint>>, Fault> {
    let Some((sid, session)) = rows::find(snapshot.conn(), &query.key).await? else { return Ok(None) };
    let before = match after {
        Some(place) => i64::from_be_bytes(place.try_into().map_err(|_| bad_place())?),
        None => i64::MAX,
    };
    let only = query.id.map(|id| int(id.0));
    let mut room = PageRoom::new(query.page.rows() as usize);
    let of_session = |sql: &'static str| sqlx::query(sql).bind(sid.0).bind(before).bind(only);
    let sizes = of_session(SIZES_OF_CHECKPOINTS).bind(rows::one_too_many(&room));
    let fit = rows::fit(snapshot.conn(), sizes, &mut room).await?;
    let found = of_session(LIST_CHECKPOINTS).bind(fit.rows).fetch_all(snapshot.conn()).await?;
    let found = found.iter().map(|row| rows::checkpoint(row, session.incarnation));
    let items = found.collect::<Result<Vec<_>, _>>()?;
    let place = |last: &Checkpoint| int(last.id.0).to_be_bytes().to_vec();
    let next = next(&items, fit.more, query.digest(), place);
    Ok(Some(Page { items, next }))
}

fn run_record(row: &SqliteRow) -> Result<RunRecord, Fault> {
    let mut columns = Columns::of(row);
    let c = &mut columns;
    let (epoch, run, worker) = (Epoch(c.count()?), c.id::<RunId>()?, c.id()?);
    let (found, parent) = (c.word(SessionStatus::from_wire)?, c.count_or_null()?.map(Epoch));
    let started_at: Timestamp = c.at()?;
    let ended_at = c.at_or_null()?;
    let outcome = c.word_or_null(OutcomeKind::from_wire)?;
    let detail = c.payload_or_null()?;
    let end = match (ended_at, outcome) {
        (Some(at), Some(outcome)) => Some(RunEnded { at, outcome, detail }),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(Fault::Corrupt("run: its end is half there".into()));
        }
    };
    Ok(RunRecord { epoch, run, worker, found, parent, started_at, end })
}
