//! The servers of the tests of this process: one of each, started by the first who asks.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::sync::OnceLock;

use holdover_launcher::{Launcher, Redis, RedisCluster};

/// The server that all cases share: the one that `HOLDOVER_REDIS_URL` names, or one of our own.
pub(crate) fn redis_url() -> String {
    static SERVER: OnceLock<(Launcher, Redis)> = OnceLock::new();
    std::env::var("HOLDOVER_REDIS_URL").unwrap_or_else(|_| {
        let server = SERVER.get_or_init(|| {
            let launcher = Launcher::new().expect("a launcher");
            let server = launcher.redis(&[]).expect("a Redis");
            (launcher, server)
        });
        server.1.url()
    })
}

/// The cluster that all cases share: the one that `HOLDOVER_REDIS_CLUSTER_URL` names, or one of our own.
pub(crate) fn cluster_url() -> String {
    static CLUSTER: OnceLock<(Launcher, RedisCluster)> = OnceLock::new();
    std::env::var("HOLDOVER_REDIS_CLUSTER_URL").unwrap_or_else(|_| {
        let cluster = CLUSTER.get_or_init(|| {
            let launcher = Launcher::new().expect("a launcher");
            let cluster = launcher.redis_cluster().expect("a cluster");
            (launcher, cluster)
        });
        cluster.1.url()
    })
}
