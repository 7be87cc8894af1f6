//! The write-ahead log: when it is written back and started again, and when it is emptied.

use std::path::PathBuf;
use std::time::Duration;

use holdover_store::rows::{Op, Write};
use rusqlite::Connection;

use crate::error::Fault;

/// What stands in the log beside each page, in bytes.
const FRAME_HEAD: u64 = 24;
/// The file of the log is kept up to so many times the size at which it is written back.
const FILE_KEPT: u64 = 2;
/// How long a write-back waits for readers.
const WAIT: Duration = Duration::from_millis(100);

/// How many pages the log holds that were written since it was begun anew. It does nothing.
const READ: &str = "PRAGMA wal_checkpoint(NOOP)";
/// Writes it back. From then on it is written from its start again, in the room that it has. In a file that grows, the file
/// system would have work with each page, and each sync a length to write.
const RESTART: &str = "PRAGMA wal_checkpoint(RESTART)";
/// Writes it back and leaves an empty file.
const EMPTY: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// What the writer knows of the log.
pub(crate) struct Log {
    file: PathBuf,
    bytes_max: u64,
    /// The size of a page of this database.
    pub(crate) page_bytes: u64,
    /// How many bytes the log holds when it is written back next.
    written_back_at: u64,
    /// Whether it may hold what was removed since it was last emptied.
    holds_removed: bool,
    /// Whether it is to be emptied as soon as nobody waits.
    empties_soon: bool,
}

impl Log {
    pub(crate) fn new(file: PathBuf, bytes_max: u64) -> Self {
        Self {
            file,
            bytes_max,
            page_bytes: 0,
            written_back_at: bytes_max,
            holds_removed: false,
            empties_soon: false,
        }
    }

    /// Something was removed, and what the log holds of it is not to stay.
    pub(crate) fn empty_soon(&mut self) {
        (self.holds_removed, self.empties_soon) = (true, true);
    }

    /// Writes the log back if it is long, or if something was removed and nobody waits (`idle`). Answers whether it was. While
    /// readers hold an old view of it that cannot be; then the next try comes when it has grown by as much again.
    pub(crate) fn keep_short(
        &mut self,
        conn: &Connection,
        idle: bool,
        busy_timeout: Duration,
    ) -> Result<bool, Fault> {
        let pages = conn.prepare_cached(READ)?.query_row([], |row| row.get::<_, i64>(1))?;
        let held = u64::try_from(pages).unwrap_or_default().saturating_mul(self.page_bytes + FRAME_HEAD);
        if held < self.written_back_at && !(self.empties_soon && idle) {
            return Ok(false);
        }
        self.written_back_at = held.saturating_add(self.bytes_max);
        // Once: else it would be tried with each write for as long as a reader stays.
        self.empties_soon = false;
        let file = std::fs::metadata(&self.file).map_or(0, |file| file.len());
        // Where readers had held it back, its file has become long.
        let is_long = file / FILE_KEPT > self.bytes_max;
        let how = if is_long || self.holds_removed { EMPTY } else { RESTART };
        let done = write_back(conn, how, busy_timeout)?;
        if done {
            self.holds_removed = false;
            self.written_back_at = self.bytes_max;
        }
        Ok(done)
    }
}

/// Whether the log was written back as a whole.
fn write_back(conn: &Connection, how: &str, busy_timeout: Duration) -> Result<bool, Fault> {
    conn.busy_timeout(WAIT)?;
    let busy = conn.query_row(how, [], |row| row.get::<_, i64>(0));
    conn.busy_timeout(busy_timeout)?;
    match busy.map_err(Fault::from) {
        Ok(busy) => Ok(busy == 0),
        Err(fault) if fault.is_busy() => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Whether a write takes away what people have said, so that nothing of it is to be left.
pub(crate) fn erases(write: &Write) -> bool {
    write.ends_life() || write.ops.iter().any(|op| matches!(op, Op::DeleteUpTo(..)))
}
