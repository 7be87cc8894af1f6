//! Real servers for tests: Postgres, PgBouncer, Redis and a Redis Cluster.
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
//! - **On free loopback ports**, with data folders of their own, and with `fsync` on: a test may kill them
//!   and check what was kept.
//! - **Installed when missing**: the Debian packages, if the process runs as root; else an error that names
//!   the package. Servers that a package would start by itself are not started.
//! - **Nothing is left behind.** When the [`Launcher`] is dropped, or the process that made it ends in
//!   whatever way, its servers are killed and its folder is removed. Nothing else is ever killed: a server is
//!   identified by the folder that it works in.

mod cluster;
mod error;
mod folder;
mod install;
mod pgbouncer;
mod port;
mod postgres;
mod process;
mod redis;
mod relay;
pub mod shared;
mod tls;

use std::path::Path;

pub use cluster::RedisCluster;
pub use error::LaunchError;
pub use pgbouncer::PgBouncer;
pub use port::free as free_port;
pub use postgres::Postgres;
pub use process::Process;
pub use redis::Redis;
pub use relay::Relay;

use folder::Folder;
use tls::Certificate;

/// One folder with the servers that work in it.
#[derive(Debug)]
pub struct Launcher {
    folder: Folder,
}

impl Launcher {
    /// A launcher with a new temporary folder.
    pub fn new() -> Result<Self, LaunchError> {
        Ok(Self { folder: Folder::new()? })
    }

    /// Where the servers keep their data and write their logs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A new Postgres with an empty database, and with `settings` beside its own (`fsync` on, and
    /// `synchronous_commit` as Postgres has it).
    pub fn postgres(&self, settings: &[(&str, &str)]) -> Result<Postgres, LaunchError> {
        Postgres::launch(&self.folder, settings)
    }

    /// A new PgBouncer in transaction mode in front of `postgres`.
    pub fn pgbouncer(&self, postgres: &Postgres) -> Result<PgBouncer, LaunchError> {
        PgBouncer::launch(&self.folder, postgres)
    }

    /// A new Redis, with `settings` beside its own (`appendonly yes`, `appendfsync always`, `noeviction`).
    pub fn redis(&self, settings: &[(&str, &str)]) -> Result<Redis, LaunchError> {
        Redis::launch(&self.folder, settings)
    }

    /// A new Redis that also listens for TLS, with a certificate that nobody trusts who does not know its
    /// [`authority`](Redis::authority).
    pub fn redis_with_tls(&self) -> Result<Redis, LaunchError> {
        Redis::launch_with_tls(&self.folder, &[], &Certificate::new(&self.folder)?)
    }

    /// A new replica of `of`, which has copied all that is there. Nothing promotes it by itself.
    pub fn redis_replica(&self, of: &Redis) -> Result<Redis, LaunchError> {
        Redis::launch_replica(&self.folder, of)
    }

    /// A new Redis Cluster of three masters, each as [`redis`](Self::redis) has it.
    pub fn redis_cluster(&self) -> Result<RedisCluster, LaunchError> {
        RedisCluster::launch(&self.folder, 0, None)
    }

    /// A new Redis Cluster of three masters that also listen for TLS, as [`redis_with_tls`](Self::redis_with_tls)
    /// has it.
    pub fn redis_cluster_with_tls(&self) -> Result<RedisCluster, LaunchError> {
        RedisCluster::launch(&self.folder, 0, Some(&Certificate::new(&self.folder)?))
    }

    /// A new Redis Cluster of three masters with a replica each, which takes over about two seconds after its
    /// master died.
    pub fn redis_cluster_with_replicas(&self) -> Result<RedisCluster, LaunchError> {
        RedisCluster::launch(&self.folder, 1, None)
    }
}
