//! Opens connections, checks what they rest on, and reads the settings back.

use std::path::Path;
use std::time::{Duration, Instant};

use holdover_store::{Capabilities, CommitSurvives, Retry, SharedBy, StoreError, StoreErrorKind};
use log::LevelFilter;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use crate::columns::Columns;
use crate::error::Fault;
use crate::migration;
use crate::options::{SqliteOptions, Synchronous};
use crate::place::Place;
use crate::rights::{self, Frozen, Look};

/// Earlier libraries can corrupt a WAL database that two connections use.
const VERSION_MIN: [u32; 3] = [3, 51, 3];

/// How often a lock that SQLite does not wait for itself is asked for again.
const LOCK_RETRY_EVERY: Duration = Duration::from_millis(10);

/// Prepared statements kept per connection.
const STATEMENTS_KEPT: usize = 256;

/// Of a new file; one that exists keeps its own. Results of some kilobytes lie on pages of their own, whose
/// last one is half empty on average, and each commit logs whole pages: small ones waste less of both.
const PAGE_BYTES: u32 = 2048;

/// Outside any transaction, waits for nobody. Syncs the log before it copies pages.
const SYNC_RECOVERED: &str = "PRAGMA wal_checkpoint(PASSIVE)";
const READ_LIBRARY: &str = "SELECT sqlite_version()";
const SET_WAL: &str = "PRAGMA journal_mode = WAL";
const READ_JOURNAL: &str = "PRAGMA journal_mode";
const READ_SYNCHRONOUS: &str = "PRAGMA synchronous";
const READ_MMAP: &str = "PRAGMA mmap_size";
const READ_PAGE_SIZE: &str = "PRAGMA page_size";

/// How to connect to one checked place.
pub(crate) struct Connector {
    place: Place,
    options: SqliteOptions,
    look: Look,
}

