//! Messages, events, and the inbox of one session. None: there is no such session.

use holdover_core::ids::{InboxSeq, MessageSeq, SessionKey};
use holdover_core::store::{EventCursor, EventPage, MessageRange, StoredDelta, StoredItem, StoredMessage};
use sqlx::sqlite::SqliteRow;

use super::Snapshot;
use crate::columns::{Columns, int};
use crate::error::Fault;
use crate::rows::{self, Sid};

// All of these run in the read transaction that has found the session.
const READ_MESSAGES: &str = "SELECT seq, at, digest, payload FROM message \
     WHERE sid = ? AND seq BETWEEN ? AND ? ORDER BY seq";
const READ_DELTAS: &str =
    "SELECT place, digest, payload FROM delta WHERE sid = ? AND place > ? ORDER BY place LIMIT ?";

pub(crate) async fn read_messages(
    snapshot: &mut Snapshot,
    key: &SessionKey,
    ranges: &[MessageRange],
) -> Result<Option<Vec<StoredMessage>>, Fault> {
    let Some(sid) = rows::find_sid(snapshot.conn(), key).await? else { return Ok(None) };
    let mut messages = Vec::new();
    for range in ranges {
        let query = sqlx::query(READ_MESSAGES).bind(sid.0).bind(int(range.from.0)).bind(int(range.to.0));
        for row in &query.fetch_all(snapshot.conn()).await? {
            let mut c = Columns::of(row);
            messages.push(StoredMessage { seq: MessageSeq(c.count()?), at: c.at()?, payload: c.payload()? });
        }
    }
    Ok(Some(messages))
}

pub(crate) async fn read_inbox(
    snapshot: &mut Snapshot,
    key: &SessionKey,
    after: InboxSeq,
    limit: u32,
) -> Result<Option<Vec<StoredItem>>, Fault> {
    match rows::find_sid(snapshot.conn(), key).await? {
        Some(sid) => rows::read_inbox(snapshot.conn(), sid, after, limit).await.map(Some),
        None => Ok(None),
    }
}

pub(crate) async fn read_events(
    snapshot: &mut Snapshot,
    key: &SessionKey,
    after: &EventCursor,
    limit: u32,
) -> Result<EventPage, Fault> {
    let Some((sid, session)) = rows::find(snapshot.conn(), key).await? else {
        return Ok(EventPage::NotFound);
    };
    let Some(place) = after.place_in(session.incarnation) else { return Ok(EventPage::Gone) };
    let events = rows::read_events(snapshot.conn(), sid, place.after, limit).await?;
    let last = events.last().map_or(place.after, |last| last.seq);
    let deltas = match session.deltas_after(&place, last) {
        Some(read) => read_deltas(snapshot, sid, read, i64::from(limit) - events.len() as i64).await?,
        None => Vec::new(),
    };
    Ok(session.event_page(after, events, deltas))
}

async fn read_deltas(
    snapshot: &mut Snapshot,
    sid: Sid,
    after: u64,
    limit: i64,
) -> Result<Vec<StoredDelta>, Fault> {
    let query = sqlx::query(READ_DELTAS).bind(sid.0).bind(int(after)).bind(limit);
    let delta = |row: &SqliteRow| {
        let mut c = Columns::of(row);
        Ok(StoredDelta { place: c.count()?, payload: c.payload()? })
    };
    query.fetch_all(snapshot.conn()).await?.iter().map(delta).collect()
}
