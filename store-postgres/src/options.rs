//! Options for opening a store.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use holdover_store::StoreError;
use log::LevelFilter;
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

use crate::sql::Schema;
use crate::url::Parts;

const MIB: usize = 1024 * 1024;

/// The longest time that is reserved for the server's answer to arrive.
const GRACE_MAX: Duration = Duration::from_secs(1);

/// The number of prepared statements kept per connection. It is larger than the number of statement shapes that
/// occur in practice.
const STATEMENTS_MAX: usize = 256;

/// The planner settings of the store's statements. Each statement finds its rows by their keys or along an index,
/// whatever the tables hold. So one plan fits all values, even if it was made while the tables were empty. Compiling
/// a statement, or sharing it with other processes, takes longer than running it.
const PLANS: [(&str, &str); 7] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("jit", "off"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("max_parallel_workers_per_gather", "0"),
];

/// The changes that opening may make to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Creates whatever is missing.
    Makes,
    /// Migrates an existing store, but creates none.
    Updates,
    /// Changes nothing.
    Looks,
}

/// The address of the database, and the settings with which it is used.
#[derive(Clone)]
pub struct PostgresOptions {
    pub(crate) connect: PgConnectOptions,
    pub(crate) schema: Schema,
    pub(crate) connections_max: u32,
    pub(crate) transactions_max: u32,
    pub(crate) operation_timeout: Duration,
    pub(crate) wait_max: Duration,
    pub(crate) statement_timeout: Duration,
    pub(crate) lock_timeout: Duration,
    pub(crate) payload_bytes_max: usize,
    pub(crate) commit_bytes_max: usize,
    pub(crate) change_hints: bool,
    pub(crate) transaction_pooler: bool,
    pub(crate) opening: Opening,
    pub(crate) application: String,
    /// The store's clock as an SQL expression. If none, the server's clock is used.
    pub(crate) clock: Option<String>,
}

