//! A store that keeps sessions in one SQLite file: the default store.
//!
//! ```no_run
//! # async fn open() -> Result<(), holdover_store::StoreError> {
//! use holdover_store_sqlite::{SqliteOptions, SqliteStore};
//!
//! let store = SqliteStore::open(SqliteOptions::new("holdover.db")).await?;
//! # Ok(()) }
//! ```
//!
//! One thread owns the only connection that writes. The writes that are queued when that connection is free share one
//! transaction and one sync, up to a limit. Reads have connections of their own, and each read sees one instant.
//! [`RowStore`](holdover_store::rows::RowStore) decides writes by the rules of the contract. The writer only compares
//! the token on which a write was decided, so other processes may use the same file.
//!
//! **Who can read the file.** Only the owner of a new file can read and write it, its log and the log's index (mode
//! 0600). An existing file keeps its mode, and its log and index get the same. Removed data (a session, checkpoints,
//! rows that a commit deletes) is overwritten in the file. After a deletion or a purge, the log is emptied as soon as
//! no write waits. If a reader holds the log then, the next write-back that finds no such reader empties it. A long
//! session is removed piece by piece: closing the last handle spends at most a second on it, and the next process that
//! opens the file removes the rest. The file system or the drive may keep copies of overwritten blocks, which the store
//! cannot reach. The file does not shrink: its pages are reused, and counting the free ones would cost each commit a
//! page. `VACUUM` shrinks it while no other process has the file open.
//!
//! **Several versions at once.** A newer version migrates the schema when it opens the file. From then on, in a
//! process of an older version that has the file open, every read and write fails with
//! [`Newer`](holdover_store::StoreErrorKind::Newer). Restart such a process with the newer version.
//!
//! A service with tables of its own in the file can change them and a session in one transaction: see
//! [`SqliteStore::begin`].

mod apply;
mod columns;
mod due;
mod error;
mod gaps;
mod guard;
mod hints;
mod log;
mod migration;
mod open;
mod options;
mod place;
mod read;
mod readers;
mod remains;
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
/// The version of `rusqlite` whose connection [`SqliteTransaction::run`] hands out.
pub use rusqlite;
pub use store::{SqliteStore, WriterCounts};
pub use transaction::SqliteTransaction;

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
