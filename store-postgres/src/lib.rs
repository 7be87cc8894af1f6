//! A store that keeps sessions in Postgres, for any number of workers on any number of machines.
//!
//! ```no_run
//! # async fn open() -> Result<(), holdover_store::StoreError> {
//! use holdover_store_postgres::{PostgresOptions, PostgresStore};
//!
//! let store = PostgresStore::open(PostgresOptions::from_url("postgres://holdover@localhost/app")?).await?;
//! # Ok(()) }
//! ```
//!
//! The store implements [`Rows`](holdover_store::rows::Rows) in tables. A read is one statement, and so one snapshot.
//! A write is one statement too. It applies only if the session's row still has the token on which the write was
//! decided, and every write replaces the token. [`RowStore`](holdover_store::rows::RowStore) decides in the program
//! what is written. The database holds no code, except for a view that shows people what is stored, and its two
//! functions. If a handle has claimed a run, a commit of that run usually takes one round trip. Commits of different
//! sessions that are made at once share a statement, and so a sync.
//!
//! A service with tables of its own in the database can change them and a session in one transaction: see
//! [`PostgresStore::begin`].
//!
//! Everything is in one schema of the database. A program that does not know newer tables fails with
//! [`Newer`](holdover_store::StoreErrorKind::Newer), even in the middle of its work.

mod call;
mod clock;
mod columns;
mod connections;
mod error;
mod hints;
mod migration;
mod open;
mod options;
mod rights;
mod rows;
mod server;
mod settings;
mod sql;
mod store;
#[cfg(feature = "test-access")]
mod test_access;
mod transaction;
mod url;

pub use options::PostgresOptions;
/// The version of `sqlx` whose connection [`PostgresTransaction::connection`] hands out.
pub use sqlx;
pub use store::PostgresStore;
pub use transaction::PostgresTransaction;

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
