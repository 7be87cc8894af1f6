//! A Redis Cluster for tests.

use std::process::{Command, Stdio};

use crate::error::LaunchError;
use crate::folder::Folder;
use crate::install::Program;
use crate::port;
use crate::redis::Redis;
use crate::tls::Certificate;

const CLIENT: Program = Program { name: "redis-cli", package: "redis-tools", folders: &[] };

/// The number of masters that share the slots. A cluster needs at least three.
const MASTERS: usize = 3;

/// A Redis Cluster of three masters, which may have a replica each.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Redis>,
    /// The replicas, in the order of their masters.
    replicas: Vec<Redis>,
}

impl RedisCluster {
    pub(crate) fn launch(
        folder: &Folder,
        replicas: usize,
        certificate: Option<&Certificate>,
    ) -> Result<Self, LaunchError> {
        let launch = |count| (0..count).map(|_| node(folder, certificate)).collect::<Result<Vec<_>, _>>();
        let (nodes, replicas) = (launch(MASTERS)?, launch(MASTERS * replicas)?);
        let mut cluster = Self { nodes, replicas };
        cluster.join()?;
        cluster.order()?;
        Ok(cluster)
    }

    /// Joins the nodes into one cluster, and waits until each node reports that all slots are served.
    fn join(&mut self) -> Result<(), LaunchError> {
        let program = CLIENT.find()?;
        let mut command = Command::new(&program);
        if let Some(authority) = self.nodes.first().and_then(Redis::authority) {
            command.arg("--tls").arg("--cacert").arg(authority);
        }
        command.args(["--cluster", "create"]);
        // The first nodes become masters.
        for node in self.nodes.iter().chain(&self.replicas) {
            command.arg(format!("127.0.0.1:{}", node.tls_port().unwrap_or(node.port())));
        }
        let of_each = (self.replicas.len() / MASTERS).to_string();
        let made = command
            .args(["--cluster-replicas", &of_each, "--cluster-yes"])
            .stdin(Stdio::null())
            .output()
            .map_err(LaunchError::at(&program))?;
        LaunchError::unless_well("redis cluster", "redis-cli", made.status, &made.stdout)?;
        self.wait_until_whole()
    }

    /// Sorts the replicas by their masters, once each has copied the data of its master.
    fn order(&mut self) -> Result<(), LaunchError> {
        self.replicas.iter_mut().try_for_each(Redis::wait_until_in_step)?;
        let masters: Vec<u16> = self.nodes.iter().map(Redis::port).collect();
        self.replicas.sort_by_key(|replica| {
            let master = replica.master();
            masters.iter().position(|port| Some(*port) == master)
        });
        Ok(())
    }

    /// Waits until every running node reports that all slots are served, for example after a node was started
    /// again.
    pub fn wait_until_whole(&mut self) -> Result<(), LaunchError> {
        let all = self.nodes.iter_mut().chain(&mut self.replicas);
        all.filter(|node| node.is_started())
            .try_for_each(|node| node.wait_for("CLUSTER INFO", "cluster_state:ok"))
    }

    /// Returns the nodes that were masters at first, so that a test can kill, pause or start each of them. The list
    /// stays the same if a replica takes over.
    pub fn nodes(&mut self) -> &mut [Redis] {
        &mut self.nodes
    }

    /// Returns the replicas, in the order of the masters in [`nodes`](Self::nodes). Empty if the cluster has none.
    pub fn replicas(&mut self) -> &mut [Redis] {
        &mut self.replicas
    }

    /// Returns the URL of the cluster, with the address of one node. Clients learn the other addresses from that
    /// node.
    pub fn url(&self) -> String {
        let port = self.nodes.first().map_or(0, Redis::port);
        format!("redis+cluster://127.0.0.1:{port}")
    }

    /// Returns the URL of the cluster for TLS, if its nodes listen for TLS.
    pub fn tls_url(&self) -> Option<String> {
        let port = self.nodes.first().and_then(Redis::tls_port)?;
        Some(format!("rediss+cluster://127.0.0.1:{port}"))
    }
}

fn node(folder: &Folder, certificate: Option<&Certificate>) -> Result<Redis, LaunchError> {
    let bus = port::free()?.to_string();
    let settings = [
        ("cluster-enabled", "yes"),
        ("cluster-port", bus.as_str()),
        ("cluster-config-file", "nodes.conf"),
        ("cluster-node-timeout", "2000"),
        ("repl-diskless-sync-delay", "0"),
    ];
    match certificate {
        // The nodes use TLS between each other, too, so they announce their TLS ports.
        Some(certificate) => {
            let settings = [&settings[..], &[("tls-cluster", "yes"), ("tls-replication", "yes")]].concat();
            Redis::launch_with_tls(folder, &settings, certificate)
        }
        None => Redis::launch(folder, &settings),
    }
}
