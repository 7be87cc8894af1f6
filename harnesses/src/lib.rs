#![doc = include_str!("../README.md")]
#![allow(clippy::expect_used, reason = "a harness that cannot have its backend panics")]

#[cfg(feature = "layers")]
pub mod layers;
#[cfg(feature = "memory")]
pub mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "sqlite")]
pub mod sqlite;

#[cfg(feature = "memory")]
pub use memory::MemoryHarness;
#[cfg(feature = "postgres")]
pub use postgres::PostgresHarness;
#[cfg(feature = "redis")]
pub use redis::RedisHarness;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteHarness;
