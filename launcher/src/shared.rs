//! Servers that all tests of a process share, one of each kind.
//!
//! The first test that needs a server starts it, and the server ends with the process. An environment variable can name
//! another server to use instead; the tests may change or delete its data.
//!
//! Each function panics if it cannot start the server, because nothing can be tested then.
#![allow(clippy::expect_used, reason = "tests that cannot have their server panic")]

use std::sync::LazyLock;

use crate::{LaunchError, Launcher, Postgres, Redis, RedisCluster};

/// The variable that names a Postgres database.
const POSTGRES: &str = "HOLDOVER_POSTGRES_URL";
/// The variable that names a Redis server.
const REDIS: &str = "HOLDOVER_REDIS_URL";
/// The variable that names a Redis Cluster.
const REDIS_CLUSTER: &str = "HOLDOVER_REDIS_CLUSTER_URL";

/// A server that was started here, or that a variable names.
struct Shared<S> {
    url: String,
    _launched: Option<(Launcher, S)>,
}

impl<S> Shared<S> {
    fn new(variable: &str, launch: fn(&Launcher) -> Result<S, LaunchError>, url: fn(&S) -> String) -> Self {
        if let Ok(url) = std::env::var(variable) {
            return Self { url, _launched: None };
        }
        let launcher = Launcher::new().expect("a folder for servers");
        let server = launch(&launcher).expect("a server");
        Self { url: url(&server), _launched: Some((launcher, server)) }
    }
}

/// Returns the URL of the Postgres database that `HOLDOVER_POSTGRES_URL` names, or of a server started here.
pub fn postgres_url() -> &'static str {
    static SHARED: LazyLock<Shared<Postgres>> =
        LazyLock::new(|| Shared::new(POSTGRES, |launcher| launcher.postgres(&[]), Postgres::url));
    &SHARED.url
}

/// Returns the URL of the Redis server that `HOLDOVER_REDIS_URL` names, or of a server started here.
pub fn redis_url() -> &'static str {
    static SHARED: LazyLock<Shared<Redis>> =
        LazyLock::new(|| Shared::new(REDIS, |launcher| launcher.redis(&[]), Redis::url));
    &SHARED.url
}

/// Returns the URL of the Redis Cluster that `HOLDOVER_REDIS_CLUSTER_URL` names, or of a cluster started here.
pub fn redis_cluster_url() -> &'static str {
    static SHARED: LazyLock<Shared<RedisCluster>> =
        LazyLock::new(|| Shared::new(REDIS_CLUSTER, |launcher| launcher.redis_cluster(), RedisCluster::url));
    &SHARED.url
}
