//! Decides when the write-ahead log is written back, restarted and emptied.

use std::path::PathBuf;
use std::time::Duration;

use holdover_store::rows::{Op, Write};
use rusqlite::Connection;

use crate::error::Fault;

/// The size of the header of each page in the log, in bytes.
const FRAME_HEAD: u64 = 24;
/// The log file may grow to this multiple of `bytes_max`; the write-back of a longer file empties it.
const FILE_KEPT: u64 = 2;
/// The time that a write-back waits for readers.
const WAIT: Duration = Duration::from_millis(100);

/// Returns how many pages were written to the log since it was last restarted. Changes nothing.
const READ: &str = "PRAGMA wal_checkpoint(NOOP)";
/// Writes the log back. From then on the log is written from its start again, in the space that it already has. If
/// the file grew instead, the file system would have work for each page, and each sync would have to write the new
/// file length.
const RESTART: &str = "PRAGMA wal_checkpoint(RESTART)";
/// Writes the log back and leaves an empty file.
const EMPTY: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// The state of the log, as far as the writer knows it.
pub(crate) struct Log {
    file: PathBuf,
    bytes_max: u64,
    /// The size of a page of this database, in bytes.
    pub(crate) page_bytes: u64,
    /// The size in bytes at which the log is written back next.
    written_back_at: u64,
    /// True if the log may hold data that was removed since the log was last emptied.
    holds_removed: bool,
    /// True if the log is to be emptied as soon as no write waits.
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

    /// Notes that data was removed, so the log must be emptied soon.
    pub(crate) fn empty_soon(&mut self) {
        (self.holds_removed, self.empties_soon) = (true, true);
    }

    /// Writes the log back if it is long, or if data was removed and no write waits (`idle`). Returns true if all of
    /// it was written back. That is not possible while a reader holds an old view; the next try then comes once the
    /// log has grown by `bytes_max` more.
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
        // Tried only once, because otherwise each write would try again for as long as a reader stays.
        self.empties_soon = false;
        let file = std::fs::metadata(&self.file).map_or(0, |file| file.len());
        // The file is long if readers prevented earlier write-backs.
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

/// Writes the log back with the statement `how`. Returns true if all of it was written back.
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

/// Returns true if a write removes a session or checkpoints, whose data must not stay in the log.
pub(crate) fn erases(write: &Write) -> bool {
    write.ends_life() || write.ops.iter().any(|op| matches!(op, Op::DeleteUpTo(..)))
}
