//! The reference store of Holdover: sessions in memory.
//!
//! It keeps nothing beyond its process, and is for tests, toys and comparison: the simplest thing that
//! keeps the whole contract of [`StateStore`](holdover_store::StateStore), against which other
//! stores are measured.
//!
//! A clone of a [`MemoryStore`] is a peer: another handle on the same data.
//!
//! How it is built: `Sessions` is the data; each operation is one plain function on it
//! (`ops`), given the time, that lets the contract's rules decide on a copy of the session row and writes only
//! what they accepted; [`MemoryStore`] runs each operation under one lock that is never held across an
//! await.

mod clock;
mod hints;
mod limits;
#[cfg_attr(not(feature = "parts"), allow(unreachable_pub, reason = "`parts` makes them reachable"))]
mod ops;
#[cfg(feature = "parts")]
pub mod parts;
mod store;
#[cfg_attr(not(feature = "parts"), allow(unreachable_pub, reason = "`parts` makes them reachable"))]
mod table;
#[cfg_attr(not(feature = "parts"), allow(unreachable_pub, reason = "`parts` makes them reachable"))]
mod tombstones;

pub use clock::SystemClock;
pub use limits::Limits;
pub use store::MemoryStore;

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
