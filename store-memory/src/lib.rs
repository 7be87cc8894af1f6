//! The reference store of Holdover: sessions in memory.
//!
//! The data is lost when the process ends. The store is meant for tests, for small experiments, and as a
//! reference: it is the simplest store with the whole contract of [`StateStore`](holdover_store::StateStore),
//! and other stores are compared with it.
//!
//! [`MemoryRows`] implements [`Rows`](holdover_store::rows::Rows) as maps under one lock, and
//! [`RowStore`](holdover_store::rows::RowStore) makes the decisions. A clone of a [`MemoryStore`] is another handle
//! on the same data.

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
