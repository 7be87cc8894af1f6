//! Calls to the database: one statement each, in one round trip.

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

/// How often a call is made again that the server undid because of others.
const UNDONE_MAX: u32 = 20;

/// How much longer than a statement may take the server has to say so.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// An error says how long its call waited, if it waited at all.
const WORTH_TELLING: Duration = Duration::from_millis(100);

/// How many times longer a call may take that copies or removes whole sessions.
const LONG: u32 = 20;

/// What is asked of the database: one statement, in one round trip.
pub(crate) trait Call: Send + Sync + 'static {
    type Outcome: Send + 'static;

    /// Its name in errors.
    fn operation(&self) -> &'static str;

    /// The session that it is about, if it is one.
    fn key(&self) -> Option<&SessionKey> {
        None
    }

    /// Whether it changes anything.
    fn writes(&self) -> bool {
        false
    }

    /// Whether it copies or removes whole sessions, however large they are.
    fn is_long(&self) -> bool {
        false
    }

    /// How long it may take in total. None: as long as any call.
    fn within(&self) -> Option<Duration> {
        None
    }

    /// Writes the statement, and binds its values.
    fn statement(&self, sql: &mut Sql<'_>);

    /// Reads the answer.
    fn answer(&self, rows: &[PgRow]) -> Result<Self::Outcome, Fault>;

    /// What a failure means, if it is an answer like any other.
    fn is_answered_by(&self, _fault: &Fault) -> Option<Self::Outcome> {
        None
    }
}

/// Makes calls. Each runs to its end in a task of its own, whatever becomes of the future that waits for it, so
/// that no connection is left in the middle of an answer.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) pool: Connections,
    pub(crate) names: Arc<Names>,
    pub(crate) options: Arc<PostgresOptions>,
    pub(crate) server: Arc<Server>,
}

/// A call that is on its way, whether or not anybody waits for its end.
pub(crate) struct Started<C: Call> {
    made: JoinHandle<Result<C::Outcome, StoreError>>,
    operation: &'static str,
    key: Option<SessionKey>,
    writes: bool,
    asked: Instant,
}

impl<C: Call> Started<C> {
    /// Waits for its end.
    pub(crate) async fn ended(self) -> Result<C::Outcome, StoreError> {
        let made = self.made.await.unwrap_or_else(|_| {
            let detail = "the runtime ended before the answer came";
            let error = StoreError::new(StoreErrorKind::Unavailable, self.operation, detail);
            let error = error.retry(if self.writes { Retry::OutcomeUnknown } else { Retry::Later });
            Err(StoreError { key: self.key.map(Box::new), ..error })
        });
        made.map_err(|error| waited(error, self.asked.elapsed()))
    }
}

impl Caller {
    /// Makes a call.
    pub(crate) async fn call<C: Call>(&self, call: C) -> Result<C::Outcome, StoreError> {
        self.start(call).ended().await
    }

    /// Sends a call on its way.
    pub(crate) fn start<C: Call>(&self, call: C) -> Started<C> {
        let caller = self.clone();
        let (operation, key, writes) = (call.operation(), call.key().cloned(), call.writes());
        let made = tokio::spawn(async move { caller.make(&call).await });
        Started { made, operation, key, writes, asked: Instant::now() }
    }

    /// Answers the outcome. All that is waited for shares one deadline.
    async fn make<C: Call>(&self, call: &C) -> Result<C::Outcome, StoreError> {
        let mut undone = 0;
        // Each connection may have been lost while it was idle, or have become useless.
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
            // A beginning has several statements, of which the first may have been done.
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
                // Nothing was done. Perhaps a newer program has changed the tables.
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

    /// Why there is no connection: the pool tries again and again, and keeps no reason.
    pub(crate) fn unconnected(&self, error: sqlx::Error) -> Fault {
        match (error, self.server.refused()) {
            (sqlx::Error::PoolTimedOut, Some(why)) => Fault::Refused(why),
            (error, _) => Fault::Sql(error),
        }
    }

    /// Fails if the schema is none that this program knows.
    async fn look(&self) -> Result<(), StoreError> {
        let failed = |error| migration::failed(self.unconnected(error), &self.options);
        let mut conn = self.pool.acquire().await.map_err(failed)?;
        migration::look_at(&mut conn, &self.options).await.map(drop)
    }

    /// How long the server may take for the statement of a call that has so long left: it says what it did, or that it
    /// did nothing, before the call is over. None: it could not.
    fn limit(&self, call: &impl Call, left: Duration) -> Option<Duration> {
        let (grace, most) = (self.options.grace(), self.statement_max(call));
        let limit = left.saturating_sub(grace).min(most);
        (limit >= grace.min(most)).then_some(limit)
    }

    pub(crate) fn statement_max(&self, call: &impl Call) -> Duration {
        if call.is_long() { self.options.statement_timeout * LONG } else { self.options.statement_max() }
    }

    /// How the transaction of a call begins; none if the call is one by itself, within the limits of its connection.
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

/// How many times longer than others this call may take.
pub(crate) fn times(call: &impl Call) -> u32 {
    if call.is_long() { LONG } else { 1 }
}

/// The error of a call that waited says how long it did.
fn waited(mut error: StoreError, waited: Duration) -> StoreError {
    if error.kind == StoreErrorKind::Unavailable && waited >= WORTH_TELLING {
        let told = format!("after {:.1} s", waited.as_secs_f64());
        error.detail = if error.detail.is_empty() { told } else { format!("{}, {told}", error.detail) };
    }
    error
}

/// What went wrong on the way to a call: nothing of it was done.
fn during(mut error: StoreError, call: &impl Call) -> StoreError {
    error.operation = call.operation();
    StoreError { key: call.key().cloned().map(Box::new), ..error }
}
