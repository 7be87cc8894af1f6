//! One call of one function of the database: a method of the store, in one round trip.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdover_store::ids::{Fence, SessionKey};
use holdover_store::payload::Payload;
use holdover_store::{Retry, StoreError, StoreErrorKind};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgPool, PgRow};
use sqlx::{Arguments as _, AssertSqlSafe, Connection, Encode, Postgres, Type};

use crate::error::Fault;
use crate::migration;
use crate::options::{Opening, PostgresOptions};
use crate::server::Server;
use crate::sql::Statements;

/// How often a call is made again that the server undid because of others.
const UNDONE_MAX: u32 = 20;

/// How much longer than a statement may take the server has to say so.
const GRACE: Duration = Duration::from_secs(2);

/// An error says how long its call waited, if it waited at all.
const WORTH_TELLING: Duration = Duration::from_millis(100);

/// How many times longer a call may take that copies or removes whole sessions.
const LONG: u32 = 20;

/// After so long a step of a walk begins nothing more, if a statement may take that long.
const STEP_MAX: Duration = Duration::from_secs(5);

/// A method of the store, as the function of its name in the database.
pub(crate) trait Call: Send + Sync + 'static {
    type Outcome: Send + 'static;
    /// The method, and the function.
    const OPERATION: &'static str;
    /// How many parameters the function has.
    const PARAMETERS: usize;
    /// What is read of its answer `a`, in this order.
    const COLUMNS: &'static str;
    /// Whether it changes anything.
    const WRITES: bool;
    /// Whether it copies or removes whole sessions, however large they are.
    const IS_LONG: bool = false;

    fn key(&self) -> Option<&SessionKey>;

    /// Adds the values of the parameters, in their order.
    fn bind(&self, to: &mut Values<'_>);

    /// Reads the answer.
    fn answer(&self, rows: &[PgRow]) -> Result<Self::Outcome, Fault>;

    /// What is left of the outcome so long after the call was sent: a lease may be over by then.
    fn after(outcome: Self::Outcome, _waited: Duration) -> Self::Outcome {
        outcome
    }
}

/// Makes calls. Each runs to its end in a task of its own, whatever becomes of the future that waits for it, so
/// that no connection is left in the middle of an answer.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) pool: PgPool,
    pub(crate) statements: Arc<Statements>,
    /// Where changes are told; nowhere if none.
    pub(crate) channel: Option<Arc<str>>,
    pub(crate) options: Arc<PostgresOptions>,
    pub(crate) server: Arc<Server>,
}

impl Caller {
    pub(crate) async fn call<C: Call>(&self, call: C) -> Result<C::Outcome, StoreError> {
        let (caller, key, asked) = (self.clone(), call.key().cloned(), Instant::now());
        let made = tokio::spawn(async move { caller.make(&call).await });
        let made = made.await.unwrap_or_else(|_| {
            let detail = "the runtime ended before the answer came";
            let error = StoreError::new(StoreErrorKind::Unavailable, C::OPERATION, detail);
            let error = error.retry(if C::WRITES { Retry::OutcomeUnknown } else { Retry::Later });
            Err(match &key {
                Some(key) => error.on(key),
                None => error,
            })
        });
        made.map(|(outcome, sent)| C::after(outcome, sent.elapsed()))
            .map_err(|error| waited(error, asked.elapsed()))
    }

