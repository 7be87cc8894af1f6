//! Opens connections to a database file, checks the requirements, and reads the settings back.

use std::path::Path;
use std::time::{Duration, Instant};

use holdover_store::{Capabilities, CommitSurvives, Retry, SharedBy, StoreError, StoreErrorKind};
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use rusqlite::{Connection, OpenFlags};

use crate::error::Fault;
use crate::guard::Guard;
use crate::migration;
use crate::options::{SqliteOptions, Synchronous};
use crate::place::Place;
use crate::rights::{self, Frozen, Look};

/// The oldest SQLite version that is accepted. Earlier ones can corrupt a WAL database that two connections use.
const VERSION_MIN: [u32; 3] = [3, 51, 3];

/// The interval at which a lock is tried again if SQLite itself does not wait for it.
const LOCK_RETRY_EVERY: Duration = Duration::from_millis(10);

/// The log target for statements. A connection logs its statements at level `trace` if the target is enabled when the
/// connection is opened.
const STATEMENTS: &str = "holdover_store_sqlite::statement";

/// The number of prepared statements kept per connection.
const STATEMENTS_KEPT: usize = 256;

/// The page size of a new file, in bytes; an existing file keeps its own. A result of some kilobytes has pages of its
/// own, the last of which is half empty on average, and each commit logs whole pages. Small pages waste less space
/// and shorten the log.
const PAGE_BYTES: u32 = 2048;

/// Syncs the log, because SQLite does so before it copies pages. Runs outside any transaction and waits for no reader
/// or writer.
const SYNC_RECOVERED: &str = "PRAGMA wal_checkpoint(PASSIVE)";
const READ_LIBRARY: &str = "SELECT sqlite_version()";
const SET_WAL: &str = "PRAGMA journal_mode = WAL";
const READ_JOURNAL: &str = "PRAGMA journal_mode";
const READ_SYNCHRONOUS: &str = "PRAGMA synchronous";
const READ_MMAP: &str = "PRAGMA mmap_size";
const READ_PAGE_SIZE: &str = "PRAGMA page_size";

/// Opens connections to one checked file.
pub(crate) struct Connector {
    place: Place,
    options: SqliteOptions,
    look: Look,
    guard: Guard,
}

/// The result of [`Connector::open`].
pub(crate) struct Opened {
    pub(crate) writer: Connection,
    pub(crate) page_bytes: u64,
    pub(crate) capabilities: Capabilities,
}

impl Connector {
    pub(crate) fn new(options: SqliteOptions) -> Result<Self, StoreError> {
        let place = Place::check(&options.path)?;
        let refuse = |why: String| {
            let detail = format!("{}: {why}", place.file.display());
            StoreError::new(StoreErrorKind::Unavailable, "open", detail).retry(Retry::Never)
        };
        let look = match rights::unwritable(&place.file) {
            None => Look::Shared,
            Some(_) if options.as_it_is => Look::at(&place.file).map_err(refuse)?,
            Some(why) => return Err(refuse(format!("read-only for this user: {why}"))),
        };
        Ok(Self { place, options, look, guard: Guard::default() })
    }

    /// Returns the path of the file, in the one form that all handles of this process use.
    pub(crate) fn file(&self) -> &Path {
        &self.place.file
    }

    /// Returns the mark that shows whether the file was written. Returns none if the file is read with locks.
    pub(crate) fn frozen(&self) -> Option<Frozen> {
        match &self.look {
            Look::Frozen(frozen) => Some(frozen.clone()),
            Look::Shared => None,
        }
    }

    /// Returns the sync setting of a newly opened connection.
    pub(crate) fn synchronous(&self) -> Synchronous {
        self.options.synchronous
    }

    /// Returns the path of the write-ahead log beside the file.
    pub(crate) fn wal_file(&self) -> std::path::PathBuf {
        rights::log(&self.place.file)
    }

    /// Returns the guard of the connection that writes.
    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    pub(crate) fn busy_timeout(&self) -> Duration {
        self.options.busy_timeout
    }

    pub(crate) fn readers_max(&self) -> u32 {
        self.options.readers_max
    }

