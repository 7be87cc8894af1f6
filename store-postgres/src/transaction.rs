//! A transaction of the caller, on a connection of its own.

use std::fmt;
use std::ops::DerefMut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::rows::{Found, RowStore, Transaction, Verdict, Want, Write};
use holdover_store::{Retry, StateStore, StoreError, StoreErrorKind, StoreTransaction};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Executor, PgConnection, Postgres};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::call::{Call, Caller, GRACE, times};
use crate::error::Fault;
use crate::rows::PgRows;
use crate::sql::Sql;

/// Marks the point to which the transaction returns if a write in it is not applied. Fails if there is no
/// transaction.
const ENTER: &str = "SAVEPOINT holdover";
const LEAVE: &str = "ROLLBACK TO SAVEPOINT holdover";
/// Checks the constraints that would otherwise be checked at the end. Fails if an earlier statement has failed.
const CHECK: &str = "SET CONSTRAINTS ALL IMMEDIATE";

/// A transaction in a store's database that writes the caller's own tables and one session: both or neither.
///
/// It is made by [`PostgresStore::begin`](crate::PostgresStore::begin). The caller writes its own tables on the
/// [`connection`](Self::connection). Then [`into_store`](Self::into_store) returns a store whose next write commits
/// everything. If that store writes nothing, because a fence is old or the write was applied before, the caller's
/// writes are undone too. So if a step is repeated after a crash, either its writes and its result are both stored,
/// or neither is.
///
/// The transaction is undone if it is dropped, or if the future of a read in it is dropped. If the future of a write
/// is dropped, the transaction may still be committed. The server undoes the transaction if it stays idle for longer
/// than a statement may take.
pub struct PostgresTransaction {
    /// The open transaction; none once it has ended.
    open: Mutex<Option<Open>>,
    /// True if the transaction may have been committed, but no caller has received that answer.
    unknown: AtomicBool,
    store: RowStore<PgRows>,
}

struct Open {
    transaction: sqlx::Transaction<'static, Postgres>,
    /// True once the store has set its savepoint. Then the store's planner settings hold, and a write that is not
    /// applied returns to the savepoint.
    entered: bool,
}

impl PostgresTransaction {
    pub(crate) async fn begin(store: &RowStore<PgRows>) -> Result<Self, StoreError> {
        let opened = &store.rows().opened;
        let (caller, mut lost) = (&opened.caller, opened.lent.options().get_max_connections());
        loop {
            let begin = caller.options.begin_for_caller();
            // Compares the settings with those that were read last. A new connection has just read them.
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
            // Each idle connection may have been lost.
            if lost == 0 || !fault.taints_connection() || matches!(fault, Fault::Silent) {
                return Err(fault.of("begin", None, false));
            }
            lost -= 1;
            if fault.is_outdated()
                && let Ok(Ok(conn)) = timeout(bound, opened.lent.acquire()).await
            {
                // The closed connection is replaced by a new one, which reads the server's settings again.
                drop(conn.detach());
            }
        }
    }

    /// Returns the connection, in the transaction. Statements are planned by Postgres's defaults, and have the
    /// same time limit as the store's own.
    ///
    /// Do not change the store's tables or the isolation level on this connection, and do not end the transaction. A
    /// nested transaction (a savepoint) is fine if it ends before the store writes. Session settings are reset when
    /// the connection is returned. Behind a pooler, make no session settings, and do not use
    /// [persistent](sqlx::query::Query::persistent) queries.
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

    /// Rolls the transaction back, and gives the connection back to the store at once.
    ///
    /// # Errors
    /// [`Unavailable`](holdover_store::StoreErrorKind::Unavailable) if the server does not answer. The transaction is
    /// rolled back in that case too.
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

    /// Returns a store for one write, which commits this transaction. Calls to the store that write nothing leave
    /// the transaction open until the store is dropped; then it is undone. The store can be put behind
    /// [layers](holdover_store::Layer) like any other.
    ///
    /// The first write of any kind is the one that commits: a renewed lease, appended deltas and a taken interrupt
    /// count too. After it, calls fail with an error that says that the transaction has ended, or, if that is not
    /// known, that the outcome is unknown. In that case, begin a new transaction and repeat all of it, with the
    /// same operation.
    #[must_use]
    pub fn into_store(self) -> Arc<dyn StateStore> {
        let store = self.store.clone();
        Arc::new(store.within(self))
    }

    /// Makes a call in the transaction. The call runs to its end, even if this future is dropped.
    async fn call<C: Call>(
        &self,
        call: C,
        ends: impl Fn(&C::Outcome) -> bool + Send + 'static,
    ) -> Result<C::Outcome, StoreError> {
        let (operation, key, writes) = (call.operation(), call.key().cloned(), call.writes());
        let mut place = self.open.lock().await;
        let Some(open) = place.take() else { return Err(over(&self.unknown, operation)) };
        // This is set now, because this future may be dropped before the answer comes.
        self.unknown.store(writes, Ordering::Relaxed);
        let caller = self.store.rows().opened.caller.clone();
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
    /// Makes a call. Commits if `ends` holds for its outcome; otherwise the transaction stays as it was. A failure
    /// undoes the transaction.
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
            // Releases the locks of the call.
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
impl StoreTransaction for PostgresTransaction {
    /// Fails if a statement has failed, or if a deferred constraint of the caller's tables is violated. Later statements
    /// are checked at once.
    async fn check(&mut self) -> Result<(), StoreError> {
        const OPERATION: &str = "check";
        let Self { open, unknown, store } = self;
        let Some(open) = open.get_mut() else { return Err(over(unknown, OPERATION)) };
        let bound = store.rows().opened.caller.options.operation_timeout + GRACE;
        let checked = timeout(bound, open.execute(CHECK.to_owned())).await.unwrap_or(Err(Fault::Silent));
        checked.map_err(|fault| fault.of(OPERATION, None, false))
    }

    fn into_store(self: Box<Self>) -> Arc<dyn StateStore> {
        Self::into_store(*self)
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

/// Returns the error of a call in a transaction that has ended.
fn over(unknown: &AtomicBool, operation: &'static str) -> StoreError {
    if unknown.load(Ordering::Relaxed) {
        let detail = "the transaction has ended, and whether it was committed is not known";
        let error = StoreError::new(StoreErrorKind::Unavailable, operation, detail);
        return error.retry(Retry::OutcomeUnknown);
    }
    StoreError::invalid(operation, "the transaction has ended: it was committed, or failed, before")
}
