//! Parts from which another in-memory store can be built. The conformance suite builds broken stores from
//! them, to prove that it detects the defects.
//!
//! The parts need the feature `parts`. They are not part of the crate's stable interface and may change with
//! any version.

pub use crate::ops::*;
pub use crate::table::{Record, Sessions};
pub use crate::tombstones::Tombstones;