    /// Connects, checks the file, and reads back the settings on which the capabilities depend. Creates a missing file
    /// and migrates an old schema, unless the file is opened only for inspection.
    pub(crate) fn open(&self) -> Result<Opened, StoreError> {
        let name = self.place.file.display().to_string();
        if !self.options.as_it_is {
            rights::make(&self.place.file)
                .map_err(|error| self.refuse("it cannot be made".into()).because(error))?;
        }
        let writer = self.connect()?;
        let library = self.text(&writer, READ_LIBRARY)?;
        if !is_sound(&library) {
            let [major, minor, patch] = VERSION_MIN;
            return Err(self.refuse(format!("SQLite {library} is linked, {major}.{minor}.{patch} is needed")));
        }
        let schema = migration::inspect(&writer, &name)?;
        if self.options.as_it_is && !migration::is_newest(schema) {
            return Err(self.refuse(format!("{schema}; it is brought up to date by whoever uses it next")));
        }
        if self.look == Look::Shared {
            self.ask_for_wal(&writer)?;
        }
        if !migration::is_newest(schema) {
            migration::migrate(&writer, &name)?;
        }
        self.bound_file(&writer)?;
        if !self.options.as_it_is {
            self.sync_recovered(&writer)?;
        }
        let mut settings = self.read_settings(&writer, &library)?;
        settings.push(("schema".into(), migration::NEWEST.to_string()));
        let page_bytes = u64::try_from(self.number(&writer, READ_PAGE_SIZE)?).unwrap_or_default();
        Ok(Opened { writer, page_bytes, capabilities: self.capabilities(&library, settings) })
    }

    /// Opens the writer connection again, after it failed.
    pub(crate) fn reopen(&self) -> Result<Connection, StoreError> {
        let writer = self.connect()?;
        self.bound_file(&writer)?;
        self.sync_recovered(&writer)?;
        Ok(writer)
    }

    /// Opens a connection that only reads.
    pub(crate) fn connect_reader(&self) -> Result<Connection, Fault> {
        let conn = self.connect_plain()?;
        conn.execute_batch("PRAGMA query_only = ON")?;
        Ok(conn)
    }

    /// Syncs a log that was recovered after a crash. The log may hold a commit that was written but never synced. A
    /// repeat of that commit is acknowledged without a write, so the commit must be synced here.
    fn sync_recovered(&self, conn: &Connection) -> Result<(), StoreError> {
        conn.query_row(SYNC_RECOVERED, [], |_| Ok(())).map_err(|error| self.failed(error))
    }

    /// Opens a connection that writes.
    fn connect(&self) -> Result<Connection, StoreError> {
        let conn = self.connect_plain().map_err(|fault| self.fault(fault))?;
        self.guard.watch(&conn).map_err(|error| self.failed(error))?;
        Ok(conn)
    }

