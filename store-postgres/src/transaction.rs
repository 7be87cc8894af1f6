//! A transaction of the caller, on a connection of its own.

use std::fmt;
use std::ops::DerefMut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::rows::{Found, RowStore, Transaction, Verdict, Want, Write};
use holdover_store::{Retry, StateStore, StoreError, StoreErrorKind};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Executor, PgConnection, Postgres};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::call::{Call, Caller, GRACE, times};
use crate::error::Fault;
use crate::rows::PgRows;
use crate::sql::Sql;

/// Where the transaction goes back to if a write in it is not applied. It says so if there is no transaction any more.
const ENTER: &str = "SAVEPOINT holdover";
const LEAVE: &str = "ROLLBACK TO SAVEPOINT holdover";

/// A transaction of a store's database, in which the caller's own tables and one session are written: both or neither.
///
/// Made by [`PostgresStore::begin`](crate::PostgresStore::begin). On its [`connection`](Self::connection) is written what is
/// the caller's; then [`into_store`](Self::into_store) is a store whose next write commits it all. If that store
/// writes nothing, because a fence is old or the write was there before, nothing of the caller's is left either. So a step
/// that is begun again after a crash has either happened with its result, or has not happened.
///
/// It is undone when it is dropped, when a call in it is dropped, and by the server when nothing is asked of it for longer
/// than a statement may take.
pub struct PostgresTransaction {
    /// None once it has ended.
    open: Mutex<Option<Open>>,
    /// Whether it may have been committed, though nobody was told so.
    unknown: AtomicBool,
    store: RowStore<PgRows>,
}

struct Open {
    transaction: sqlx::Transaction<'static, Postgres>,
    /// Whether the store has entered it: it plans its statements otherwise, and goes back no further.
    entered: bool,
}

impl PostgresTransaction {
    pub(crate) async fn begin(store: &RowStore<PgRows>) -> Result<Self, StoreError> {
        let opened = &store.rows().0;
        let (caller, mut lost) = (&opened.caller, opened.lent.options().get_max_connections());
        loop {
            let begin = caller.options.begin_for_caller();
            // As the server was met last: by this very call, if its connection is a new one.
            let begin =
                if caller.options.transaction_pooler { caller.server.only_if_same(&begin) } else { begin };
            let began = opened.lent.begin_with(AssertSqlSafe(begin));
            let bound = caller.options.wait_max + GRACE;
            let fault = match timeout(bound, began).await {
                Ok(Ok(transaction)) => {
                    let open = Mutex::new(Some(Open { transaction, entered: false }));
                    return Ok(Self { open, unknown: AtomicBool::new(false), store: store.clone() });
                }
                Ok(Err(error)) => caller.unconnected(error),
                Err(_) => Fault::Silent,
            };
            // Each connection may have been lost while it was idle.
            if lost == 0 || !fault.taints_connection() || matches!(fault, Fault::Silent) {
                return Err(fault.of("begin", None, false));
            }
            lost -= 1;
            if fault.is_outdated()
                && let Ok(Ok(conn)) = timeout(bound, opened.lent.acquire()).await
            {
                // In the place of one that is closed another is made, and asks the server what it is now.
                drop(conn.detach());
            }
        }
    }

    /// The connection, in the transaction. Statements are planned as Postgres does by itself, and may take as long as the
    /// store's own.
    ///
    /// The tables of the store are not to be changed on it, nor the isolation level, nor is the transaction to be ended; a
    /// transaction within it, a savepoint, is fine if it ends before. What is set for the session of the connection is
    /// reset when it goes back; behind a pooler nothing may be set for it, and queries must not be
    /// [persistent](sqlx::query::Query::persistent).
    ///
    /// # Errors
    /// [`InvalidArgument`](holdover_store::StoreErrorKind::InvalidArgument) if the transaction has ended.
    pub fn connection(&mut self) -> Result<&mut PgConnection, StoreError> {
        let Self { open, unknown, .. } = self;
        match open.get_mut() {
            Some(open) => Ok(open.transaction.deref_mut()),
            None => Err(over(unknown, "connection")),
        }
    }

    /// Undoes it, and gives the connection back at once.
    ///
    /// # Errors
    /// [`Unavailable`](holdover_store::StoreErrorKind::Unavailable) if the server does not answer. It undoes it all the same.
    pub async fn roll_back(self) -> Result<(), StoreError> {
        match self.open.into_inner() {
            Some(open) => {
                let undone = timeout(GRACE, open.transaction.rollback()).await;
                let undone = undone.map_err(|_| Fault::Silent).and_then(|undone| undone.map_err(Fault::from));
                undone.map_err(|fault| fault.of("roll_back", None, false))
            }
            None => Ok(()),
        }
    }