    /// Answers the outcome, and when the call was sent that has it. All that is waited for shares one deadline.
    async fn make<C: Call>(&self, call: &C) -> Result<(C::Outcome, Instant), StoreError> {
        let mut undone = 0;
        // Each connection may have been lost while it was idle, or have become useless.
        let mut lost = self.pool.options().get_max_connections();
        let mut functions_made = false;
        let until = Instant::now() + self.options.operation_timeout * times::<C>();
        let left = || until.saturating_duration_since(Instant::now());
        loop {
            let free = tokio::time::timeout(left(), self.pool.acquire()).await;
            let mut conn = match free.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
                Ok(conn) => conn,
                Err(error) => return Err(self.unconnected(error).of(C::OPERATION, call.key(), false)),
            };
            let Some(limit) = self.limit::<C>(left()) else {
                return Err(Fault::Late.of(C::OPERATION, call.key(), false));
            };
            let sent = Instant::now();
            let begin = self.begin::<C>(limit);
            let one_statement = begin.is_none();
            let bound = (limit + GRACE).min(left());
            let fault = match tokio::time::timeout(bound, self.send(call, &mut conn, begin)).await {
                Ok(Ok(rows)) => {
                    drop(conn);
                    let outcome = call.answer(&rows).map(|outcome| (outcome, sent));
                    return outcome.map_err(|fault| fault.of(C::OPERATION, call.key(), false));
                }
                Ok(Err(fault)) => fault,
                Err(_) => Fault::Silent,
            };
            let silent = matches!(fault, Fault::Silent);
            // A beginning has several statements, of which the first may have been done.
            if fault.taints_connection() || !one_statement {
                // Closes it: whatever still comes on it is nobody's.
                drop(conn.detach());
            } else {
                drop(conn);
            }
            if left().is_zero() {
                return Err(fault.of(C::OPERATION, call.key(), C::WRITES));
            }
            if fault.misses_functions() && !functions_made && self.options.opening != Opening::Looks {
                functions_made = true;
                self.make_functions().await.map_err(|error| during(error, call))?;
                continue;
            }
            if fault.was_undone() && undone < UNDONE_MAX {
                undone += 1;
            } else if lost > 0
                && (fault.is_outdated() || (!C::WRITES && !silent && fault.taints_connection()))
            {
                lost -= 1;
            } else {
                return Err(fault.of(C::OPERATION, call.key(), C::WRITES));
            }
        }
    }

    /// Why there is no connection: the pool tries again and again, and keeps no reason.
    fn unconnected(&self, error: sqlx::Error) -> Fault {
        match (error, self.server.refused()) {
            (sqlx::Error::PoolTimedOut, Some(why)) => Fault::Refused(why),
            (error, _) => Fault::Sql(error),
        }
    }

    /// Makes the functions of this program again: a newer one removed them as long unused.
    async fn make_functions(&self) -> Result<(), StoreError> {
        let failed = |error| migration::failed(self.unconnected(error), &self.options);
        let mut conn = self.pool.acquire().await.map_err(failed)?;
        migration::migrate(&mut conn, &self.options).await
    }

    /// How long the server may take for the statement of a call that has so long left: it says what it did, or that it
    /// did nothing, before the call is over. None: it could not.
    fn limit<C: Call>(&self, left: Duration) -> Option<Duration> {
        let grace = self.options.grace();
        let limit = left.saturating_sub(grace).min(self.statement_max::<C>());
        (limit >= grace.min(self.statement_max::<C>())).then_some(limit)
    }

    fn statement_max<C: Call>(&self) -> Duration {
        if C::IS_LONG { self.options.statement_timeout * LONG } else { self.options.statement_max() }
    }

    /// How the transaction of a call begins; none if the call is one by itself, within the limits of its connection.
    fn begin<C: Call>(&self, limit: Duration) -> Option<String> {
        if self.options.transaction_pooler {
            return Some(self.server.begin(limit, &self.options.functions));
        }
        (C::IS_LONG || limit < self.options.statement_max()).then(|| self.options.begin(limit))
    }

    async fn send<C: Call>(
        &self,
        call: &C,
        conn: &mut PoolConnection<Postgres>,
        begin: Option<String>,
    ) -> Result<Vec<PgRow>, Fault> {
        let Some(sql) = self.statements.of::<C>() else {
            return Err(Fault::Invalid(format!("{}: there is no such statement", C::OPERATION)));
        };
        let mut values = Values { caller: self, bound: Ok(PgArguments::default()) };
        call.bind(&mut values);
        let bound = values.bound.map_err(sqlx::Error::Encode)?;
        let query = sqlx::query_with(AssertSqlSafe(sql), bound);
        let Some(begin) = begin else { return Ok(query.fetch_all(&mut **conn).await?) };
        let mut transaction = conn.begin_with(AssertSqlSafe(begin)).await?;
        let rows = query.persistent(false).fetch_all(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(rows)
    }
}

/// How many times longer than others this call may take.
fn times<C: Call>() -> u32 {
    if C::IS_LONG { LONG } else { 1 }
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
fn during<C: Call>(mut error: StoreError, call: &C) -> StoreError {
    error.operation = C::OPERATION;
    match call.key() {
        Some(key) => error.on(key),
        None => error,
    }
}

/// The values of a call's parameters.
pub(crate) struct Values<'a> {
    caller: &'a Caller,
    bound: Result<PgArguments, sqlx::error::BoxDynError>,
}

impl Values<'_> {
    pub(crate) fn add<'q, T: Encode<'q, Postgres> + Type<Postgres>>(&mut self, value: T) -> &mut Self {
        if let Ok(bound) = &mut self.bound
            && let Err(error) = bound.add(value)
        {
            self.bound = Err(error);
        }
        self
    }

    pub(crate) fn key(&mut self, key: &SessionKey) -> &mut Self {
        self.add(key.tenant.as_str()).add(key.id.as_str())
    }

    pub(crate) fn fence(&mut self, fence: &Fence) -> &mut Self {
        let incarnation = fence.incarnation.0.as_bytes().as_slice();
        self.key(&fence.key).add(incarnation).add(int(fence.epoch.0))
    }

    /// Digest and bytes.
    pub(crate) fn payload(&mut self, payload: &Payload) -> &mut Self {
        self.payload_or_null(Some(payload))
    }

    pub(crate) fn payload_or_null(&mut self, payload: Option<&Payload>) -> &mut Self {
        let digest = payload.map(Payload::digest);
        self.add(digest.as_ref().map(|digest| digest.0.as_slice()))
            .add(payload.map(|payload| payload.bytes().as_ref()))
    }

    /// Digests and bytes, as two arrays.
    pub(crate) fn payloads<'p>(
        &mut self,
        payloads: impl Iterator<Item = Option<&'p Payload>> + Clone,
    ) -> &mut Self {
        let digests: Vec<_> =
            payloads.clone().map(|payload| payload.map(|payload| payload.digest().0.to_vec())).collect();
        let bytes: Vec<Option<&[u8]>> =
            payloads.map(|payload| payload.map(|payload| payload.bytes().as_ref())).collect();
        self.add(digests).add(bytes)
    }

    /// After how many milliseconds a step of a walk begins nothing more.
    pub(crate) fn step_max(&mut self) -> &mut Self {
        self.add(millis(STEP_MAX.min(self.caller.options.statement_max())))
    }

    /// Where changes are told.
    pub(crate) fn channel(&mut self) {
        let channel = self.caller.channel.clone();
        self.add(channel.as_deref());
    }
}

/// A number as Postgres keeps it. Sequences, versions and epochs never come near the limit; what a caller names
/// beyond it lies past every end.
pub(crate) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A length of time in milliseconds. The longest there are have the sign bit set: kept bit by bit.
pub(crate) fn millis(time: Duration) -> i64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).cast_signed()
}
