//! Lists, page by page along an index.

use holdover_store::ids::{
    CheckpointId, Epoch, EventSeq, InboxSeq, MessageSeq, RunId, SessionId, SessionKey, StateFormat, TenantId,
};
use holdover_store::time::Timestamp;
use holdover_store::{
    Checkpoint, CheckpointQuery, OutcomeKind, Page, PageCursor, PageRequest, PendingCall, PendingKind,
    PendingQuery, RunEnded, RunRecord, SessionQuery, SessionStatus, SessionSummary, runs_digest,
};
use sqlx::postgres::PgRow;

use super::{next, until_full};
use crate::call::{Call, Values, int};
use crate::columns::{Columns, id};
use crate::error::Fault;
use crate::rows::{self, session_columns};

pub(crate) struct ListSessions {
    pub(crate) query: SessionQuery,
    pub(crate) after: SessionPlace,
}

impl Call for ListSessions {
    type Outcome = Page<SessionSummary>;
    const OPERATION: &'static str = "list_sessions";
    const PARAMETERS: usize = 11;
    const COLUMNS: &'static str =
        concat!("a.walked_at, a.walked_id, ", session_columns!(), ", a.label_names, a.label_values");
    const WRITES: bool = false;

    fn key(&self) -> Option<&SessionKey> {
        None
    }

    fn bind(&self, to: &mut Values<'_>) {
        let query = &self.query;
        let status: Vec<&str> = query.status.iter().copied().map(SessionStatus::as_str).collect();
        to.add(query.tenant.as_str())
            .add((!status.is_empty()).then_some(status))
            .add(query.queue.as_ref().map(|queue| queue.as_str()))
            .add(query.labels.0.keys().map(String::as_bytes).collect::<Vec<_>>())
            .add(query.labels.0.values().map(String::as_bytes).collect::<Vec<_>>())
            .add(query.created.since.map_or(i64::MIN, Timestamp::as_ms))
            .add(query.changed.since.map(Timestamp::as_ms))
            .add(query.changed.before.map(Timestamp::as_ms))
            .add(self.after.created_at)
            .add(self.after.id.as_str())
            .add(i64::from(query.page.rows()) + 1);
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Page<SessionSummary>, Fault> {
        let limit = self.query.page.rows() as usize;
        let mut items: Vec<SessionSummary> = Vec::with_capacity(rows.len());
        for row in rows {
            let mut c = Columns::of(row);
            let place = match (c.int_or_null()?, c.text_or_null()?, items.last()) {
                (Some(created_at), Some(id), _) => SessionPlace { created_at, id },
                (_, _, Some(last)) if items.len() == limit => SessionPlace::of(last),
                (_, _, _) => {
                    let row = rows::session_row(&mut c)?;
                    items.push(row.summary(rows::labels(&mut c)?));
                    continue;
                }
            };
            let next = Some(PageCursor::at(self.query.digest(), &place.to_bytes()));
            return Ok(Page { items, next });
        }
        Ok(Page { items, next: None })
    }
}

/// Where a page of sessions begins: after this one.
pub(crate) struct SessionPlace {
    created_at: i64,
    id: String,
}

impl SessionPlace {
    /// The place of these bytes; if there are none the beginning of what was created before `end`.
    pub(crate) fn new(position: Option<Vec<u8>>, end: Option<Timestamp>) -> Option<Self> {
        let Some(position) = position else {
            // No id comes before the empty one.
            return Some(Self { created_at: end.map_or(i64::MAX, Timestamp::as_ms), id: String::new() });
        };
        let (created_at, id) = position.split_first_chunk::<8>()?;
        let id = String::from_utf8(id.to_vec()).ok()?;
        Some(Self { created_at: i64::from_be_bytes(*created_at), id })
    }

    fn of(session: &SessionSummary) -> Self {
        Self { created_at: session.created_at.as_ms(), id: session.key.id.as_str().to_owned() }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut place = self.created_at.to_be_bytes().to_vec();
        place.extend_from_slice(self.id.as_bytes());
        place
    }
}

pub(crate) struct ListPending {
    pub(crate) query: PendingQuery,
    pub(crate) after: PendingPlace,
}

impl Call for ListPending {
    type Outcome = Page<PendingCall>;
    const OPERATION: &'static str = "list_pending";
    const PARAMETERS: usize = 8;
    const COLUMNS: &'static str = "a.fits, a.endless, a.deadline, a.session, a.id, a.tenant, a.incarnation, a.call, \
         a.kind, a.needed, a.answered, a.last_answer, a.opened_at, a.digest, a.payload";
    const WRITES: bool = false;

    fn key(&self) -> Option<&SessionKey> {
        None
    }