/// What [`Connector::open`] found.
pub(crate) struct Opened {
    pub(crate) writer: SqliteConnection,
    pub(crate) readers: SqlitePool,
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
        Ok(Self { place, options, look })
    }

    /// The file, under the one name that all handles of this process use.
    pub(crate) fn file(&self) -> &Path {
        &self.place.file
    }

    /// What must hold for what is read to be of one instant, where no lock sees to it.
    pub(crate) fn frozen(&self) -> Option<Frozen> {
        match &self.look {
            Look::Frozen(frozen) => Some(frozen.clone()),
            Look::Shared => None,
        }
    }

    /// How a connection commits when it is opened.
    pub(crate) fn synchronous(&self) -> Synchronous {
        self.options.synchronous
    }

    /// The write-ahead log beside the file.
    pub(crate) fn wal_file(&self) -> std::path::PathBuf {
        rights::log(&self.place.file)
    }

    /// Connects, checks, migrates, and reads back what the promises rest on.
    pub(crate) async fn open(&self) -> Result<Opened, StoreError> {
        let name = self.place.file.display().to_string();
        let mut writer = self.connect(!self.options.as_it_is).await?;
        let library = self.text(&mut writer, READ_LIBRARY).await?;
        if !is_sound(&library) {
            let [major, minor, patch] = VERSION_MIN;
            return Err(self.refuse(format!("SQLite {library} is linked, {major}.{minor}.{patch} is needed")));
        }
        let schema = migration::inspect(&mut writer, &name).await?;
        if self.options.as_it_is && !migration::is_newest(schema) {
            return Err(self.refuse(format!("{schema}; it is brought up to date by whoever uses it next")));
        }
        if self.look == Look::Shared {
            self.ask_for_wal(&mut writer).await?;
        }
        if !migration::is_newest(schema) {
            migration::migrate(&mut writer, &name).await?;
        }
        self.bound_file(&mut writer).await?;
        if !self.options.as_it_is {
            self.sync_recovered(&mut writer).await?;
        }
        let mut settings = self.read_settings(&mut writer, &library).await?;
        settings.push(("schema".into(), migration::NEWEST.to_string()));
        let readers = SqlitePoolOptions::new()
            .max_connections(self.options.readers_max)
            .acquire_timeout(self.options.busy_timeout.max(Duration::from_secs(1)))
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(self.connect_options(false).pragma("query_only", "ON"));
        Ok(Opened { writer, readers, capabilities: self.capabilities(&library, settings) })
    }

    /// The writer connection again, after it failed.
    pub(crate) async fn reopen(&self) -> Result<SqliteConnection, StoreError> {
        let mut writer = self.connect(false).await?;
        self.bound_file(&mut writer).await?;
        self.sync_recovered(&mut writer).await?;
        Ok(writer)
    }

    /// Whoever opens the log after a crash may find a commit in it that was written but never synced. A
    /// repeat of that commit is acknowledged without writing anything, so it is synced here, before.
    async fn sync_recovered(&self, conn: &mut SqliteConnection) -> Result<(), StoreError> {
        sqlx::query(SYNC_RECOVERED).fetch_one(conn).await.map_err(|error| self.failed(error))?;
        Ok(())
    }

    fn connect_options(&self, create: bool) -> SqliteConnectOptions {
        let is_frozen = matches!(self.look, Look::Frozen(_));
        SqliteConnectOptions::new()
            .filename(&self.place.file)
            .create_if_missing(create)
            .immutable(is_frozen)
            .read_only(is_frozen)
            .busy_timeout(self.options.busy_timeout)
            .statement_cache_capacity(STATEMENTS_KEPT)
            .foreign_keys(false)
            .pragma("synchronous", self.options.synchronous.as_str())
            // Checkpoints are the writer's own, between transactions.
            .pragma("wal_autocheckpoint", "0")
            .pragma("mmap_size", "0")
            .page_size(PAGE_BYTES)
            // Elsewhere than on Linux an fsync alone may stop in the drive's cache.
            .pragma("fullfsync", "ON")
            .pragma("checkpoint_fullfsync", "ON")
            // Values are bound, so a statement holds nothing of a session.
            .log_statements(LevelFilter::Trace)
            .log_slow_statements(LevelFilter::Off, Duration::MAX)
    }

    async fn connect(&self, create: bool) -> Result<SqliteConnection, StoreError> {
        self.connect_options(create).connect().await.map_err(|error| self.failed(error))
    }

    /// Asks for the write-ahead log. The first change of mode needs the file alone, and SQLite does not
    /// wait for that: several processes that open a new file at once take turns here.
    async fn ask_for_wal(&self, conn: &mut SqliteConnection) -> Result<(), StoreError> {
        let began = Instant::now();
        loop {
            match sqlx::query(SET_WAL).fetch_one(&mut *conn).await {
                Ok(_) => return Ok(()),
                Err(error) => {
                    let fault = Fault::from(error);
                    if !fault.is_busy() || began.elapsed() > self.options.busy_timeout {
                        return Err(self.fault(fault));
                    }
                    tokio::time::sleep(LOCK_RETRY_EVERY).await;
                }
            }
        }
    }

    /// Sets the bound of the file, which SQLite keeps per connection.
    async fn bound_file(&self, conn: &mut SqliteConnection) -> Result<(), StoreError> {
        let Some(bytes) = self.options.file_bytes_max else { return Ok(()) };
        let page = self.number(conn, READ_PAGE_SIZE).await?.max(1);
        let pages = (i64::try_from(bytes).unwrap_or(i64::MAX) / page).clamp(1, i64::from(u32::MAX - 1));
        // A pragma takes no bound values; this one is a number made here.
        let sql = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
        sqlx::raw_sql(sql).execute(conn).await.map_err(|error| self.failed(error))?;
        Ok(())
    }

    async fn read_settings(
        &self,
        conn: &mut SqliteConnection,
        library: &str,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let journal = match self.look {
            Look::Shared => self.text(conn, READ_JOURNAL).await?,
            // A connection that only reads the file has no journal.
            Look::Frozen(_) => "wal".to_owned(),
        };
        if journal != "wal" {
            return Err(self.refuse(format!("the journal mode is {journal}, WAL was asked for")));
        }
        let synchronous = match self.number(conn, READ_SYNCHRONOUS).await? {
            1 => Synchronous::Normal,
            2 => Synchronous::Full,
            other => return Err(self.refuse(format!("synchronous is {other}, 1 or 2 was asked for"))),
        };
        if synchronous != self.options.synchronous {
            return Err(self.refuse(format!("synchronous is {}", synchronous.as_str())));
        }
        let mmap = self.number(conn, READ_MMAP).await?;
        if mmap != 0 {
            return Err(self.refuse(format!("mmap_size is {mmap}, 0 was asked for")));
        }
        let page_size = self.number(conn, READ_PAGE_SIZE).await?;
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

    async fn text(&self, conn: &mut SqliteConnection, sql: &'static str) -> Result<String, StoreError> {
        let row = sqlx::query(sql).fetch_one(conn).await.map_err(|error| self.failed(error))?;
        Columns::of(&row).text().map_err(|fault| self.fault(fault))
    }

    async fn number(&self, conn: &mut SqliteConnection, sql: &'static str) -> Result<i64, StoreError> {
        let row = sqlx::query(sql).fetch_one(conn).await.map_err(|error| self.failed(error))?;
        Columns::of(&row).int().map_err(|fault| self.fault(fault))
    }

    fn failed(&self, error: sqlx::Error) -> StoreError {
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

/// Closes a connection in good order; whoever closes the last one writes the log back.
pub(crate) async fn close(conn: SqliteConnection) {
    if let Err(error) = conn.close().await {
        tracing::warn!(%error, "a connection did not close in good order");
    }
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
