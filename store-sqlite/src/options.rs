//! Options for opening a store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use holdover_store::StoreError;
use holdover_store::time::{Clock, Timestamp};

const MIB: usize = 1024 * 1024;

/// The setting that decides when commits are synced, and so which failures an acknowledged commit survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Each commit is synced before it is acknowledged, so it survives a power cut. Deltas are provisional and are
    /// not synced separately.
    #[default]
    Full,
    /// Commits are synced only when the write-ahead log is written back, so a power cut may undo the last ones. They
    /// survive the death of the process, and the database is never corrupted.
    Normal,
}

impl Synchronous {
    /// Returns SQLite's name of the setting.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }

    /// Returns the pragma that chooses the setting. It must run outside any transaction.
    pub(crate) fn pragma(self) -> &'static str {
        match self {
            Self::Full => "PRAGMA synchronous = FULL",
            Self::Normal => "PRAGMA synchronous = NORMAL",
        }
    }
}

/// The clock of the machine, which all processes on one database share.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH.after(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

/// The location of the database and the settings with which it is used.
#[derive(Clone)]
pub struct SqliteOptions {
    pub(crate) path: PathBuf,
    pub(crate) synchronous: Synchronous,
    pub(crate) busy_timeout: Duration,
    pub(crate) readers_max: u32,
    pub(crate) payload_bytes_max: usize,
    pub(crate) commit_bytes_max: usize,
    pub(crate) wal_bytes_max: u64,
    pub(crate) file_bytes_max: Option<u64>,
    pub(crate) as_it_is: bool,
    pub(crate) clock: Arc<dyn Clock>,
}

impl SqliteOptions {
    /// The largest single payload in bytes, unless a lower limit is set.
    pub const PAYLOAD_BYTES_MAX: usize = 64 * MIB;
    /// The largest write in bytes, all payloads together, unless a lower limit is set.
    pub const COMMIT_BYTES_MAX: usize = 128 * MIB;
    /// The default size in bytes at which the write-ahead log is written back and restarted.
    pub const WAL_BYTES_MAX: u64 = 8 * MIB as u64;
    /// The default time that one call waits for other processes that hold the database.
    pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(5);
    /// The default for the most reads that run at once.
    pub const READERS_MAX: u32 = 4;

    /// Creates options for the database at `path`, with safe settings. Opening the store creates the file if it does
    /// not exist. The folder must exist.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            synchronous: Synchronous::Full,
            busy_timeout: Self::OPERATION_TIMEOUT,
            readers_max: Self::READERS_MAX,
            payload_bytes_max: Self::PAYLOAD_BYTES_MAX,
            commit_bytes_max: Self::COMMIT_BYTES_MAX,
            wal_bytes_max: Self::WAL_BYTES_MAX,
            file_bytes_max: None,
            as_it_is: false,
            clock: Arc::new(SystemClock),
        }
    }

    /// Creates options for the database named by `sqlite:path` (or `sqlite://path`). The path is taken as it is
    /// written.
    ///
    /// # Errors
    /// Fails for another scheme, an empty path, or options after a `?`: no options are known, and none is ignored.
    pub fn from_url(url: &str) -> Result<Self, StoreError> {
        let path = url
            .strip_prefix("sqlite:")
            .ok_or_else(|| StoreError::invalid("open", "a SQLite URL begins with sqlite:"))?;
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.is_empty() {
            return Err(StoreError::invalid("open", "the SQLite URL names no file"));
        }
        if path.contains('?') {
            return Err(StoreError::invalid("open", format!("{path}: a SQLite URL takes no options")));
        }
        Ok(Self::new(path))
    }

    /// Sets when commits are synced. [`Synchronous::Normal`] lowers what the capabilities promise.
    #[must_use]
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Sets how long one call waits for other processes that hold the database, at most an hour. Then the call fails
    /// with an error that says that a retry may succeed. A read waits as long, but at least a second, for one of the
    /// [reading connections](Self::readers_max) to be free. The timeout also limits how long a
    /// [transaction](crate::SqliteTransaction) of the caller may stay open.
    #[must_use]
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout.min(Duration::from_secs(3600));
        self
    }

    /// Sets how many reads may run at once, at least one.
    #[must_use]
    pub fn readers_max(mut self, readers_max: u32) -> Self {
        self.readers_max = readers_max.max(1);
        self
    }

    /// Lowers the limit of a single payload, in bytes. The limit is at most [`Self::PAYLOAD_BYTES_MAX`].
    #[must_use]
    pub fn payload_bytes_max(mut self, bytes: usize) -> Self {
        self.payload_bytes_max = bytes.min(Self::PAYLOAD_BYTES_MAX);
        self
    }

    /// Lowers the limit of a write in bytes, all payloads together. The limit is at most
    /// [`Self::COMMIT_BYTES_MAX`].
    #[must_use]
    pub fn commit_bytes_max(mut self, bytes: usize) -> Self {
        self.commit_bytes_max = bytes.min(Self::COMMIT_BYTES_MAX);
        self
    }

    /// Sets how many bytes of commits the write-ahead log holds before it is written back and restarted. The log file
    /// keeps about that size until the last handle is closed, which removes the file. The file grows longer while a
    /// reader holds an old view.
    #[must_use]
    pub fn wal_bytes_max(mut self, bytes: u64) -> Self {
        self.wal_bytes_max = bytes;
        self
    }

    /// Bounds the size of the database file, in bytes. A write that would pass the bound fails with
    /// [`Full`](holdover_store::StoreErrorKind::Full).
    #[must_use]
    pub fn file_bytes_max(mut self, bytes: u64) -> Self {
        self.file_bytes_max = Some(bytes);
        self
    }

    /// Opens the database only for inspection, and only if it exists and its schema is up to date. Opening creates
    /// nothing, changes no schema, and does not write the log back, because that fails on a full disk.
    ///
    /// The file may be one that this user cannot write. If this user cannot create its log either, the store assumes
    /// that no process writes the file. The assumption holds while the file has no log with commits and does not
    /// change; after a change, every read fails until the store is opened again. If the file has a log with commits,
    /// this user can read it only if the log's index exists.
    #[must_use]
    pub fn as_it_is(mut self) -> Self {
        self.as_it_is = true;
        self
    }

    /// Uses `clock` instead of the machine's clock. All handles on one database must share one clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }
}

impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOptions")
            .field("path", &self.path)
            .field("synchronous", &self.synchronous)
            .field("busy_timeout", &self.busy_timeout)
            .field("readers_max", &self.readers_max)
            .field("payload_bytes_max", &self.payload_bytes_max)
            .field("commit_bytes_max", &self.commit_bytes_max)
            .field("wal_bytes_max", &self.wal_bytes_max)
            .field("file_bytes_max", &self.file_bytes_max)
            .field("as_it_is", &self.as_it_is)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_file_and_nothing_else() {
        let path = |url: &str| SqliteOptions::from_url(url).map(|options| options.path).ok();
        assert_eq!(path("sqlite:a%b.db"), Some("a%b.db".into()));
        assert_eq!(path("sqlite://a.db"), Some("a.db".into()));
        assert_eq!(path("sqlite:///tmp/a.db"), Some("/tmp/a.db".into()));
        for bad in ["a.db", "postgres://a", "sqlite:", "sqlite://", "sqlite:a.db?synchronous=off"] {
            assert_eq!(path(bad), None, "{bad}");
        }
    }
}
