//! Keeps sessions in Postgres, for as many workers on as many machines as there are.
//!
//! ```no_run
//! # async fn open() -> Result<(), holdover_store::StoreError> {
//! use holdover_store_postgres::{PostgresOptions, PostgresStore};
//!
//! let store = PostgresStore::open(PostgresOptions::from_url("postgres://holdover@localhost/app")?).await?;
//! # Ok(()) }
//! ```
//!
//! Every method is one call of a function in the database, and so one round trip: the function locks the
//! session's row, reads the clock, decides, and writes. Nothing is remembered between calls. The functions lie
//! in the folder `functions`, named as the rules of `holdover_store::rules` that they follow; all that
//! they need lies in one schema of the database.
//!
//! Programs of several versions may have one schema open, as long as they know the same tables: each brings
//! functions of its own. One that does not know newer tables is refused
//! ([`Newer`](holdover_store::StoreErrorKind::Newer)). Functions that no program was opened with for thirty
//! days are removed by the next that brings its own; whoever misses its own makes them again.

mod call;
mod columns;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod functions;
mod hints;
mod migration;
mod open;
mod options;
mod read;
mod rights;
mod rows;
mod server;
mod settings;
mod sql;
mod store;
mod url;
mod write;

pub use options::PostgresOptions;
pub use store::PostgresStore;
