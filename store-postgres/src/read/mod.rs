//! The reads: one call each, which sees one instant.

mod lists;
mod log;
mod session;

use holdover_store::payload::Digest;
use holdover_store::{PageCursor, PageRequest, StoreError};

use crate::error::Fault;

pub(crate) use lists::{ListCheckpoints, ListPending, ListRuns, ListSessions, PendingPlace, SessionPlace};
pub(crate) use log::{ReadEvents, ReadInbox, ReadMessages};
pub(crate) use session::LoadSession;

/// Where a page of the list with this digest goes on, as the store's own bytes; none at its beginning.
pub(crate) fn position(
    page: &PageRequest,
    query: Digest,
    operation: &'static str,
) -> Result<Option<Vec<u8>>, StoreError> {
    let after = page.after.as_ref().map(|cursor| cursor.position_in(query)).transpose();
    after.map_err(|error| StoreError::invalid(operation, format!("after: {error}")))
}

/// A place that is one number; `begin` at the beginning.
pub(crate) fn number(
    position: Option<Vec<u8>>,
    begin: i64,
    operation: &'static str,
) -> Result<i64, StoreError> {
    match position {
        None => Ok(begin),
        Some(place) => place.try_into().map(i64::from_be_bytes).map_err(|_| bad_place(operation)),
    }
}

/// Place bytes that this store did not write, under a checksum that is right.
pub(crate) fn bad_place(operation: &'static str) -> StoreError {
    StoreError::invalid(operation, "after: it is no place in this list")
}

/// Where a page of these rows goes on, if there are more.
fn next<T>(rows: &[T], more: bool, query: Digest, place: impl Fn(&T) -> Vec<u8>) -> Option<PageCursor> {
    rows.last().filter(|_| more).map(|last| PageCursor::at(query, &place(last)))
}

/// Reads rows until one that does not go into the page any more; says whether there was one.
fn until_full<'r, T>(
    rows: &'r [sqlx::postgres::PgRow],
    read: impl Fn(&mut crate::columns::Columns<'r>) -> Result<T, Fault>,
) -> Result<(Vec<T>, bool), Fault> {
    let mut items = Vec::with_capacity(rows.len());
    for row in rows {
        let mut c = crate::columns::Columns::of(row);
        match c.flag_or_null()? {
            Some(true) => items.push(read(&mut c)?),
            Some(false) => return Ok((items, true)),
            // The session is there, and has none.
            None => break,
        }
    }
    Ok((items, false))
}
