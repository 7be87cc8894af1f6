//! The reference store of Holdover: sessions in memory.
//!
//! It keeps nothing beyond its process. It is for tests, toys and comparison: the simplest store that keeps
//! the whole contract of [`StateStore`](holdover_store::StateStore), with which other stores are compared.
//!
//! It implements [`Rows`](holdover_store::rows::Rows) as maps under one lock, and
//! [`RowStore`](holdover_store::rows::RowStore) decides. A clone of a [`MemoryStore`] is another handle on
//! the same data.

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