impl PostgresOptions {
    /// The largest single payload in bytes, unless a lower limit is set.
    pub const PAYLOAD_BYTES_MAX: usize = 64 * MIB;
    /// The largest write in bytes, all payloads together, unless a lower limit is set.
    pub const COMMIT_BYTES_MAX: usize = 128 * MIB;
    /// The default number of connections that one handle opens at most, besides those of
    /// [transactions](Self::TRANSACTIONS_MAX).
    pub const CONNECTIONS_MAX: u32 = 8;
    /// The default number of the caller's transactions that are open at once in one handle at most.
    pub const TRANSACTIONS_MAX: u32 = 4;
    /// The default limit of one call in total, including all waits.
    pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);
    /// The default time that a call waits for a connection: for a free one, or for a server that is away. Then the
    /// call fails, and may be retried later.
    pub const WAIT_MAX: Duration = Duration::from_secs(5);
    /// The default time that one statement may take, within [`Self::OPERATION_TIMEOUT`].
    pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);
    /// The default time that one statement waits for a lock, within [`Self::OPERATION_TIMEOUT`].
    pub const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
    /// The default name of the schema that holds the store.
    pub const SCHEMA: &str = "holdover";

    /// Creates options for the database that `url` names: `postgres://user:password@host:port/database?schema=name`,
    /// with the parameters that Postgres itself knows. Without `schema`, the store lies in [`Self::SCHEMA`]. Parts
    /// that the URL leaves out are read where Postgres's own clients read them: `PGPASSWORD`, `~/.pgpass` and so on.
    ///
    /// **TLS.** Without `sslmode` the mode is `prefer`, as in Postgres's own clients: TLS is used if the server
    /// offers it, and the server's identity is not checked. Over a network that others can reach, use
    /// `sslmode=verify-full`, with `sslrootcert=FILE` for a certificate authority of your own. In the modes
    /// `require`, `verify-ca` and `verify-full`, nothing is sent without TLS.
    ///
    /// # Errors
    /// Fails with [`InvalidArgument`](holdover_store::StoreErrorKind::InvalidArgument) for a string that is no such
    /// URL, for an unknown parameter, and for a schema name that [`schema`](Self::schema) refuses. The error does not
    /// repeat the URL, because it may hold a password.
    pub fn from_url(url: &str) -> Result<Self, StoreError> {
        let known = url.starts_with("postgres://") || url.starts_with("postgresql://");
        let wrong = || StoreError::invalid("open", "a Postgres URL is postgres://user@host/database");
        let parts = if known { Parts::of(url)? } else { return Err(wrong()) };
        Ok(Self {
            connect: PgConnectOptions::from_str(&parts.url).map_err(|_| wrong())?,
            schema: parts.schema.as_deref().map_or_else(|| Ok(Schema::default()), Schema::new)?,
            connections_max: Self::CONNECTIONS_MAX,
            transactions_max: Self::TRANSACTIONS_MAX,
            operation_timeout: Self::OPERATION_TIMEOUT,
            wait_max: Self::WAIT_MAX,
            statement_timeout: Self::STATEMENT_TIMEOUT,
            lock_timeout: Self::LOCK_TIMEOUT,
            payload_bytes_max: Self::PAYLOAD_BYTES_MAX,
            commit_bytes_max: Self::COMMIT_BYTES_MAX,
            change_hints: true,
            transaction_pooler: false,
            opening: Opening::Makes,
            application: "holdover".to_owned(),
            clock: None,
        })
    }

    /// Sets the schema that holds the store. Opening creates the schema if it does not exist.
    ///
    /// # Errors
    /// Fails for a name that is empty, contains anything but `a`–`z`, `0`–`9` and `_`, begins with a digit or with
    /// `pg_`, or has more than 63 bytes.
    pub fn schema(mut self, name: &str) -> Result<Self, StoreError> {
        self.schema = Schema::new(name)?;
        Ok(self)
    }

    /// Sets how many connections the handle opens at most, including the one that listens for change hints; at
    /// least two. Four suffice for everything.
    #[must_use]
    pub fn connections_max(mut self, connections: u32) -> Self {
        self.connections_max = connections.max(2);
        self
    }

    /// Sets how many [transactions of the caller](crate::PostgresStore::begin) are open at once, at least one.
    /// Each has a connection of its own, besides those of the handle, which is opened when it is needed.
    #[must_use]
    pub fn transactions_max(mut self, transactions: u32) -> Self {
        self.transactions_max = transactions.max(1);
        self
    }

    /// Limits one call in total, including the waits for earlier writes of its session by this handle, for a
    /// connection, for locks and for the answer. The limit is at least 1 ms and at most an hour. The error of a call
    /// that waited says how long it waited.
    ///
    /// The server's limit for a statement is shorter: by two fifths of this time, or by two seconds if that is less.
    /// So the server ends a late statement and reports it in time, and nothing is changed. The outcome of a write is
    /// unknown only if the server falls silent. Calls that copy or remove whole sessions may take twenty times as
    /// long: forks, deletions, and the last session of a step of a purge.
    #[must_use]
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.operation_timeout = timeout.clamp(Duration::from_millis(1), Duration::from_secs(3600));
        self
    }

    /// Sets how long a call waits for a connection: for a free one, or for a server that is away. Then the call
    /// fails, and may be retried later. This wait counts towards [`operation_timeout`](Self::operation_timeout).
    #[must_use]
    pub fn wait_max(mut self, wait: Duration) -> Self {
        self.wait_max = wait.clamp(Duration::from_millis(1), Duration::from_secs(3600));
        self
    }

    /// Sets how long one statement may take, never longer than [`operation_timeout`](Self::operation_timeout) leaves.
    /// After that time, the server ends the statement, and nothing is changed. If the server does not report that,
    /// the call is given up soon after, and the outcome of a write is unknown. Calls that copy or remove whole
    /// sessions may take twenty times as long.
    #[must_use]
    pub fn statement_timeout(mut self, time: Duration) -> Self {
        self.statement_timeout = time.clamp(Duration::from_millis(1), Duration::from_secs(3600));
        self
    }

    /// Sets how long one statement waits for a lock, never longer than
    /// [`operation_timeout`](Self::operation_timeout) leaves.
    #[must_use]
    pub fn lock_timeout(mut self, time: Duration) -> Self {
        self.lock_timeout = time.clamp(Duration::from_millis(1), Duration::from_secs(3600));
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

    /// Sets whether this handle notifies others of its changes and listens for theirs (`NOTIFY`, `LISTEN`). If not, a
    /// caller that waits for a change waits its full time.
    ///
    /// In Postgres, a transaction that has notified takes a lock of the whole server, for all databases together, and
    /// holds it until its commit is on disk. So a write itself notifies only of changes that a caller may wait for:
    /// an item, a stop, another owner or status, the creation or the end of a session, a session that is due. All
    /// other changes, such as the steps of a run, are announced some milliseconds after they were acknowledged, many
    /// sessions in one notification. If the process dies in between, they are not announced, and a reader that
    /// follows the session finds them when it polls.
    #[must_use]
    pub fn change_hints(mut self, on: bool) -> Self {
        self.change_hints = on;
        self
    }

    /// Sets whether the handle works behind a pooler that assigns a connection to each transaction and does not
    /// support prepared statements, such as PgBouncer before 1.21. Each statement runs in a transaction of its own,
    /// nothing is prepared, and the connection gets no options. This costs two more round trips per call. Such a
    /// handle does not listen for changes.
    #[must_use]
    pub fn transaction_pooler(mut self, on: bool) -> Self {
        self.transaction_pooler = on;
        self
    }

    /// Sets the application name that the server's administrator sees on the handle's connections.
    #[must_use]
    pub fn application(mut self, name: impl Into<String>) -> Self {
        self.application = name.into();
        self
    }

    /// Opens the store only if its schema exists and is up to date. Opening creates and changes nothing. The server
    /// may be one that refuses writes, such as a standby; reads from a standby may lag behind.
    #[must_use]
    pub fn as_it_is(mut self) -> Self {
        self.opening = Opening::Looks;
        self
    }

    /// Opens only a schema that holds a store. A store of an earlier version is migrated; if there is no store,
    /// none is created.
    #[must_use]
    pub fn must_exist(mut self) -> Self {
        self.opening = Opening::Updates;
        self
    }

    /// Returns true if the handle listens for change hints.
    pub(crate) fn listens(&self) -> bool {
        self.change_hints && !self.transaction_pooler
    }

    /// Returns the host, port, database and schema, as errors name them.
    pub(crate) fn place(&self) -> String {
        let database = self.connect.get_database().unwrap_or("?");
        let (host, port) = (self.connect.get_host(), self.connect.get_port());
        format!("{host}:{port}/{database} schema {}", self.schema)
    }

    /// Returns how long before the end of a call the server must have ended its statement, so that its answer
    /// arrives in time.
    pub(crate) fn grace(&self) -> Duration {
        (self.operation_timeout / 5).min(GRACE_MAX)
    }

    /// Returns the limit of a statement that is set on each connection.
    pub(crate) fn statement_max(&self) -> Duration {
        self.statement_timeout.min(self.server_max())
    }

    /// Returns the limit of a statement's wait for a lock.
    pub(crate) fn lock_max(&self) -> Duration {
        self.lock_timeout.min(self.server_max())
    }

    /// Returns the time that is left for the server if the call gets its connection at once. Never zero, which
    /// would mean no limit.
    fn server_max(&self) -> Duration {
        (self.operation_timeout - self.grace() * 2).max(Duration::from_millis(1))
    }

    /// Returns the options of a new connection. They include time-outs, so that no lock stays held if the process
    /// hangs. Behind a pooler, [`begin`](Self::begin) sets these for each transaction instead.
    pub(crate) fn connect_options(&self) -> PgConnectOptions {
        self.connect_options_with(&PLANS)
    }

    /// Returns the options of a connection for the caller's transactions, whose statements are planned by the
    /// server's defaults.
    pub(crate) fn connect_options_for_caller(&self) -> PgConnectOptions {
        self.connect_options_with(&[])
    }

    fn connect_options_with(&self, plans: &[(&'static str, &'static str)]) -> PgConnectOptions {
        let options = self
            .connect
            .clone()
            .application_name(&self.application)
            .extra_float_digits(None)
            // Values are bound, so a statement holds nothing of a session.
            .log_statements(LevelFilter::Trace)
            .log_slow_statements(LevelFilter::Off, Duration::MAX);
        if self.transaction_pooler {
            return options.statement_cache_capacity(0);
        }
        let plans = plans.iter().map(|(name, value)| (*name, (*value).to_owned()));
        options.statement_cache_capacity(STATEMENTS_MAX).options(plans.chain([
            ("statement_timeout", self.statement_max().as_millis().to_string()),
            ("lock_timeout", self.lock_max().as_millis().to_string()),
            ("idle_in_transaction_session_timeout", self.statement_max().as_millis().to_string()),
            ("default_transaction_isolation", "read committed".to_owned()),
        ]))
    }

    /// Returns the statements that begin a transaction with this limit for its statements, instead of the
    /// connection's own.
    pub(crate) fn begin(&self, statement_max: Duration) -> String {
        // The planner settings were not given to the connection.
        let plans = if self.transaction_pooler { plans() } else { String::new() };
        format!("BEGIN ISOLATION LEVEL READ COMMITTED; {plans}{}", self.limits(statement_max))
    }

    /// Returns the statements that begin a transaction of the caller.
    pub(crate) fn begin_for_caller(&self) -> String {
        format!("BEGIN ISOLATION LEVEL READ COMMITTED; {}", self.limits(self.statement_max()))
    }

    /// Returns the settings for the store's own write in a caller's transaction. They override the caller's
    /// settings.
    pub(crate) fn set_local(&self, statement_max: Duration) -> String {
        format!("{}SET LOCAL synchronous_commit TO DEFAULT; {}", plans(), self.limits(statement_max))
    }

    fn limits(&self, statement_max: Duration) -> String {
        let statement_max = statement_max.max(Duration::from_millis(1));
        format!(
            "SET LOCAL statement_timeout = {statement}; SET LOCAL lock_timeout = {lock}; \
             SET LOCAL idle_in_transaction_session_timeout = {idle}",
            statement = statement_max.as_millis(),
            lock = self.lock_max().min(statement_max).as_millis(),
            idle = self.statement_max().as_millis(),
        )
    }
}

