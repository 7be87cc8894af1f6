//! Messages, events, and the inbox of one session. None: there is no such session.

use holdover_store::ids::{InboxSeq, MessageSeq, SessionKey};
use holdover_store::rules::PageRoom;
use holdover_store::{
    EventCursor, EventPage, InboxPage, MessagePage, MessageRange, StoredDelta, StoredMessage,
};
use sqlx::sqlite::SqliteRow;

use super::Snapshot;
use crate::columns::{Columns, int};
use crate::error::Fault;
use crate::rows::{self, Sid};

macro_rules! in_range {
    () => {
        " FROM message WHERE sid = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?"
    };
}

macro_rules! in_stream {
    () => {
        " FROM delta WHERE sid = ? AND place > ? ORDER BY place LIMIT ?"
    };
}

// All of these run in the read transaction that has found the session.
const READ_MESSAGES: &str = concat!("SELECT seq, at, digest, payload", in_range!());
const SIZES_OF_MESSAGES: &str = concat!("SELECT length(payload)", in_range!());
const READ_DELTAS: &str = concat!("SELECT place, digest, payload", in_stream!());
const SIZES_OF_DELTAS: &str = concat!("SELECT length(payload)", in_stream!());

/// The most messages that one page brings, so that no read keeps its transaction open for long.
const MESSAGES_MAX: usize = 1_000;

pub(crate) async fn read_messages(
    snapshot: &mut Snapshot,
    key: &SessionKey,
    ranges: &[MessageRange],
) -> Result<Option<MessagePage>, Fault> {
    let Some(sid) = rows::find_sid(snapshot.conn(), key).await? else { return Ok(None) };
    let mut room = PageRoom::new(MESSAGES_MAX);
    let mut messages = Vec::new();
    for (index, range) in ranges.iter().enumerate() {
        let of_range =
            |sql: &'static str| sqlx::query(sql).bind(sid.0).bind(int(range.from.0)).bind(int(range.to.0));
        let sizes = of_range(SIZES_OF_MESSAGES).bind(rows::one_too_many(&room));
        let fit = rows::fit(snapshot.conn(), sizes, &mut room).await?;
        let found = of_range(READ_MESSAGES).bind(fit.rows).fetch_all(snapshot.conn()).await?;
        for row in &found {
            let mut c = Columns::of(row);
            messages.push(StoredMessage { seq: MessageSeq(c.count()?), at: c.at()?, payload: c.payload()? });
        }
        if fit.more {
            let next = messages.last().filter(|_| fit.rows > 0).map_or(range.from, |last| last.seq.next());
            return Ok(Some(MessagePage::cut(messages, &ranges[index..], next)));
        }
    }
    Ok(Some(MessagePage::whole(messages)))
}

pub(crate) async fn read_inbox(
    snapshot: &mut Snapshot,
    key: &SessionKey,
    after: InboxSeq,
    limit: u32,
) -> Result<Option<InboxPage>, Fault> {
    let mut room = PageRoom::new(limit as usize);
    match rows::find_sid(snapshot.conn(), key).await? {
        Some(sid) => rows::read_inbox(snapshot.conn(), sid, after, &mut room).await.map(Some),
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
    let mut room = PageRoom::new(limit as usize);
    let events = rows::read_events(snapshot.conn(), sid, place.after, &mut room).await?;
    let last = events.last().map_or(place.after, |last| last.seq);
    let deltas = match session.deltas_after(&place, last) {
        Some(read) => read_deltas(snapshot, sid, read, &mut room).await?,
        None => Vec::new(),
    };
    Ok(session.event_page(after, events, deltas))
}

async fn read_deltas(
    snapshot: &mut Snapshot,
    sid: Sid,
    after: u64,
    room: &mut PageRoom,
) -> Result<Vec<StoredDelta>, Fault> {
    let of_stream = |sql: &'static str| sqlx::query(sql).bind(sid.0).bind(int(after));
    let sizes = of_stream(SIZES_OF_DELTAS).bind(rows::one_too_many(room));
    let fit = rows::fit(snapshot.conn(), sizes, room).await?;
    let found = of_stream(READ_DELTAS).bind(fit.rows).fetch_all(snapshot.conn()).await?;
    let delta = |row: &SqliteRow| {
        let mut c = Columns::of(row);
        Ok(StoredDelta { place: c.count()?, payload: c.payload()? })
    };
    found.iter().map(delta).collect()
}
