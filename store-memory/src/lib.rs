//! The reference store of Holdover: sessions in memory.
//!
//! It keeps nothing beyond its process, and is for tests, toys and comparison: the simplest thing that
//! keeps the whole contract of [`StateStore`](holdover_store::StateStore), against which other
//! stores are measured.
//!
//! It is [`Rows`](holdover_store::rows::Rows) in maps under one lock; [`RowStore`](holdover_store::rows::RowStore) decides.
//! A clone of a [`MemoryStore`] is another handle on the same data.

mod clock;
mod indexes;
mod limits;
#[cfg(feature = "parts")]
mod ops;
#[cfg(feature = "parts")]
pub mod parts;
mod rows;
mod store;
#[cfg(feature = "parts")]
mod table;
#[cfg(feature = "parts")]
mod tombstones;

pub use clock::SystemClock;
pub use limits::Limits;
pub use rows::MemoryRows;
pub use store::MemoryStore;

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
