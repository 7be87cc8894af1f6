//! The remains of removed sessions.
//!
//! A session may have grown for years. Removing it in one transaction would block all other writes for seconds.
//! Therefore the session disappears at once for every reader, and its rows are removed piece by piece, each piece in
//! a transaction of its own. No reader finds these rows, because only the row of the session leads to them. After a
//! crash in between, the next process that opens the file removes the rest.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use crate::error::Fault;

/// The most rows that one transaction removes.
const ROWS_MAX: usize = 500;
/// The bytes of removed payloads after which a transaction removes no more rows.
const BYTES_MAX: u64 = 1 << 20;

/// A table with many rows of one session.
struct Table {
    name: &'static str,
    /// The column by which the rows of one session are ordered.
    place: &'static str,
    /// The SQL expression for the bytes of payload in a row.
    bytes: &'static str,
}

/// All tables with many rows of one session, except the tables by which lists find a session or its pending calls.
/// The rows of those are removed together with the session's row.
const TABLES: [Table; 9] = [
    Table { name: "message", place: "seq", bytes: "length(payload)" },
    Table { name: "event", place: "seq", bytes: "length(payload)" },
    Table { name: "checkpoint", place: "id", bytes: "length(payload)" },
    Table { name: "item", place: "key", bytes: "coalesce(length(payload), 0)" },
    Table { name: "staged", place: "call", bytes: "length(payload)" },
    Table { name: "start_mark", place: "call", bytes: "0" },
    Table { name: "opened", place: "id", bytes: "0" },
    Table { name: "run", place: "epoch", bytes: "coalesce(length(detail), 0)" },
    Table { name: "delta", place: "place", bytes: "length(payload)" },
];

/// Removes the first rows of a session, in the transaction that removes the session itself. Notes the session if
/// rows are left.
pub(crate) fn begin(conn: &Connection, sid: i64) -> Result<(), Fault> {
    if !piece(conn, sid)? {
        conn.prepare_cached("INSERT INTO holdover_removed (sid) VALUES (?)")?.execute([sid])?;
    }
    Ok(())
}

/// Returns the row id of the first removed session that still has rows, if there is one.
pub(crate) fn first(conn: &Connection) -> Result<Option<i64>, Fault> {
    let mut first = conn.prepare_cached("SELECT min(sid) FROM holdover_removed")?;
    Ok(first.query_row([], |row| row.get::<_, Option<i64>>(0)).optional()?.flatten())
}

/// Removes more of the rows that are left of a session.
pub(crate) fn go_on(conn: &Connection, sid: i64) -> Result<(), Fault> {
    if piece(conn, sid)? {
        conn.prepare_cached("DELETE FROM holdover_removed WHERE sid = ?")?.execute([sid])?;
    }
    Ok(())
}

