//! Calls to the database: one statement each, usually in one round trip.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdover_store::ids::SessionKey;
use holdover_store::{Retry, StoreError, StoreErrorKind};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::task::JoinHandle;

use crate::connections::Connections;
use crate::error::Fault;
use crate::migration;
use crate::options::PostgresOptions;
use crate::server::Server;
use crate::sql::{Names, Sql};

/// The most retries of a call that the server undid because of concurrent transactions.
const UNDONE_MAX: u32 = 20;

/// The time beyond the limit of a statement in which the server must report that it ended the statement.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// The shortest wait that an error mentions.
const WORTH_TELLING: Duration = Duration::from_millis(100);

/// The factor by which the limit is longer for calls that copy or remove whole sessions.
const LONG: u32 = 20;

/// A request to the database: one statement, usually in one round trip. Behind a pooler, and for long calls, the
/// statement runs in a transaction that is begun and committed separately.
pub(crate) trait Call: Send + Sync + 'static {
    type Outcome: Send + 'static;

    /// Returns the name of the call in errors.
    fn operation(&self) -> &'static str;

    /// Returns the session that the call is about, if there is exactly one.
    fn key(&self) -> Option<&SessionKey> {
        None
    }

    /// Returns true if the call may change data.
    fn writes(&self) -> bool {
        false
    }

    /// Returns true if the call copies or removes whole sessions, so that it takes longer for larger ones.
    fn is_long(&self) -> bool {
        false
    }

    /// Returns the time limit of the whole call. If none, the limit of the options applies.
    fn within(&self) -> Option<Duration> {
        None
    }

    /// Writes the statement and binds its values.
    fn statement(&self, sql: &mut Sql<'_>);

    /// Reads the answer.
    fn answer(&self, rows: &[PgRow]) -> Result<Self::Outcome, Fault>;

    /// Returns the outcome if `fault` is an expected answer.
    fn is_answered_by(&self, _fault: &Fault) -> Option<Self::Outcome> {
        None
    }
}

/// The means to make calls. Each call runs to its end in a task of its own, even if the future that waits for it is
/// dropped, so that no connection is left in the middle of an answer.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) pool: Connections,
    pub(crate) names: Arc<Names>,
    pub(crate) options: Arc<PostgresOptions>,
    pub(crate) server: Arc<Server>,
}

/// A running call. It continues even if its result is not awaited.
pub(crate) struct Started<C: Call> {
    made: JoinHandle<Result<C::Outcome, StoreError>>,
    operation: &'static str,
    key: Option<SessionKey>,
    writes: bool,
}

impl<C: Call> Started<C> {
    /// Waits for the end of the call.
    pub(crate) async fn ended(self) -> Result<C::Outcome, StoreError> {
        self.made.await.unwrap_or_else(|_| {
            let detail = "the runtime ended before the answer came";
            let error = StoreError::new(StoreErrorKind::Unavailable, self.operation, detail);
            let error = error.retry(if self.writes { Retry::OutcomeUnknown } else { Retry::Later });
            Err(StoreError { key: self.key.map(Box::new), ..error })
        })
    }
}

impl Caller {
    /// Makes a call and waits for its outcome.
    pub(crate) async fn call<C: Call>(&self, call: C) -> Result<C::Outcome, StoreError> {
        self.start(call).ended().await
    }

    /// Starts a call.
    pub(crate) fn start<C: Call>(&self, call: C) -> Started<C> {
        let caller = self.clone();
        let (operation, key, writes) = (call.operation(), call.key().cloned(), call.writes());
        let made = tokio::spawn(async move { caller.make(&call).await });
        Started { made, operation, key, writes }
    }

    /// Makes a call in this task, which must not be dropped before the outcome is there.
    pub(crate) async fn make<C: Call>(&self, call: &C) -> Result<C::Outcome, StoreError> {
        let asked = Instant::now();
        self.outcome(call).await.map_err(|error| waited(error, asked.elapsed()))
    }