    /// The store in which one thing can be written: in this transaction, which is committed with it. What is asked of it and
    /// writes nothing leaves the transaction open, until the store is dropped; then it is undone. It can be put behind
    /// [layers](holdover_store::Layer) like any other.
    ///
    /// Its first write of any kind is the one: to renew a lease, to append deltas or to take an interrupt, too. After it the
    /// store answers that the transaction has ended, or, if that is not known, that the outcome is unknown: then begin anew and
    /// do all of it again, with the same operation.
    #[must_use]
    pub fn into_store(self) -> Arc<dyn StateStore> {
        let store = self.store.clone();
        Arc::new(store.within(self))
    }

    /// Makes a call in the transaction. It runs to its end, whatever becomes of this future.
    async fn call<C: Call>(
        &self,
        call: C,
        ends: impl Fn(&C::Outcome) -> bool + Send + 'static,
    ) -> Result<C::Outcome, StoreError> {
        let (operation, key, writes) = (call.operation(), call.key().cloned(), call.writes());
        let mut place = self.open.lock().await;
        let Some(open) = place.take() else { return Err(over(&self.unknown, operation)) };
        // Also if nobody waits for the answer.
        self.unknown.store(writes, Ordering::Relaxed);
        let caller = self.store.rows().0.caller.clone();
        let made = tokio::spawn(async move {
            let within = call.within().unwrap_or(caller.options.operation_timeout * times(&call));
            let set = caller.options.set_local(caller.statement_max(&call).min(within));
            let made = open.make(&call, &caller, &set, ends);
            let made = timeout(within + GRACE, made).await.unwrap_or(Err(Fault::Silent));
            made.map_err(|fault| fault.of(operation, call.key(), writes))
        });
        let made = made.await.unwrap_or_else(|_| {
            let detail = "the runtime ended before the answer came";
            let error = StoreError::new(StoreErrorKind::Unavailable, operation, detail);
            let error = error.retry(if writes { Retry::OutcomeUnknown } else { Retry::Later });
            Err(StoreError { key: key.map(Box::new), ..error })
        });
        let unknown = made.as_ref().is_err_and(|error| error.retry == Retry::OutcomeUnknown);
        self.unknown.store(unknown, Ordering::Relaxed);
        let (outcome, open) = made?;
        *place = open;
        Ok(outcome)
    }
}

impl Open {
    /// Makes a call. Committed if its outcome `ends` it; else the transaction is as it was. A failure undoes it.
    async fn make<C: Call>(
        mut self,
        call: &C,
        caller: &Caller,
        set: &str,
        ends: impl Fn(&C::Outcome) -> bool,
    ) -> Result<(C::Outcome, Option<Self>), Fault> {
        if !self.entered {
            self.execute(format!("{set}; {ENTER}")).await?;
            self.entered = true;
        } else if call.writes() {
            self.execute(set.to_owned()).await?;
        }
        let answered = self.send(call, caller).await.and_then(|rows| call.answer(&rows));
        let outcome = match answered {
            Ok(outcome) if ends(&outcome) => {
                self.transaction.commit().await?;
                return Ok((outcome, None));
            }
            Ok(outcome) => outcome,
            Err(fault) => call.is_answered_by(&fault).ok_or(fault)?,
        };
        if call.writes() {
            // What it has locked is free again.
            self.execute(LEAVE.to_owned()).await?;
        }
        Ok((outcome, Some(self)))
    }

    async fn send<C: Call>(&mut self, call: &C, caller: &Caller) -> Result<Vec<PgRow>, Fault> {
        let mut sql = Sql::new(&caller.names);
        call.statement(&mut sql);
        let (text, values) = sql.finish()?;
        // Behind a pooler nothing is prepared.
        let query =
            sqlx::query_with(AssertSqlSafe(text), values).persistent(!caller.options.transaction_pooler);
        Ok(query.fetch_all(&mut *self.transaction).await?)
    }

    async fn execute(&mut self, sql: String) -> Result<(), Fault> {
        self.transaction.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
        Ok(())
    }
}

impl fmt::Debug for PostgresTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresTransaction").finish_non_exhaustive()
    }
}

#[async_trait]
impl Transaction for PostgresTransaction {
    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError> {
        self.call(PgRows::reads(key, wants), |_| false).await
    }

    async fn apply(&self, write: Arc<Write>) -> Result<Verdict, StoreError> {
        let applied = |verdict: &Verdict| matches!(verdict, Verdict::Applied { .. });
        let verdict = self.call(PgRows::applies(&write), applied).await?;
        if let Verdict::Applied { now, .. } = &verdict {
            self.store.rows().was_applied(&write, *now).await;
        }
        Ok(verdict)
    }
}

/// Nothing is done any more in a transaction that has ended.
fn over(unknown: &AtomicBool, operation: &'static str) -> StoreError {
    if unknown.load(Ordering::Relaxed) {
        let detail = "the transaction has ended, and whether it was committed is not known";
        let error = StoreError::new(StoreErrorKind::Unavailable, operation, detail);
        return error.retry(Retry::OutcomeUnknown);
    }
    StoreError::invalid(operation, "the transaction has ended: it was committed, or failed, before")
}
