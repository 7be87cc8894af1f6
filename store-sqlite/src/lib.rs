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
//! One thread owns the one connection that writes. All writes that are queued when that connection is free
//! share one transaction and one sync. Reads have connections of their own, and each sees one instant. The
//! rules of a store are not here: [`RowStore`](holdover_store::rows::RowStore) decides, and the writer
//! compares the token on which it decided, so other processes may use the same file.
//!
//! **Who can read the file.** A new file, its log and the log's index belong to their owner alone (mode
//! 0600). An existing file keeps its mode, and the two others get the same. Removed data (a session,
//! checkpoints, rows that a commit deletes) is overwritten in the file. The log is emptied after a deletion
//! or a purge as soon as no write waits; if a reader of another program holds it, with the next write-back. A
//! long session is removed piece by piece: closing the last handle waits at most a second for that, and the
//! next opener of the file removes the rest. Copies that the file system or the drive keeps of overwritten
//! blocks are out of reach. The file itself does not shrink, since its pages are used again, and keeping
//! count of them would cost each commit a page. `VACUUM` gives them back while nobody else has the file open.
//!
//! **Several versions at once.** A newer version brings the schema up to date when it opens the file. From
//! then on, a process of an older version that has the file open reads and writes nothing more, and reports
//! that ([`Newer`](holdover_store::StoreErrorKind::Newer)). It must be started again.
//!
//! A service that has tables of its own in the file can change them and a session together:
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
/// What [`SqliteTransaction::run`] hands out is of this version of it.
pub use rusqlite;
pub use store::{SqliteStore, WriterCounts};
pub use transaction::SqliteTransaction;

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