    /// Returns the outcome of a call. All its waits share one deadline.
    async fn outcome<C: Call>(&self, call: &C) -> Result<C::Outcome, StoreError> {
        let mut undone = 0;
        // Each connection may have been lost or become useless while it was idle.
        let mut lost = self.pool.most();
        let within = call.within().unwrap_or(self.options.operation_timeout * times(call));
        let until = Instant::now() + within;
        let left = || until.saturating_duration_since(Instant::now());
        let failed = |fault: Fault, sent| Err(fault.of(call.operation(), call.key(), sent));
        loop {
            let free = tokio::time::timeout(left(), self.pool.acquire()).await;
            let mut conn = match free.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
                Ok(conn) => conn,
                Err(error) => return failed(self.unconnected(error), false),
            };
            let Some(limit) = self.limit(call, left()) else { return failed(Fault::Late, false) };
            let begin = self.begin(call, limit);
            let one_statement = begin.is_none();
            let bound = (limit + GRACE).min(left());
            let fault = match tokio::time::timeout(bound, self.send(call, &mut conn, begin)).await {
                Ok(Ok(rows)) => {
                    conn.keep();
                    return call.answer(&rows).or_else(|fault| failed(fault, false));
                }
                Ok(Err(fault)) => fault,
                Err(_) => Fault::Silent,
            };
            let silent = matches!(fault, Fault::Silent);
            // `begin` has several statements, the first of which may have been done.
            if fault.taints_connection() || !one_statement {
                conn.forget();
            } else {
                drop(conn);
            }
            if let Some(outcome) = call.is_answered_by(&fault) {
                return Ok(outcome);
            }
            if left().is_zero() {
                return failed(fault, call.writes());
            }
            if fault.misses_something() {
                // Nothing was done. A newer program may have changed the tables.
                if let Ok(looked) = tokio::time::timeout(left(), self.look()).await {
                    looked.map_err(|error| during(error, call))?;
                }
                return failed(fault, false);
            }
            if fault.was_undone() && undone < UNDONE_MAX {
                undone += 1;
            } else if lost > 0
                && (fault.is_outdated() || (!call.writes() && !silent && fault.taints_connection()))
            {
                lost -= 1;
            } else {
                return failed(fault, call.writes());
            }
        }
    }

    /// Returns the reason why there is no connection. The pool retries until its time is over, and keeps no reason.
    pub(crate) fn unconnected(&self, error: sqlx::Error) -> Fault {
        match (error, self.server.refused()) {
            (sqlx::Error::PoolTimedOut, Some(why)) => Fault::Refused(why),
            (error, _) => Fault::Sql(error),
        }
    }

    /// Fails if this program does not know the version of the schema.
    async fn look(&self) -> Result<(), StoreError> {
        let failed = |error| migration::failed(self.unconnected(error), &self.options);
        let mut conn = self.pool.acquire().await.map_err(failed)?;
        migration::look_at(&mut conn, &self.options).await.map(drop)
    }

    /// Returns the time limit for the statement of a call that has this much time left. The limit lets the server
    /// report the result before the call is over. Returns none if there is too little time for that.
    fn limit(&self, call: &impl Call, left: Duration) -> Option<Duration> {
        let (grace, most) = (self.options.grace(), self.statement_max(call));
        let limit = left.saturating_sub(grace).min(most);
        (limit >= grace.min(most)).then_some(limit)
    }

    pub(crate) fn statement_max(&self, call: &impl Call) -> Duration {
        if call.is_long() { self.options.statement_timeout * LONG } else { self.options.statement_max() }
    }

    /// Returns the statements that begin the call's transaction. Returns none if the statement is a transaction by
    /// itself, and the limits of its connection are right.
    fn begin(&self, call: &impl Call, limit: Duration) -> Option<String> {
        if self.options.transaction_pooler {
            return Some(self.server.only_if_same(&self.options.begin(limit)));
        }
        (call.is_long() || limit < self.options.statement_max()).then(|| self.options.begin(limit))
    }

    async fn send<C: Call>(
        &self,
        call: &C,
        conn: &mut PgConnection,
        begin: Option<String>,
    ) -> Result<Vec<PgRow>, Fault> {
        let mut sql = Sql::new(&self.names);
        call.statement(&mut sql);
        let (text, values) = sql.finish()?;
        let query = sqlx::query_with(AssertSqlSafe(text), values);
        let Some(begin) = begin else { return Ok(query.fetch_all(conn).await?) };
        let mut transaction = conn.begin_with(AssertSqlSafe(begin)).await?;
        let rows = query.persistent(false).fetch_all(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(rows)
    }
}

/// Returns the factor by which the time limit of this call is longer than usual.
pub(crate) fn times(call: &impl Call) -> u32 {
    if call.is_long() { LONG } else { 1 }
}

/// Adds the waiting time to an [`Unavailable`](StoreErrorKind::Unavailable) error, if the call waited long enough.
fn waited(mut error: StoreError, waited: Duration) -> StoreError {
    if error.kind == StoreErrorKind::Unavailable && waited >= WORTH_TELLING {
        let told = format!("after {:.1} s", waited.as_secs_f64());
        error.detail = if error.detail.is_empty() { told } else { format!("{}, {told}", error.detail) };
    }
    error
}

/// Converts an error of opening to an error of the call.
fn during(mut error: StoreError, call: &impl Call) -> StoreError {
    error.operation = call.operation();
    StoreError { key: call.key().cloned().map(Box::new), ..error }
}