/// Returns statements that set the planner settings of [`PLANS`] for one transaction.
fn plans() -> String {
    PLANS.iter().map(|(name, value)| format!("SET LOCAL {name} = {value}; ")).collect()
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("place", &self.place())
            .field("connections_max", &self.connections_max)
            .field("transactions_max", &self.transactions_max)
            .field("operation_timeout", &self.operation_timeout)
            .field("wait_max", &self.wait_max)
            .field("statement_timeout", &self.statement_timeout)
            .field("lock_timeout", &self.lock_timeout)
            .field("payload_bytes_max", &self.payload_bytes_max)
            .field("commit_bytes_max", &self.commit_bytes_max)
            .field("change_hints", &self.change_hints)
            .field("transaction_pooler", &self.transaction_pooler)
            .field("opening", &self.opening)
            .field("application", &self.application)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_is_refused_is_not_repeated() {
        let bad_schema = "postgres://u:secret@h/d?schema=pg_x";
        for bad in ["", "sqlite:a", "mysql://u:secret@h/d", "postgres//u:secret@h/d", bad_schema] {
            let error = PostgresOptions::from_url(bad).expect_err("no Postgres URL").to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        let options = PostgresOptions::from_url("postgres://u:secret@h:7/d").expect("a URL");
        assert_eq!(options.place(), "h:7/d schema holdover");
        let named = PostgresOptions::from_url("postgres://u@h:7/d?schema=other").expect("a URL");
        assert_eq!(named.place(), "h:7/d schema other");
        assert!(!format!("{options:?}").contains("secret"));
    }
}