/// Removes as many rows as one transaction may. Returns true if none is left.
fn piece(conn: &Connection, sid: i64) -> Result<bool, Fault> {
    let mut room = Room { rows: ROWS_MAX, bytes: BYTES_MAX };
    for table in &TABLES {
        if !room.remove(conn, sid, table)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The rows and bytes that the transaction may still remove.
struct Room {
    rows: usize,
    bytes: u64,
}

impl Room {
    /// Removes rows of a session from a table. Returns true if none is left there.
    fn remove(
        &mut self,
        conn: &Connection,
        sid: i64,
        Table { name, place, bytes }: &Table,
    ) -> Result<bool, Fault> {
        let mut find = conn
            .prepare_cached(&format!("SELECT {place}, {bytes} FROM {name} WHERE sid = ? ORDER BY {place}"))?;
        let mut found = find.query([sid])?;
        let (mut last, mut is_cut) = (None, false);
        while let Some(row) = found.next()? {
            if self.rows == 0 || self.bytes == 0 {
                is_cut = true;
                break;
            }
            self.rows -= 1;
            self.bytes = self.bytes.saturating_sub(row.get::<_, i64>(1)?.unsigned_abs());
            last = Some(row.get::<_, Value>(0)?);
        }
        drop(found);
        if let Some(last) = last {
            let sql = format!("DELETE FROM {name} WHERE sid = ? AND {place} <= ?");
            conn.prepare_cached(&sql)?.execute((sid, last))?;
        }
        Ok(!is_cut)
    }
}

#[cfg(test)]
mod tests {
    use holdover_store::ids::{Incarnation, SessionKey, StateFormat};
    use holdover_store::payload::Payload;
    use holdover_store::rows::Token;
    use holdover_store::rules::SessionRow;
    use holdover_store::time::Timestamp;
    use holdover_store::{Labels, NewSession, Start};

    use super::*;
    use crate::due::tests::File;
    use crate::{apply, session};

    /// Counts the rows of this session in all tables.
    fn left(conn: &Connection, sid: i64) -> usize {
        let count = |table: &Table| {
            let sql = format!("SELECT count(*) FROM {} WHERE sid = ?", table.name);
            conn.query_row(&sql, [sid], |row| row.get::<_, i64>(0)).unwrap()
        };
        TABLES.iter().map(count).sum::<i64>().unsigned_abs() as usize
    }

    /// Inserts `count` messages of `bytes` bytes each, half as many events of that size, and the ids of at most three
    /// opened calls.
    fn put(conn: &Connection, sid: i64, count: usize, bytes: usize) {
        conn.execute_batch(&format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count}) \
             INSERT INTO message (sid, seq, at, digest, payload) SELECT {sid}, n, 0, x'', zeroblob({bytes}) FROM n; \
             INSERT INTO event (sid, seq, at, digest, payload, sizes) \
             SELECT sid, seq, 0, x'', payload, '' FROM message WHERE sid = {sid} AND seq % 2 = 0; \
             INSERT INTO opened (sid, id) SELECT sid, 'p' || seq FROM message WHERE sid = {sid} AND seq < 4;"
        ))
        .unwrap();
    }

    /// Removes a session and returns how many rows each transaction removed.
    fn pieces(conn: &Connection, sid: i64) -> Vec<usize> {
        let mut before = left(conn, sid);
        let mut pieces = Vec::new();
        let mut note = |conn: &Connection| {
            let now = left(conn, sid);
            pieces.push(before - now);
            before = now;
        };
        apply::delete(conn, sid).unwrap();
        note(conn);
        while let Some(first) = first(conn).unwrap() {
            assert_eq!(first, sid);
            go_on(conn, sid).unwrap();
            note(conn);
        }
        assert_eq!(before, 0);
        pieces
    }

    #[test]
    fn no_transaction_removes_more_rows_or_bytes_than_it_may() {
        let file = File::new();
        let conn = &file.conn;
        for sid in 1..=4 {
            put(conn, sid, 20, 10);
        }
        assert_eq!(pieces(conn, 1), [33], "a short one goes at once");

        put(conn, 5, 1_500, 10);
        assert_eq!(pieces(conn, 5), [500, 500, 500, 500, 253]);

        put(conn, 6, 30, 300 << 10);
        // The fourth row reaches the limit of bytes.
        assert_eq!(pieces(conn, 6), [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4]);

        put(conn, 7, 2, 5 << 20);
        assert_eq!(pieces(conn, 7), [1, 1, 1, 2], "one that is larger goes alone");
        assert_eq!((2..=4).map(|sid| left(conn, sid)).collect::<Vec<_>>(), [33; 3], "others stay");
    }

    #[test]
    fn a_new_session_never_finds_what_is_left_of_another() {
        let file = File::new();
        file.put("s", 3, "'t'", 1, "NULL");
        let newest =
            || file.conn.query_row("SELECT max(sid) FROM session", [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(newest(), 3);
        put(&file.conn, 3, 1_000, 10);
        apply::delete(&file.conn, 3).unwrap();
        assert!(left(&file.conn, 3) > 0);
        let new = NewSession {
            key: SessionKey::new("t".parse().unwrap(), "next".parse().unwrap()),
            incarnation: Incarnation(uuid::Uuid::from_u128(1)),
            operation: "o".parse().unwrap(),
            queue: "q".parse().unwrap(),
            labels: Labels::default(),
            definition: Payload::new("{}"),
            format: StateFormat(1),
            items: vec![],
            start: Start::WithItems,
        };
        let row = SessionRow::create(&new, Timestamp::from_ms(0));
        let sid = session::insert(&file.conn, Token(1), &row).unwrap();
        assert_eq!((sid, left(&file.conn, sid)), (4, 0));
    }
}
