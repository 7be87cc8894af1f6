//! How many rows go into a page, known before any of them is read.

use holdover_store::rules::PageRoom;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Sqlite, SqliteConnection};

use crate::columns::Columns;
use crate::error::Fault;

/// What of the next rows goes into a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fit {
    /// How many rows.
    pub(crate) rows: i64,
    /// Whether there are more.
    pub(crate) more: bool,
}

/// Asks how large the payloads of the next rows are and counts them into the page while there is room.
/// `sizes` selects them in the order of the page, one more than the page has rows; SQLite knows them without
/// reading the payloads. To be asked in the transaction that then reads the rows.
pub(crate) async fn fit(
    conn: &mut SqliteConnection,
    sizes: sqlx::query::Query<'_, Sqlite, SqliteArguments>,
    room: &mut PageRoom,
) -> Result<Fit, Fault> {
    let found = sizes.fetch_all(conn).await?;
    let mut rows = 0;
    for row in &found {
        if !room.takes(Columns::of(row).count()?) {
            return Ok(Fit { rows, more: true });
        }
        rows += 1;
    }
    Ok(Fit { rows, more: false })
}

/// The limit of a query for the sizes of what may go into `room`, and of one row after it.
pub(crate) fn one_too_many(room: &PageRoom) -> i64 {
    i64::try_from(room.rows()).unwrap_or(i64::MAX).saturating_add(1)
}
