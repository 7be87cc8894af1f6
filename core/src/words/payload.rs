//! Bytes that a store keeps and never reads, and the fields that are left out of them.

pub use holdover_store::payload::*;

/// Whether a value is the default and need not be written, because a missing field is read as the default.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