    fn connect_plain(&self) -> Result<Connection, Fault> {
        // The connection is used by one thread at a time.
        let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = if let Look::Frozen(_) = self.look {
            flags |= OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable(&self.place.file), flags)?
        } else {
            flags |= OpenFlags::SQLITE_OPEN_READ_WRITE;
            Connection::open_with_flags(&self.place.file, flags)?
        };
        conn.busy_timeout(self.options.busy_timeout)?;
        conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        // No automatic checkpoints: the writer makes them between transactions. `fullfsync`: on some systems other
        // than Linux, an fsync alone may leave data in the drive's cache. `secure_delete` overwrites deleted data. A
        // pragma takes no bound values; these are constants of this crate.
        conn.execute_batch(&format!(
            "PRAGMA page_size = {PAGE_BYTES}; PRAGMA foreign_keys = OFF; PRAGMA synchronous = {}; \
             PRAGMA wal_autocheckpoint = 0; PRAGMA mmap_size = 0; PRAGMA fullfsync = ON; \
             PRAGMA checkpoint_fullfsync = ON; PRAGMA secure_delete = ON",
            self.options.synchronous.as_str()
        ))?;
        if tracing::enabled!(target: STATEMENTS, tracing::Level::TRACE) {
            conn.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(tell));
        }
        Ok(conn)
    }

    /// Switches the file to the write-ahead log. The first change of mode needs exclusive access, for which SQLite
    /// does not wait. The loop therefore retries, so that several processes can open a new file at once.
    fn ask_for_wal(&self, conn: &Connection) -> Result<(), StoreError> {
        let began = Instant::now();
        loop {
            match conn.query_row(SET_WAL, [], |_| Ok(())) {
                Ok(()) => return Ok(()),
                Err(error) => {
                    let fault = Fault::from(error);
                    if !fault.is_busy() || began.elapsed() > self.options.busy_timeout {
                        return Err(self.fault(fault));
                    }
                    std::thread::sleep(LOCK_RETRY_EVERY);
                }
            }
        }
    }

    /// Sets the maximum size of the file, which SQLite keeps per connection.
    fn bound_file(&self, conn: &Connection) -> Result<(), StoreError> {
        let Some(bytes) = self.options.file_bytes_max else { return Ok(()) };
        let page = self.number(conn, READ_PAGE_SIZE)?.max(1);
        let pages = (i64::try_from(bytes).unwrap_or(i64::MAX) / page).clamp(1, i64::from(u32::MAX - 1));
        // A pragma takes no bound values; this value is a number.
        let sql = format!("PRAGMA max_page_count = {pages}");
        conn.query_row(&sql, [], |_| Ok(())).map_err(|error| self.failed(error))
    }

    fn read_settings(&self, conn: &Connection, library: &str) -> Result<Vec<(String, String)>, StoreError> {
        let journal = match self.look {
            Look::Shared => self.text(conn, READ_JOURNAL)?,
            // A file that is read without locks has no journal, so SQLite is not asked.
            Look::Frozen(_) => "wal".to_owned(),
        };
        if journal != "wal" {
            return Err(self.refuse(format!("the journal mode is {journal}, WAL was asked for")));
        }
        let synchronous = match self.number(conn, READ_SYNCHRONOUS)? {
            1 => Synchronous::Normal,
            2 => Synchronous::Full,
            other => return Err(self.refuse(format!("synchronous is {other}, 1 or 2 was asked for"))),
        };
        if synchronous != self.options.synchronous {
            return Err(self.refuse(format!("synchronous is {}", synchronous.as_str())));
        }
        let mmap = self.number(conn, READ_MMAP)?;
        if mmap != 0 {
            return Err(self.refuse(format!("mmap_size is {mmap}, 0 was asked for")));
        }
        let page_size = self.number(conn, READ_PAGE_SIZE)?;
        let busy = self.options.busy_timeout.as_millis();
        Ok(vec![
            ("sqlite_version".into(), library.into()),
            ("journal_mode".into(), journal),
            ("synchronous".into(), synchronous.as_str().into()),
            ("filesystem".into(), self.place.filesystem.into()),
            ("page_size".into(), page_size.to_string()),
            ("mmap_size".into(), mmap.to_string()),
            ("busy_timeout_ms".into(), busy.to_string()),
            ("wal_bytes_max".into(), self.options.wal_bytes_max.to_string()),
        ])
    }

    fn capabilities(&self, library: &str, settings: Vec<(String, String)>) -> Capabilities {
        let commit_survives = match self.options.synchronous {
            Synchronous::Full if !self.place.volatile => CommitSurvives::PowerCut,
            Synchronous::Full | Synchronous::Normal => CommitSurvives::ProcessKill,
        };
        Capabilities {
            backend: format!("SQLite {library}"),
            commit_survives,
            shared_by: SharedBy::Machine,
            change_hints_across_processes: false,
            forks: true,
            retention: true,
            payload_bytes_max: self.options.payload_bytes_max,
            commit_bytes_max: self.options.commit_bytes_max,
            settings,
        }
    }

    fn text(&self, conn: &Connection, sql: &str) -> Result<String, StoreError> {
        conn.query_row(sql, [], |row| row.get(0)).map_err(|error| self.failed(error))
    }

    fn number(&self, conn: &Connection, sql: &str) -> Result<i64, StoreError> {
        conn.query_row(sql, [], |row| row.get(0)).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        self.fault(Fault::from(error))
    }

    fn fault(&self, fault: Fault) -> StoreError {
        let mut error = fault.of("open", None);
        error.detail = if error.detail.is_empty() {
            self.place.file.display().to_string()
        } else {
            format!("{}: {}", self.place.file.display(), error.detail)
        };
        error
    }

    fn refuse(&self, why: String) -> StoreError {
        let detail = format!("{}: {why}", self.place.file.display());
        StoreError::new(StoreErrorKind::Unavailable, "open", detail).retry(Retry::Never)
    }
}

/// Logs a statement when it begins. Values are bound, so the text contains no session data.
fn tell(event: TraceEvent<'_>) {
    if let TraceEvent::Stmt(statement, _) = event {
        tracing::trace!(target: STATEMENTS, sql = %statement.sql());
    }
}

/// Returns a URI of the file that tells SQLite that no process writes the file.
fn immutable(file: &Path) -> String {
    use std::fmt::Write as _;
    let mut uri = "file:".to_owned();
    for byte in file.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(*byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri + "?immutable=1"
}

fn is_sound(library: &str) -> bool {
    let mut parts = library.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let version = [(); 3].map(|()| parts.next().unwrap_or(0));
    version >= VERSION_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_can_corrupt_a_wal_database_are_refused() {
        for (library, sound) in [
            ("3.51.3", true),
            ("3.51.2", false),
            ("3.52", true),
            ("3.9.99", false),
            ("4.0.0", true),
            ("", false),
        ] {
            assert_eq!(is_sound(library), sound, "{library}");
        }
    }
}
