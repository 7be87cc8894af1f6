//! The rights of the database user.

use holdover_store::StoreError;
use sqlx::Connection as _;

use crate::columns::Columns;
use crate::error::Fault;
use crate::store::PostgresStore;

/// The first table that this user may not change. The mark is written by whoever
/// brings the store up to date.
const REFUSED: &str = "SELECT c.relname::text, current_user::text FROM pg_class c \
     JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname <> 'mark' AND NOT (\
     has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') \
     AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')) \
     ORDER BY 1 LIMIT 1";

impl PostgresStore {
    /// Why the database user cannot write the store, if that is so. Changes nothing.
    ///
    /// # Errors
    /// Of operation `unwritable`, when the server cannot be asked.
    pub async fn unwritable(&self) -> Result<Option<String>, StoreError> {
        self.refused().await.map_err(|fault| fault.of("unwritable", None, false))
    }

    async fn refused(&self) -> Result<Option<String>, Fault> {
        // Behind a pooler a statement outside a transaction may be another client's.
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
