//! The reads: each at one instant, but for lists over several partitions.

mod events;
mod lists;
mod log;
mod session;

use holdover_core::payload::Digest;
use holdover_core::store::{PageRequest, StoreError};

/// The position that a page goes on after, if it has one; empty at the start.
pub(crate) fn position(
    page: &PageRequest,
    query: Digest,
    operation: &'static str,
) -> Result<Vec<u8>, StoreError> {
    let position = page.after.as_ref().map(|cursor| cursor.position_in(query)).transpose();
    let position = position.map_err(|why| StoreError::invalid(operation, format!("after: {why}")))?;
    Ok(position.unwrap_or_default())
}

/// The number that a cursor's bytes hold; none at the start.
pub(crate) fn number_at(position: &[u8], operation: &'static str) -> Result<Option<u64>, StoreError> {
    if position.is_empty() {
        return Ok(None);
    }
    let number = position.try_into().map(u64::from_be_bytes);
    number.map(Some).map_err(|_| StoreError::invalid(operation, "after: it names no place"))
}
