//! Stores: where sessions are kept.
//!
//! ```
//! use holdover::model::{Script, ScriptedModel};
//! use holdover::prelude::*;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(folder.path())?;
//! # let model = ScriptedModel::new("desk", Script::from_toml("[[turns]]\nsay = 'Good day.'")?);
//! # let agent = std::sync::Arc::new(Agent::builder("clerk").model(model).build()?);
//! let store = SqliteStore::open_url("sqlite:desk.db").await?;
//! let agents = Agents::new().with(agent.clone());
//! let runtime = Runtime::new(store, agents.clone(), RuntimeOptions::default());
//! let run = runtime.execute(Execute::new(TenantId::new("acme")?, agent, "Hello?")).await?;
//! let session = run.key().clone();
//! run.outcome().await?;
//!
//! // Another process opens the same file, and finds the session.
//! let reopened = SqliteStore::open_url("sqlite:desk.db").await?;
//! let later = Runtime::new(reopened, agents, RuntimeOptions::default());
//! assert_eq!(later.last_text(&session).await?.as_deref(), Some("Good day."));
//! # Ok(())
//! # }
//! ```
//!
//! | store | feature | for |
//! |---|---|---|
//! | `SqliteStore` | `sqlite` | one machine: a file |
//! | `PostgresStore` | `postgres` | many machines: a schema of a database |
//! | `RedisStore` | `redis` | many machines: a namespace of a server or cluster |
//! | `MemoryStore` | `memory` | tests: nothing survives the process |
//!
//! [`StateStore`] is the contract of all of them. [`Capabilities`] say what a store promises under its present
//! settings. [`layers`] has the layers between a runtime and its store: encryption, compression, and faults and records
//! for tests.
//!
//! A store or a layer of your own builds on the crate `holdover-store`, which has every type of the contract and
//! nothing about agents; `examples/custom-store` is an example. A [`Runtime`](crate::runtime::Runtime) takes any
//! [`StateStore`].

#[cfg(feature = "layers")]
pub mod layers;

pub use holdover_core::store::{
    Capabilities, CommitSurvives, OpenTransaction, Retry, SharedBy, StateStore, StoreError, StoreErrorKind,
    StoreTransaction,
};
#[cfg(feature = "memory")]
pub use holdover_store_memory::{Limits as MemoryLimits, MemoryStore};
#[cfg(feature = "postgres")]
pub use holdover_store_postgres::{PostgresOptions, PostgresStore, PostgresTransaction, sqlx};
#[cfg(feature = "redis")]
pub use holdover_store_redis::{RedisOptions, RedisStore};
#[cfg(feature = "sqlite")]
pub use holdover_store_sqlite::{SqliteOptions, SqliteStore, SqliteTransaction, Synchronous, rusqlite};
