//! The rights of the database user.

use holdover_store::StoreError;
use sqlx::Connection as _;

use crate::columns::Columns;
use crate::error::Fault;
use crate::store::PostgresStore;

/// Finds the first table whose rows this user may not read or change. It skips the table `mark`, which only a migration
/// writes.
const REFUSED: &str = "SELECT c.relname::text, current_user::text FROM pg_class c \
     JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname <> 'mark' AND NOT (\
     has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') \
     AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')) \
     ORDER BY 1 LIMIT 1";

impl PostgresStore {
    /// Returns the reason why the database user cannot write the store, or none if it can. Changes nothing.
    ///
    /// # Errors
    /// Errors have the operation `unwritable`. The call fails if the server cannot be asked.
    pub async fn unwritable(&self) -> Result<Option<String>, StoreError> {
        self.refused().await.map_err(|fault| fault.of("unwritable", None, false))
    }

    async fn refused(&self) -> Result<Option<String>, Fault> {
        // Behind a pooler, only the statements of one transaction surely reach the same connection.
        let mut conn = self.opened().caller.pool.acquire().await?;
        let mut transaction = conn.begin().await?;
        let query = sqlx::query(REFUSED).bind(self.opened().schema.name()).persistent(false);
        let rows = query.fetch_all(&mut *transaction).await?;
        transaction.rollback().await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let mut c = Columns::of(row);
        let (table, user): (String, String) = (c.take()?, c.take()?);
        Ok(Some(format!("table {}.{table}: user {user} may not change it", self.opened().schema)))
    }
}
