//! The parts of the store, for another store that is built from them. The conformance suite builds broken
//! stores from them, to prove that it detects them.
//!
//! The parts are behind the feature `parts`. They are not part of the crate's promises and may change with
//! any version.

pub use crate::ops::*;
pub use crate::table::{Record, Sessions};
pub use crate::tombstones::Tombstones;
