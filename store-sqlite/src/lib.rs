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
//! One thread owns the one connection that writes. What is queued when that connection is free shares one
//! transaction and one sync. Reads have connections of their own and see one instant each. The rules of a store are
//! not here: [`RowStore`](holdover_store::rows::RowStore) decides, and the writer compares the token of what it decided on,
//! so other processes may use the same file.
//!
//! A service that has tables of its own in the file can change them and a session together:
//! [`SqliteStore::begin`].

mod apply;
mod columns;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod guard;
mod hints;
mod migration;
mod open;
mod options;
mod place;
mod read;
mod readers;
mod rights;
mod room;
mod rows;
mod scan;
mod session;
mod store;
mod transaction;
mod writer;

pub use options::{SqliteOptions, Synchronous, SystemClock};
pub use rights::unwritable;
pub use room::room;
/// What [`SqliteTransaction::run`] hands out is of this version of it.
pub use rusqlite;
pub use store::{SqliteStore, WriterCounts};
pub use transaction::SqliteTransaction;
