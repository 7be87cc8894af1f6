//! Events: those of one commit are one row.

use holdover_store::StoredEvent;
use holdover_store::ids::EventSeq;
use holdover_store::payload::Payload;
use holdover_store::rules::PageRoom;
use holdover_store::time::Timestamp;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::{Sid, fit, json_list, one_too_many};
use crate::columns::{Columns, int};
use crate::error::Fault;
use crate::job::Tx;

macro_rules! after {
    () => {
        " FROM event WHERE sid = ? AND seq > ? ORDER BY seq LIMIT ?"
    };
}

/// In a write transaction that has read and decided on the session row.
const APPEND: &str = "INSERT INTO event (sid, seq, at, digest, payload, sizes) VALUES (?,?,?,?,?,?)";
/// In the read transaction that has found the session. A row whose last event lies after a place may begin
/// before it.
const READ: &str = concat!("SELECT seq, at, digest, payload, sizes", after!());
const SIZES: &str = concat!("SELECT length(payload)", after!());

/// Appends the events of one commit after place `last`.
pub(crate) async fn append_events(
    tx: &mut Tx<'_>,
    sid: Sid,
    last: u64,
    events: &[Payload],
    at: Timestamp,
) -> Result<(), Fault> {
    let (row, sizes) = match events {
        [] => return Ok(()),
        [one] => (one.clone(), None),
        several => {
            let bytes: Vec<&[u8]> = several.iter().map(|event| event.bytes().as_ref()).collect();
            (Payload::new(bytes.concat()), Some(json_list(several.iter().map(Payload::len))?))
        }
    };
    let query = sqlx::query(APPEND)
        .bind(sid.0)
        .bind(int(last + events.len() as u64))
        .bind(at.as_ms())
        .bind(row.digest().0.to_vec())
        .bind(row.bytes().to_vec())
        .bind(sizes);
    tx.write(query).await?;
    Ok(())
}

/// The first events after place `after`, as far as there is room.
pub(crate) async fn read_events(
    conn: &mut SqliteConnection,
    sid: Sid,
    after: EventSeq,
    room: &mut PageRoom,
) -> Result<Vec<StoredEvent>, Fault> {
    let of_session = |sql: &'static str| sqlx::query(sql).bind(sid.0).bind(int(after.0));
    // Each row holds at least one of them, and the first perhaps more than there is room for.
    let fit = fit(conn, of_session(SIZES).bind(one_too_many(room)), &mut room.clone()).await?;
    let rows = of_session(READ).bind(fit.rows).fetch_all(conn).await?;
    let mut events = Vec::new();
    for row in &rows {
        unpack(row, &mut events)?;
    }
    events.retain(|event| event.seq > after && room.takes(event.payload.len()));
    Ok(events)
}

fn unpack(row: &SqliteRow, events: &mut Vec<StoredEvent>) -> Result<(), Fault> {
    let mut c = Columns::of(row);
    let (last, at, payload) = (c.count::<u64>()?, c.at()?, c.payload()?);
    let Some(sizes) = c.record_or_null::<Vec<usize>>()? else {
        events.push(StoredEvent { seq: EventSeq(last), at, payload });
        return Ok(());
    };
    let torn = || Fault::Corrupt(format!("event {last}: its sizes do not go with its payload"));
    let mut seq = last.checked_sub(sizes.len() as u64).ok_or_else(torn)?;
    let mut rest = payload.bytes().clone();
    for size in sizes {
        if size > rest.len() {
            return Err(torn());
        }
        seq += 1;
        events.push(StoredEvent { seq: EventSeq(seq), at, payload: Payload::new(rest.split_to(size)) });
    }
    if rest.is_empty() { Ok(()) } else { Err(torn()) }
}
