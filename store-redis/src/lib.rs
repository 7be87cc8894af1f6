//! A store that keeps sessions in Redis, on one server or a Redis Cluster: many workers on many machines.
//!
//! ```no_run
//! # async fn open() -> Result<(), holdover_store::StoreError> {
//! use holdover_store_redis::{RedisOptions, RedisStore};
//!
//! let store = RedisStore::open(RedisOptions::from_url("redis://127.0.0.1:6379")?).await?;
//! # Ok(()) }
//! ```
//!
//! - **One script for each write.** This process decides what is written, by the rules that all stores share, on rows
//!   that were read with the session's token. One script compares the token and the clock, and runs the commands that
//!   came with them. No script decides what is written. A server runs its scripts one after the other, so the row
//!   needs no lock.
//! - **All or nothing.** A script is not rolled back. So before its first write, the script touches every key that it
//!   will write, with a command that fails if the write would fail.
//! - **Partitions.** Sessions are hashed to partitions, whose number is fixed when the store is made. All keys of a
//!   partition carry one hash tag and lie in one slot of a cluster. A method on one session touches one partition.
//!   Lists, `claim_due` and `purge` visit all of them: with one request to a single server, and in a cluster with one
//!   request for each partition, all at the same time. They ask again only if the first answers do not suffice.
//! - **Payloads are opaque.** They are stored as bytes with their digest, apart from the session's row. The cost of a
//!   commit does not grow with the length of the session.
//!
//! # Keys
//!
//! Each key begins with the tag of its partition, `{namespace:partition}`. Only the key of the fixed parameters,
//! `{namespace}:meta`, belongs to no partition.
//!
//! | key | holds |
//! |---|---|
//! | `s:LENGTH:TENANTID` | a hash: the row of a session, its `token`, and the incarnations deleted under it |
//! | `LIFE:NAME` | the data of one incarnation: `messages`, `events`, `inbox`, `pending`, `runs`, and so on |
//! | `due`, `turns` | sorted sets: sessions with an alarm, by queue and format, then by alarm or by tenant |
//! | `resting`, `dead` | sorted sets: sessions at rest by their last change; keys of deleted sessions by deletion |
//! | `sessions:TENANT`, `pending:TENANT` | sorted sets: a tenant's sessions by creation; pending calls by deadline |
//! | `lives:TENANT`, `labels:TENANT` | sorted sets: a tenant's sessions by incarnation; by label |
//! | `kinds:TENANT` | a sorted set: a tenant's pending calls by kind, then by deadline |
//! | `store`, `hints` | the incarnation of the store; the channel of changes |
//!
//! # Rows of older versions
//!
//! Versions before tokens could write a session unnoticed. Their rows are read as they are. Before the first write by
//! this version, a row gets a token, and its field `version` is renamed to `session_version`. From then on, an older
//! version reports that the row is corrupt. It can still delete the row by force, which this version notices.
//!
//! # Several versions on one store
//!
//! Only workers of versions that know the same format may share a store. When the first process of a version with a
//! newer format opens the store to write, it raises the format and replaces the store's incarnation. From then on,
//! every read and write by a process with an older format fails for good, and that process cannot open the store again.
//! From format 2 on the error is [`Newer`](holdover_store::StoreErrorKind::Newer); a version of format 1 says that the
//! store went back in time. The change cannot be undone.
//!
//! If the store had format 1, the sessions that have an alarm are moved to other indexes. No session is served until
//! all of them are moved, and the time for that grows with their number. A process that opens the store meanwhile
//! helps, and continues where another process was interrupted.
//!
//! Format 2 keeps sessions with an alarm in the indexes `due` and `turns`. Format 1 kept them in `alarms`,
//! `alarms:QUEUE` and `interrupted`. Format 3 keeps sessions by their labels, in `labels:TENANT`. Format 4 keeps pending
//! calls by their kind, in `kinds:TENANT`. In a store that had an earlier format, sessions are found by their labels in a
//! walk over all sessions of the tenant, and pending calls by their kind in a walk over all of its pending calls, until
//! [`rebuild_indexes`](RedisStore::rebuild_indexes) was run once and the store opened again.
//!
//! # A slot that moves to another node
//!
//! Scripts do not declare the keys of an incarnation and of indexes. These keys lie in the slot of the declared keys,
//! and are touched before the first write. While a slot is moving, the server refuses a touch of a key that it does
//! not have. The write then fails with [`Unavailable`](holdover_store::StoreErrorKind::Unavailable), with nothing
//! changed, until the slot has arrived.
//!
//! # What a commit survives
//!
//! The settings of every master are read when the store is opened, and again whenever another server may answer:
//! after a connection was lost, a slot has moved, or a master became a replica. Then nothing is acknowledged before
//! the settings are read, if they can be read, and [`Capabilities`](holdover_store::Capabilities) follow them. Only
//! `appendfsync always` on servers without replicas promises anything. Under `everysec` the server acknowledges data
//! that it has not written yet, and a replica that takes over may lack commits that its master acknowledged. A
//! replica that joins later is noticed at the next such event.
//!
//! # A store that went back in time
//!
//! Redis can lose data that it acknowledged: at a failover, by `FLUSHALL`, by a restart from old data. A worker
//! notices a loss that contradicts what its handle knows, in one of two ways:
//!
//! - Every partition holds the random incarnation of the store, and every script compares it with the one that the
//!   handle has opened. So calls to an emptied or replaced store fail until it is opened again.
//! - For each run that it was granted, the handle remembers the run's id and the newest version that was acknowledged
//!   to the run. A write of a run is applied only on the token on which it was decided. If the token differs, the
//!   session is read again and compared with this memory. If the session is missing, has an older version, has not
//!   reached the run's epoch, or granted that epoch to another run, the write fails and nothing is applied.
//!
//! Both errors are [`Unavailable`](holdover_store::StoreErrorKind::Unavailable) and never worth a retry. An older
//! state that no live worker's memory contradicts is accepted.

mod apply;
mod args;
mod clock;
mod due;
mod ear;
mod error;
mod fork;
mod grants;
mod hints;
mod keys;
mod merge;
mod moves;
mod nodes;
mod open;
mod options;
mod place;
mod read;
mod rebuild;
mod records;
mod reply;
mod rights;
mod row;
mod rows;
mod script;
mod server;
mod settings;
mod state_store;
mod store;
#[cfg(feature = "test-access")]
pub mod test_access;
mod torn;
mod trust;
mod walk;
mod wire;

pub use options::RedisOptions;
pub use rebuild::Rebuilt;
pub use store::RedisStore;

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
