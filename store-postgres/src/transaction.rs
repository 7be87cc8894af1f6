//! A transaction of the caller's, on a connection of its own.

use std::fmt;
use std::ops::DerefMut;
use std::sync::Arc;

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::rows::{Found, RowStore, Transaction, Verdict, Want, Write};
use holdover_store::{Retry, StateStore, StoreError};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Executor, PgConnection, Postgres};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::call::{Call, GRACE};
use crate::error::Fault;
use crate::rows::PgRows;
use crate::sql::{Names, Sql};

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
/// It is undone when it is dropped, and by the server when nothing is asked of it for longer than a statement may take.
pub struct PostgresTransaction {
    /// None once it has ended.
    open: Mutex<Option<Open>>,
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
        let begin = caller.options.begin_for_caller();
        let begin =
            if caller.options.transaction_pooler { caller.server.only_if_same(&begin) } else { begin };
        loop {
            let began = opened.lent.begin_with(AssertSqlSafe(begin.clone()));
            let bound = caller.options.wait_max + GRACE;
            let fault = match timeout(bound, began).await {
                Ok(Ok(transaction)) => {
                    let open = Mutex::new(Some(Open { transaction, entered: false }));
                    return Ok(Self { open, store: store.clone() });
                }
                Ok(Err(error)) => caller.unconnected(error),
                Err(_) => Fault::Silent,
            };
            // Each connection may have been lost while it was idle.
            if lost == 0 || !fault.taints_connection() || matches!(fault, Fault::Silent) {
                return Err(fault.of("begin", None, false));
            }
            lost -= 1;
        }
    }

    /// The connection, in the transaction. Statements are planned as Postgres does by itself, and may take as long as the
    /// store's own.
    ///
    /// The tables of the store are not to be changed on it, nor the transaction to be ended; a transaction within it, a savepoint,
    /// may. What is set for the session of the connection is reset when it goes back.
    ///
    /// # Errors
    /// [`InvalidArgument`](holdover_store::StoreErrorKind::InvalidArgument) if the transaction has ended.
    pub fn connection(&mut self) -> Result<&mut PgConnection, StoreError> {
        match self.open.get_mut() {
            Some(open) => Ok(open.transaction.deref_mut()),
            None => Err(over("connection")),
        }
    }

    /// Undoes it, and gives the connection back at once.
    ///
    /// # Errors
    /// [`Unavailable`](holdover_store::StoreErrorKind::Unavailable) if the server does not answer. It undoes it all the same.
    pub async fn roll_back(self) -> Result<(), StoreError> {
        match self.open.into_inner() {
            Some(open) => {
                let undone = open.transaction.rollback().await;
                undone.map_err(|error| Fault::from(error).of("roll_back", None, false))
            }
            None => Ok(()),
        }
    }

    /// The store in which one thing can be written: in this transaction, which is committed with it. What is asked of it and
    /// writes nothing leaves the transaction open, until the store is dropped; then it is undone. After its write the store answers
    /// that the transaction has ended. It can be put behind [layers](holdover_store::layer) like any other.
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
        let Some(open) = place.take() else { return Err(over(operation)) };
        let caller = self.store.rows().0.caller.clone();
        let options = caller.options.clone();
        let made = tokio::spawn(async move {
            let within = call.within().unwrap_or(options.operation_timeout);
            let enter = format!("{}; {ENTER}", options.set_local(options.statement_max().min(within)));
            let made = async { open.make(&call, &caller.names, &enter, ends).await };
            match timeout(within + GRACE, made).await {
                Ok(made) => made.map_err(|fault| fault.of(operation, call.key(), call.writes())),
                Err(_) => Err(Fault::Silent.of(operation, call.key(), call.writes())),
            }
        });
        let (outcome, open) = made.await.unwrap_or_else(|_| {
            let error = StoreError::new(
                holdover_store::StoreErrorKind::Unavailable,
                operation,
                "the runtime ended before the answer came",
            );
            let error = error.retry(if writes { Retry::OutcomeUnknown } else { Retry::Later });
            Err(match key {
                Some(key) => error.on(&key),
                None => error,
            })
        })?;
        *place = open;
        Ok(outcome)
    }
}

impl Open {
    /// Makes a call. Committed if its outcome `ends` it; else the transaction is as it was. A failure undoes it.
    async fn make<C: Call>(
        mut self,
        call: &C,
        names: &Names,
        enter: &str,
        ends: impl Fn(&C::Outcome) -> bool,
    ) -> Result<(C::Outcome, Option<Self>), Fault> {
        if !self.entered {
            self.execute(enter.to_owned()).await?;
            self.entered = true;
        }
        match self.send(call, names).await {
            Ok(rows) => {
                let outcome = call.answer(&rows)?;
                if ends(&outcome) {
                    self.transaction.commit().await?;
                    return Ok((outcome, None));
                }
                Ok((outcome, Some(self)))
            }
            Err(fault) => {
                let Some(outcome) = call.is_answered_by(&fault) else { return Err(fault) };
                self.execute(LEAVE.to_owned()).await?;
                Ok((outcome, Some(self)))
            }
        }
    }

    async fn send<C: Call>(&mut self, call: &C, names: &Names) -> Result<Vec<PgRow>, Fault> {
        let mut sql = Sql::new(names);
        call.statement(&mut sql);
        let (text, values) = sql.finish()?;
        let query = sqlx::query_with(AssertSqlSafe(text), values);
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

/// Nothing is done in it any more.
fn over(operation: &'static str) -> StoreError {
    StoreError::invalid(operation, "the transaction has ended: it was committed, or failed, before")
}
