//! The store: implements the contract on rows in a database.

use holdover_store::rows::RowStore;
use holdover_store::{OpenTransaction, StoreError};

use crate::call::GRACE;
use crate::open::{self, Opened};
use crate::options::PostgresOptions;
use crate::rows::PgRows;
use crate::transaction::PostgresTransaction;

/// Sessions in one schema of a Postgres database.
///
/// Cheap to clone. Clones share connections, and the rows that the store keeps in memory of the sessions that it
/// wrote last. Needs a tokio runtime, and its connections belong to the runtime in which they were made. Every
/// statement runs to its end, even if the caller does not wait for the answer.
#[derive(Clone)]
pub struct PostgresStore {
    rows: RowStore<PgRows>,
    /// Counts the clones.
    #[cfg(feature = "test-access")]
    pub(crate) handle: std::sync::Arc<()>,
}

impl PostgresStore {
    /// Connects, creates the schema if it does not exist, and migrates it, unless the options rule that out. Several
    /// processes may open the store at once.
    ///
    /// # Errors
    /// Errors have the operation `open` and name host, database and schema in one line:
    /// [`Unavailable`](holdover_store::StoreErrorKind::Unavailable) if the server cannot be reached, is too old, is a
    /// standby or has unsuitable settings, or if the schema would have to be created or migrated and the options rule
    /// that out; [`Corrupt`](holdover_store::StoreErrorKind::Corrupt) if the schema holds something else;
    /// [`Newer`](holdover_store::StoreErrorKind::Newer) if a newer version made or migrated it.
    pub async fn open(options: PostgresOptions) -> Result<Self, StoreError> {
        let opened = open::open(&options).await?;
        Ok(Self {
            rows: RowStore::new(PgRows::new(opened)),
            #[cfg(feature = "test-access")]
            handle: std::sync::Arc::default(),
        })
    }

    /// Opens the store in the database named by `postgres://user@host/database`, with the default options.
    ///
    /// # Errors
    /// The errors of [`PostgresOptions::from_url`] and [`open`](Self::open).
    pub async fn open_url(url: &str) -> Result<Self, StoreError> {
        Self::open(PostgresOptions::from_url(url)?).await
    }

    /// Begins a transaction in which the caller writes its own tables in this database, and then makes one write
    /// to one session, such as a commit. Both are written, or neither is.
    ///
    /// ```
    /// # use holdover_store_postgres::{PostgresStore, sqlx};
    /// # use holdover_store::ids::Fence;
    /// # use holdover_store::{Commit, CommitOutcome};
    /// # async fn pay(store: PostgresStore, fence: Fence, commit: Commit) -> Result<CommitOutcome, Box<dyn std::error::Error>> {
    /// let mut transaction = store.begin().await?;
    /// let pay = sqlx::query("UPDATE account SET cents = cents - 500 WHERE id = 7");
    /// if pay.execute(transaction.connection()?).await?.rows_affected() != 1 {
    ///     return Err("there is no account 7".into());
    /// }
    /// Ok(transaction.into_store().commit(&fence, commit).await?)
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Unavailable`](holdover_store::StoreErrorKind::Unavailable) if the server cannot be reached, or if
    /// [`transactions_max`](PostgresOptions::transactions_max) other transactions stay open for too long.
    pub async fn begin(&self) -> Result<PostgresTransaction, StoreError> {
        PostgresTransaction::begin(&self.rows).await
    }

    /// Closes the connections of all clones, each when its call has ended. Waits for open transactions only for a
    /// short time. Later calls fail with an error that says that the store was closed.
    pub async fn close(&self) {
        self.opened().hints.close().await;
        self.opened().caller.pool.close().await;
        // The holder of a transaction may be the task that waits here.
        let _ = tokio::time::timeout(GRACE, self.opened().lent.close()).await;
    }

    pub(crate) fn opened(&self) -> &Opened {
        &self.rows.rows().opened
    }
}

holdover_store::forward_store! { [] PostgresStore, |store| store.rows, async {
    Ok(OpenTransaction::new(PostgresTransaction::begin(&store.rows).await?))
} }
