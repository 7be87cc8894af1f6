//! What belongs to a session beside its row.

use std::collections::HashMap;

use holdover_store::ids::{CallId, Fence, InboxSeq, ItemKey, PendingId};
use holdover_store::payload::{Digest, Payload};
use holdover_store::rules::{PageRoom, SessionRow};
use holdover_store::time::Timestamp;
use holdover_store::{
    Claim, INBOX_PAGE, InboxPage, ItemKind, Labels, PendingCall, PendingKind, Staged, StagedResult,
    StoredItem,
};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::append::wake_named;
use super::{Sid, fit, json_list, one_too_many};
use crate::columns::{Columns, int};
use crate::error::Fault;

macro_rules! unread {
    () => {
        " FROM item WHERE sid = ? AND seq > ? AND payload IS NOT NULL ORDER BY seq LIMIT ?"
    };
}

// All of these run in the transaction that has read the session row, and so at its instant.
const READ_LABELS: &str = "SELECT name, value FROM label WHERE sid = ?";
const READ_DEFINITION: &str = "SELECT digest, payload FROM definition WHERE sid = ?";
const READ_STATE: &str = "SELECT digest, payload FROM state WHERE sid = ?";
const READ_STAGED: &str = "SELECT call, digest, payload FROM staged WHERE sid = ? ORDER BY call";
const READ_STAGED_OF: &str = "SELECT call, digest, payload FROM staged \
     WHERE sid = ? AND call IN (SELECT value FROM json_each(?)) ORDER BY call";
const READ_MARKS: &str = "SELECT call FROM start_mark WHERE sid = ? ORDER BY call";
const READ_PENDING: &str = "SELECT id, call, kind, needed, answered, last_answer, endless, deadline, \
     opened_at, digest, payload FROM pending WHERE sid = ? ORDER BY pid";
const READ_PENDING_IDS: &str =
    "SELECT id, last_answer FROM pending WHERE sid = ? AND id IN (SELECT value FROM json_each(?))";
const READ_OPENED: &str = "SELECT id FROM opened WHERE sid = ? AND id IN (SELECT value FROM json_each(?))";
const READ_INBOX: &str =
    concat!("SELECT seq, key, kind, wake, pending, settles, at, digest, payload", unread!());
const SIZES_OF_INBOX: &str = concat!("SELECT length(payload)", unread!());
const READ_KNOWN: &str =
    "SELECT key, seq, content FROM item WHERE sid = ? AND key IN (SELECT value FROM json_each(?))";

/// Everything that a claim brings beside the row. Read whole before the claim writes anything, so that a
/// corrupt record leaves the session as it was.
pub(crate) struct Extras {
    labels: Labels,
    definition: Payload,
    state: Option<Payload>,
    staged: Staged,
    pending: Vec<PendingCall>,
    inbox: Vec<StoredItem>,
    /// What still goes into the first page of the inbox.
    room: PageRoom,
}

impl Extras {
    /// What a session that is about to be created has.
    pub(crate) fn new(labels: Labels, definition: Payload) -> Self {
        let (state, staged, room) = (None, Staged::default(), PageRoom::new(INBOX_PAGE as usize));
        Self { labels, definition, state, staged, pending: Vec::new(), inbox: Vec::new(), room }
    }

    pub(crate) async fn read(conn: &mut SqliteConnection, sid: Sid, row: &SessionRow) -> Result<Self, Fault> {
        let mut room = PageRoom::new(INBOX_PAGE as usize);
        Ok(Self {
            labels: read_labels(conn, sid).await?,
            definition: read_definition(conn, sid).await?,
            state: read_state(conn, sid).await?,
            staged: read_staged(conn, sid).await?,
            pending: read_pending(conn, sid, row).await?,
            inbox: read_inbox(conn, sid, InboxSeq(0), &mut room).await?.items,
            room,
        })
    }

    /// Adds an item that the claim itself brought, if the page has room.
    pub(crate) fn arrived(&mut self, item: StoredItem) {
        if self.room.takes(item.payload.len()) {
            self.inbox.push(item);
        }
    }

    /// The claim that `row` stands for.
    pub(crate) fn into_claim(self, row: SessionRow, now: Timestamp) -> Result<Claim, Fault> {
        let (Some(run), Some(lease_ends)) =
            (row.last_claim.clone(), row.lease.as_ref().map(|lease| lease.ends))
        else {
            return Err(Fault::Corrupt("session: it is claimed without a run or a lease".into()));
        };
        let fence = Fence { key: row.key.clone(), incarnation: row.incarnation, epoch: row.epoch };
        let found = row.found;
        let session = row.session(self.labels, self.definition, self.state, self.staged);
        Ok(Claim { fence, run, found, session, pending: self.pending, inbox: self.inbox, now, lease_ends })
    }
}

pub(crate) async fn read_labels(conn: &mut SqliteConnection, sid: Sid) -> Result<Labels, Fault> {
    let rows = sqlx::query(READ_LABELS).bind(sid.0).fetch_all(conn).await?;
    let label = |row: &SqliteRow| {
        let mut columns = Columns::of(row);
        Ok((columns.text()?, columns.text()?))
    };
    rows.iter().map(label).collect::<Result<Vec<_>, Fault>>().map(|labels| labels.into_iter().collect())
}

pub(crate) async fn read_definition(conn: &mut SqliteConnection, sid: Sid) -> Result<Payload, Fault> {
    match sqlx::query(READ_DEFINITION).bind(sid.0).fetch_optional(conn).await? {
        Some(row) => Columns::of(&row).payload(),
        None => Err(Fault::Corrupt("definition: it is missing".into())),
    }
}

