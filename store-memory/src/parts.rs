//! What the store is made of, for whoever builds another store of the same parts: the conformance suite
//! builds broken ones, to prove that it notices.
//!
//! Behind the feature `parts`, and no part of what the crate promises: it may change with any version.

use holdover_core::payload::Payload;
use holdover_core::store::{InboxItem, StoreError};

use crate::limits::Limits;
pub use crate::ops::*;
pub use crate::table::{Record, Sessions};
pub use crate::tombstones::Tombstones;

/// Refuses a payload that is too large. Names its field.
pub fn check_payload(
    limits: &Limits,
    operation: &'static str,
    field: &str,
    payload: &Payload,
) -> Result<(), StoreError> {
    limits.check(operation, field, payload)
}

/// Refuses items that are too large, and answers: a move carries messages and signals only.
pub fn check_carried(
    limits: &Limits,
    operation: &'static str,
    items: &[InboxItem],
) -> Result<(), StoreError> {
    limits.check_carried(operation, items)
}
