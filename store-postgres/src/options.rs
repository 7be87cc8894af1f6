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

/// The longest that the server's word may take to arrive.
const GRACE_MAX: Duration = Duration::from_secs(1);

/// So many statements are prepared on a connection: more than there are shapes of what is asked in practice.
const STATEMENTS_MAX: usize = 256;

/// How every statement is planned. Each finds its rows by their keys or along an index, one after the other, whatever is
/// in the tables: so one plan does for all values, also one that was made while the tables were empty. Compiling it, or
/// sharing it with other processes, takes longer than the statement.
const PLANS: [(&str, &str); 7] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("jit", "off"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("max_parallel_workers_per_gather", "0"),
];

/// What opening may do to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Whatever is missing is made.
    Makes,
    /// What is there is brought up to date; where nothing is, nothing is made.
    Updates,
    /// Nothing.
    Looks,
}

/// Where the database is and how it is used.
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
    /// The store's clock, in SQL; the server's if none.
    pub(crate) clock: Option<String>,
}

impl PostgresOptions {
    /// The largest single payload, unless a lower limit is set.
    pub const PAYLOAD_BYTES_MAX: usize = 64 * MIB;
    /// The largest write, all payloads together, unless a lower limit is set.
    pub const COMMIT_BYTES_MAX: usize = 128 * MIB;
    /// How many connections one handle opens at most, beside those of [transactions](Self::TRANSACTIONS_MAX).
    pub const CONNECTIONS_MAX: u32 = 8;
    /// How many transactions of the caller's are open at once in one handle.
    pub const TRANSACTIONS_MAX: u32 = 4;
    /// How long one call may take, whatever it waits for.
    pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);
    /// How long a call waits for a free connection, for a server that is away, or behind other writes of its session by the
    /// same handle, before it answers that it may succeed later.
    pub const WAIT_MAX: Duration = Duration::from_secs(5);
    /// How long one statement may take, if [`Self::OPERATION_TIMEOUT`] allows it.
    pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);
    /// How long one statement waits for a lock that another holds, if [`Self::OPERATION_TIMEOUT`] allows it.
    pub const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
    /// The schema in which everything lies, unless another is named.
    pub const SCHEMA: &str = "holdover";

    /// The database that `url` names: `postgres://user:password@host:port/database?schema=name`, with the
    /// parameters that Postgres itself knows. Without `schema` everything lies in [`Self::SCHEMA`]; what the URL
    /// leaves out is taken from where Postgres's own clients take it: `PGPASSWORD`, `~/.pgpass` and so on.
    ///
    /// **TLS.** Without `sslmode` the mode is `prefer`, as in Postgres's own clients: TLS if the server offers it, else none,
    /// and nobody asks whether it is the right server. Over a network that others can reach say `sslmode=verify-full`, with
    /// `sslrootcert=FILE` for an authority of your own. In the modes `require`, `verify-ca` and `verify-full` nothing
    /// is sent without TLS.
    ///
    /// # Errors
    /// What is no such URL, a parameter that is not known, a schema that [`schema`](Self::schema) refuses. The
    /// error does not repeat the URL: it may hold a password.
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

    /// Sets the schema in which everything lies. It is made if it is not there.
    ///
    /// # Errors
    /// A name with anything but `a`–`z`, `0`–`9` and `_`, one that begins with a digit or with `pg_`, or one of
    /// more than 63 bytes.
    pub fn schema(mut self, name: &str) -> Result<Self, StoreError> {
        self.schema = Schema::new(name)?;
        Ok(self)
    }

    /// Sets how many connections the handle opens at most, the one that listens for change hints among them; at
    /// least two. Four suffice for everything.
    #[must_use]
    pub fn connections_max(mut self, connections: u32) -> Self {
        self.connections_max = connections.max(2);
        self
    }

    /// Sets how many [transactions of the caller's](crate::PostgresStore::begin) are open at once, each on a connection beside
    /// those of the handle, which is opened when it is needed; at least one.
    #[must_use]
    pub fn transactions_max(mut self, transactions: u32) -> Self {
        self.transactions_max = transactions.max(1);
        self
    }

    /// Limits one call in total: connection, locks and answer. Its error says how long it waited.
    ///
    /// The server is given less, so that it ends a statement and says so in time, and nothing is changed: all but two
    /// fifths of this, or two seconds if that is less. The outcome of a write is unknown only if the server falls silent.
    /// What copies or removes whole sessions may take twenty times as long: forks, deletions, and the last session
    /// of a step of a purge.
    #[must_use]
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.operation_timeout = timeout.clamp(Duration::from_millis(1), Duration::from_secs(3600));
        self
    }

    /// Sets how long of that a call waits for a free connection, for a server that is away, or behind other writes of its
    /// session by the same handle, before it answers that it may succeed later.
    #[must_use]
    pub fn wait_max(mut self, wait: Duration) -> Self {
        self.wait_max = wait.clamp(Duration::from_millis(1), Duration::from_secs(3600));
        self
    }

    /// Sets how long one statement may take; never longer than [`operation_timeout`](Self::operation_timeout) leaves. The
    /// server ends it then, and nothing is changed. A server that does not even do that is given up soon after: then the
    /// outcome of a write is unknown. What copies or removes whole sessions may take twenty times as long.
    #[must_use]
    pub fn statement_timeout(mut self, time: Duration) -> Self {
        self.statement_timeout = time.clamp(Duration::from_millis(1), Duration::from_secs(3600));
        self
    }

    /// Sets how long one statement waits for a lock that another holds; never longer than
    /// [`operation_timeout`](Self::operation_timeout) leaves.
    #[must_use]
    pub fn lock_timeout(mut self, time: Duration) -> Self {
        self.lock_timeout = time.clamp(Duration::from_millis(1), Duration::from_secs(3600));
        self
    }

    /// Lowers the largest payload; [`Self::PAYLOAD_BYTES_MAX`] at most.
    #[must_use]
    pub fn payload_bytes_max(mut self, bytes: usize) -> Self {
        self.payload_bytes_max = bytes.min(Self::PAYLOAD_BYTES_MAX);
        self
    }

    /// Lowers the largest write, all payloads together; [`Self::COMMIT_BYTES_MAX`] at most.
    #[must_use]
    pub fn commit_bytes_max(mut self, bytes: usize) -> Self {
        self.commit_bytes_max = bytes.min(Self::COMMIT_BYTES_MAX);
        self
    }

    /// Sets whether this handle tells others of its changes and listens for theirs (`NOTIFY`, `LISTEN`). Without,
    /// whoever waits for a change waits as long as it said: polling suffices.
    ///
    /// Postgres lets one transaction at a time commit that has told something: it holds a lock of the whole server, all
    /// databases together, until its commit is on disk. So only what somebody may wait for is told by the write itself:
    /// an item, a stop, another owner or status, a session that is due. Of all else, such as the steps of a run, others are told
    /// some milliseconds after it was acknowledged, many sessions in one notification; a process that dies in between
    /// has told nobody, and whoever follows finds it when it looks.
    #[must_use]
    pub fn change_hints(mut self, on: bool) -> Self {
        self.change_hints = on;
        self
    }

    /// Works behind a pooler that hands out a connection per transaction and knows no prepared statements, as
    /// PgBouncer before 1.21: each statement has a transaction of its own around it, nothing is prepared, and
    /// the connection is given no options. Costs two round trips more per call. Such a handle does not listen
    /// for changes.
    #[must_use]
    pub fn transaction_pooler(mut self, on: bool) -> Self {
        self.transaction_pooler = on;
        self
    }

    /// Sets by what name the server's administrator sees the handle's connections.
    #[must_use]
    pub fn application(mut self, name: impl Into<String>) -> Self {
        self.application = name.into();
        self
    }

    /// Opens only a database whose schema is there and up to date: nothing is created, nothing changed. It may lie on a
    /// server that takes no writes, such as a standby, whose reads may lag behind.
    #[must_use]
    pub fn as_it_is(mut self) -> Self {
        self.opening = Opening::Looks;
        self
    }

    /// Opens only a schema that holds a store. One of an earlier version is brought up to date; where there is
    /// none, nothing is made.
    #[must_use]
    pub fn must_exist(mut self) -> Self {
        self.opening = Opening::Updates;
        self
    }

    /// Whether the handle waits for changes that others tell.
    pub(crate) fn listens(&self) -> bool {
        self.change_hints && !self.transaction_pooler
    }

    /// Where the database is, without its password.
    pub(crate) fn place(&self) -> String {
        let database = self.connect.get_database().unwrap_or("?");
        let (host, port) = (self.connect.get_host(), self.connect.get_port());
        format!("{host}:{port}/{database} schema {}", self.schema)
    }

    /// How long before the end of a call the server must have ended its statement, so that its word is heard.
    pub(crate) fn grace(&self) -> Duration {
        (self.operation_timeout / 5).min(GRACE_MAX)
    }

    /// How long a statement may take on a connection, whichever call sends it.
    pub(crate) fn statement_max(&self) -> Duration {
        self.statement_timeout.min(self.server_max())
    }

    /// How long it may wait for a lock.
    pub(crate) fn lock_max(&self) -> Duration {
        self.lock_timeout.min(self.server_max())
    }

    /// What a call that got its connection soon leaves the server. Zero would mean no limit at all.
    fn server_max(&self) -> Duration {
        (self.operation_timeout - self.grace() * 2).max(Duration::from_millis(1))
    }

    /// How each connection is opened. It brings its own time-outs, so that nothing it locks stays locked when
    /// its process hangs.
    pub(crate) fn connect_options(&self) -> PgConnectOptions {
        self.connect_options_with(&PLANS)
    }

    /// The same for the caller's transactions, whose statements are planned as the server likes.
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

    /// How a transaction begins whose statements may take so long, instead of what the connection was given.
    pub(crate) fn begin(&self, statement_max: Duration) -> String {
        // Plans that the connection was not given.
        let plans = if self.transaction_pooler { plans() } else { String::new() };
        format!("BEGIN ISOLATION LEVEL READ COMMITTED; {plans}{}", self.limits(statement_max))
    }

    /// How a transaction of the caller's begins.
    pub(crate) fn begin_for_caller(&self) -> String {
        format!("BEGIN ISOLATION LEVEL READ COMMITTED; {}", self.limits(self.statement_max()))
    }

    /// What the store sets when it comes to write in a transaction of the caller's, whatever was set there.
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

/// How statements of the store are planned, for one transaction.
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
