//! The bytes that a store keeps without reading them, and a helper that omits default fields from them.

pub use holdover_store::payload::*;

/// Returns true if the value is the default. Such fields are not written, because a missing field is read as
/// the default.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