    fn bind(&self, to: &mut Values<'_>) {
        let (query, after) = (&self.query, &self.after);
        to.add(query.tenant.as_str())
            .add(query.session.as_ref().map(|session| session.as_str()))
            .add(query.kind.map(PendingKind::as_str))
            .add(after.endless)
            .add(after.deadline)
            .add(after.session.as_str())
            .add(after.id.as_str())
            .add(i64::from(query.page.rows()));
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Page<PendingCall>, Fault> {
        let mut items: Vec<PendingCall> = Vec::with_capacity(rows.len());
        for row in rows {
            let mut c = Columns::of(row);
            let (fits, endless, deadline) = (c.flag_or_null()?, c.flag()?, c.int()?);
            let (session, id) = (c.text()?, c.text()?);
            let walked = PendingPlace { endless, deadline, session, id };
            let place = match (fits, items.last()) {
                (Some(true), _) => {
                    items.push(pending_call(walked, &mut c)?);
                    continue;
                }
                (Some(false), Some(last)) => PendingPlace::of(last),
                (Some(false) | None, _) => walked,
            };
            let next = Some(PageCursor::at(self.query.digest(), &place.to_bytes()));
            return Ok(Page { items, next });
        }
        Ok(Page { items, next: None })
    }
}

fn pending_call(at: PendingPlace, c: &mut Columns<'_>) -> Result<PendingCall, Fault> {
    let session: SessionId = id(Some(at.session), "session")?;
    let key = SessionKey::new(c.id::<TenantId>()?, session);
    let (incarnation, call, kind) = (c.incarnation()?, c.id()?, c.word(PendingKind::from_wire)?);
    Ok(PendingCall {
        key,
        incarnation,
        id: id(Some(at.id), "id")?,
        call,
        kind,
        needed: c.count()?,
        answered: c.count()?,
        last_answer: InboxSeq(c.count()?),
        deadline: (!at.endless).then_some(Timestamp::from_ms(at.deadline)),
        opened_at: c.at()?,
        body: c.payload()?,
    })
}

/// Where a page of pending calls ended.
pub(crate) struct PendingPlace {
    endless: bool,
    deadline: i64,
    session: String,
    id: String,
}

impl PendingPlace {
    /// The place of these bytes, the beginning if there are none. Ids are never empty.
    pub(crate) fn new(position: Option<Vec<u8>>) -> Option<Self> {
        match position {
            Some(position) => Self::from_bytes(&position),
            None => {
                let (session, id) = (String::new(), String::new());
                Some(Self { endless: false, deadline: i64::MIN, session, id })
            }
        }
    }

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

pub(crate) struct ListRuns {
    pub(crate) key: SessionKey,
    pub(crate) page: PageRequest,
    pub(crate) after: i64,
}

impl Call for ListRuns {
    type Outcome = Page<RunRecord>;
    const OPERATION: &'static str = "list_runs";
    const PARAMETERS: usize = 4;
    const COLUMNS: &'static str = "a.fits, a.epoch, a.run, a.worker, a.found, a.parent, a.started_at, a.ended_at, \
         a.outcome, a.digest, a.detail";
    const WRITES: bool = false;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        to.key(&self.key).add(self.after).add(i64::from(self.page.rows()));
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Page<RunRecord>, Fault> {
        if rows.is_empty() {
            return Err(Fault::NotFound);
        }
        let (items, more) = until_full(rows, run_record)?;
        let place = |last: &RunRecord| int(last.epoch.0).to_be_bytes().to_vec();
        let next = next(&items, more, runs_digest(&self.key), place);
        Ok(Page { items, next })
    }
}

fn run_record(c: &mut Columns<'_>) -> Result<RunRecord, Fault> {
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

pub(crate) struct ListCheckpoints {
    pub(crate) query: CheckpointQuery,
    pub(crate) before: i64,
}

impl Call for ListCheckpoints {
    type Outcome = Page<Checkpoint>;
    const OPERATION: &'static str = "list_checkpoints";
    const PARAMETERS: usize = 5;
    const COLUMNS: &'static str = "a.fits, a.incarnation, a.id, a.epoch, a.last_message, a.last_event, a.at, \
         a.format, a.digest, a.payload";
    const WRITES: bool = false;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.query.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        let query = &self.query;
        to.key(&query.key)
            .add(query.id.map(|id| int(id.0)))
            .add(self.before)
            .add(i64::from(query.page.rows()));
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Page<Checkpoint>, Fault> {
        if rows.is_empty() {
            return Err(Fault::NotFound);
        }
        let (items, more) = until_full(rows, checkpoint)?;
        let place = |last: &Checkpoint| int(last.id.0).to_be_bytes().to_vec();
        let next = next(&items, more, self.query.digest(), place);
        Ok(Page { items, next })
    }
}

fn checkpoint(c: &mut Columns<'_>) -> Result<Checkpoint, Fault> {
    let incarnation = c.incarnation()?;
    Ok(Checkpoint {
        id: CheckpointId(c.count()?),
        incarnation,
        epoch: Epoch(c.count()?),
        last_message: MessageSeq(c.count()?),
        last_event: EventSeq(c.count()?),
        at: c.at()?,
        format: StateFormat(c.count()?),
        state: c.payload()?,
    })
}