pub(crate) async fn read_state(conn: &mut SqliteConnection, sid: Sid) -> Result<Option<Payload>, Fault> {
    let row = sqlx::query(READ_STATE).bind(sid.0).fetch_optional(conn).await?;
    row.map(|row| Columns::of(&row).payload()).transpose()
}

pub(crate) async fn read_staged(conn: &mut SqliteConnection, sid: Sid) -> Result<Staged, Fault> {
    let rows = sqlx::query(READ_STAGED).bind(sid.0).fetch_all(&mut *conn).await?;
    let results = rows.iter().map(staged_result).collect::<Result<_, _>>()?;
    let rows = sqlx::query(READ_MARKS).bind(sid.0).fetch_all(conn).await?;
    let starts = rows.iter().map(|row| Columns::of(row).id()).collect::<Result<_, _>>()?;
    Ok(Staged { results, starts })
}

/// What is staged of these calls.
pub(crate) async fn read_staged_of(
    conn: &mut SqliteConnection,
    sid: Sid,
    calls: &[&CallId],
) -> Result<Vec<StagedResult>, Fault> {
    let calls = json_list(calls.iter().map(|call| call.as_str()))?;
    let rows = sqlx::query(READ_STAGED_OF).bind(sid.0).bind(calls).fetch_all(conn).await?;
    rows.iter().map(staged_result).collect()
}

fn staged_result(row: &SqliteRow) -> Result<StagedResult, Fault> {
    let mut columns = Columns::of(row);
    Ok(StagedResult { call: columns.id()?, payload: columns.payload()? })
}

pub(crate) async fn read_pending(
    conn: &mut SqliteConnection,
    sid: Sid,
    session: &SessionRow,
) -> Result<Vec<PendingCall>, Fault> {
    let rows = sqlx::query(READ_PENDING).bind(sid.0).fetch_all(conn).await?;
    let pending = |row: &SqliteRow| {
        let mut c = Columns::of(row);
        let (id, call, kind) = (c.id()?, c.id()?, c.word(PendingKind::from_wire)?);
        let (needed, answered, last_answer) = (c.count()?, c.count()?, InboxSeq(c.count()?));
        let (endless, deadline, opened_at) = (c.flag()?, c.at()?, c.at()?);
        Ok(PendingCall {
            key: session.key.clone(),
            incarnation: session.incarnation,
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
    };
    rows.iter().map(pending).collect()
}

/// Which of these pending calls are open, each with its newest answer.
pub(crate) async fn read_pending_ids(
    conn: &mut SqliteConnection,
    sid: Sid,
    ids: &[&PendingId],
) -> Result<Vec<(PendingId, InboxSeq)>, Fault> {
    let ids = json_list(ids.iter().map(|id| id.as_str()))?;
    let rows = sqlx::query(READ_PENDING_IDS).bind(sid.0).bind(ids).fetch_all(conn).await?;
    let pending = |row: &SqliteRow| {
        let mut columns = Columns::of(row);
        Ok((columns.id()?, InboxSeq(columns.count()?)))
    };
    rows.iter().map(pending).collect()
}

/// Which of these pending calls were ever opened, closed since or not.
pub(crate) async fn read_opened(
    conn: &mut SqliteConnection,
    sid: Sid,
    ids: &[&PendingId],
) -> Result<Vec<PendingId>, Fault> {
    let ids = json_list(ids.iter().map(|id| id.as_str()))?;
    let rows = sqlx::query(READ_OPENED).bind(sid.0).bind(ids).fetch_all(conn).await?;
    rows.iter().map(|row| Columns::of(row).id()).collect()
}

/// What is not consumed after `after`, in order, as far as there is room.
pub(crate) async fn read_inbox(
    conn: &mut SqliteConnection,
    sid: Sid,
    after: InboxSeq,
    room: &mut PageRoom,
) -> Result<InboxPage, Fault> {
    let of_session = |sql: &'static str| sqlx::query(sql).bind(sid.0).bind(int(after.0));
    let fit = fit(conn, of_session(SIZES_OF_INBOX).bind(one_too_many(room)), room).await?;
    let items = of_session(READ_INBOX).bind(fit.rows).fetch_all(conn).await?;
    Ok(InboxPage::new(items.iter().map(stored_item).collect::<Result<_, _>>()?, fit.more))
}

pub(crate) fn stored_item(row: &SqliteRow) -> Result<StoredItem, Fault> {
    let mut c = Columns::of(row);
    let (seq, key, kind) = (InboxSeq(c.count()?), c.id()?, c.text()?);
    let (wake, pending, settles) = (c.word(wake_named)?, c.id_or_null()?, c.flag()?);
    let at = c.at()?;
    let kind = match (kind.as_str(), pending) {
        ("message", None) => ItemKind::Message { wake },
        ("signal", None) => ItemKind::Signal { wake },
        ("answer", Some(pending)) => ItemKind::Answer { pending, settles },
        (other, _) => return Err(Fault::Corrupt(format!("kind: unknown word {other:?}"))),
    };
    Ok(StoredItem { seq, key, kind, payload: c.payload()?, at })
}

/// Items by key: place and content digest.
pub(crate) type KnownItems = HashMap<ItemKey, (InboxSeq, Digest)>;

/// The items with these keys, consumed or not: place and content digest.
pub(crate) async fn known_items(
    conn: &mut SqliteConnection,
    sid: Sid,
    keys: &[&ItemKey],
) -> Result<KnownItems, Fault> {
    let keys = json_list(keys.iter().map(|key| key.as_str()))?;
    let rows = sqlx::query(READ_KNOWN).bind(sid.0).bind(keys).fetch_all(conn).await?;
    let known = |row: &SqliteRow| {
        let mut columns = Columns::of(row);
        Ok((columns.id()?, (InboxSeq(columns.count()?), columns.digest()?)))
    };
    rows.iter().map(known).collect()
}
