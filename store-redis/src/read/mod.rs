//! The reads: each at one instant, but for lists over several partitions.

mod events;
mod lists;
mod log;
mod session;

use holdover_store::payload::Digest;
use holdover_store::{PageRequest, StoreError};

/// The position that a page goes on after, if it has one, in a list whose positions pass `is_place`.
pub(crate) fn position(
    page: &PageRequest,
    query: Digest,
    operation: &'static str,
    is_place: impl Fn(&[u8]) -> bool,
) -> Result<Option<Vec<u8>>, StoreError> {
    let position = page.after.as_ref().map(|cursor| cursor.position_in(query)).transpose();
    let position = position.map_err(|why| StoreError::invalid(operation, format!("after: {why}")))?;
    match position {
        Some(position) if !is_place(&position) => {
            Err(StoreError::invalid(operation, "after: it names no place"))
        }
        position => Ok(position),
    }
}

/// The number that a page goes on after, if it has one, in a list of numbers.
pub(crate) fn number_at(
    page: &PageRequest,
    query: Digest,
    operation: &'static str,
) -> Result<Option<u64>, StoreError> {
    let bytes = position(page, query, operation, |position| position.len() == size_of::<u64>())?;
    Ok(bytes.map(|bytes| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))))
}
