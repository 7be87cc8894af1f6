//! Keeps sessions in one SQLite file: the default store.
//!
//! ```no_run
//! # async fn open() -> Result<(), holdover_store::StoreError> {
//! use holdover_store_sqlite::{SqliteOptions, SqliteStore};
//!
//! let store = SqliteStore::open(SqliteOptions::new("holdover.db")).await?;
//! # Ok(()) }
//! ```
//!
//! One task owns the one connection that writes. What is queued when that connection is free shares one
//! transaction and one sync. Reads have connections of their own and see one instant each. Nothing is
//! remembered between transactions, so other processes may use the same file.

mod columns;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod hints;
mod job;
mod migration;
mod open;
mod options;
mod place;
mod read;
mod rights;
mod room;
mod rows;
mod store;
mod write;
mod writer;

pub use options::{SqliteOptions, Synchronous, SystemClock};
pub use rights::unwritable;
pub use room::room;
pub use store::{SqliteStore, WriterCounts};
