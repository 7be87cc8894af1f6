//! The reads: short transactions that see one instant.

mod lists;
mod log;
mod session;

use holdover_store::payload::Digest;
use holdover_store::{PageCursor, PageRequest, StoreError};
use sqlx::sqlite::SqlitePool;
use sqlx::{Sqlite, SqliteConnection};

use crate::error::Fault;

pub(crate) use lists::{list_checkpoints, list_pending, list_runs, list_sessions};
pub(crate) use log::{read_events, read_inbox, read_messages};
pub(crate) use session::{load, waits_for};

/// A connection with an open read transaction. It sees one instant, from its first read on; dropping it
/// ends the transaction.
pub(crate) struct Snapshot {
    transaction: sqlx::Transaction<'static, Sqlite>,
}

impl Snapshot {
    pub(crate) async fn begin(readers: &SqlitePool) -> Result<Self, Fault> {
        Ok(Self { transaction: readers.begin().await? })
    }

    pub(crate) fn conn(&mut self) -> &mut SqliteConnection {
        &mut self.transaction
    }

    /// Ends the transaction, so that the next reader and the next checkpoint need not wait for it.
    pub(crate) async fn end(self) -> Result<(), Fault> {
        Ok(self.transaction.rollback().await?)
    }
}

/// Where a page of the list with this digest goes on, as the store's own bytes; none at its beginning.
pub(crate) fn position(
    page: &PageRequest,
    query: Digest,
    operation: &'static str,
) -> Result<Option<Vec<u8>>, StoreError> {
    let after = page.after.as_ref().map(|cursor| cursor.position_in(query)).transpose();
    after.map_err(|error| StoreError::invalid(operation, format!("after: {error}")))
}

/// Where a page of these rows goes on, if there are more.
fn next<T>(rows: &[T], more: bool, query: Digest, place: impl Fn(&T) -> Vec<u8>) -> Option<PageCursor> {
    rows.last().filter(|_| more).map(|last| PageCursor::at(query, &place(last)))
}
