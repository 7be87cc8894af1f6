//! What the store is made of, for whoever builds another store of the same parts: the conformance suite
//! builds broken ones, to prove that it notices.
//!
//! Behind the feature `parts`, and no part of what the crate promises: it may change with any version.

pub use crate::ops::*;
pub use crate::table::{Record, Sessions};
pub use crate::tombstones::Tombstones;
