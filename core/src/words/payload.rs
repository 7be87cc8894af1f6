//! Bytes that a store keeps and never reads, and the fields that are left out of them.

pub use holdover_store::payload::*;

/// Whether a value need not be written: it is what is read where there is none.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
