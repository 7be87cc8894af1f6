//! Redis Cluster.

use std::process::{Command, Stdio};

use crate::error::LaunchError;
use crate::folder::Folder;
use crate::install::Program;
use crate::port;
use crate::redis::Redis;

const CLIENT: Program = Program { name: "redis-cli", package: "redis-tools", folders: &[] };

/// How many masters share the slots. The fewest that a cluster can have.
const MASTERS: usize = 3;

/// A Redis Cluster of three masters without replicas.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Redis>,
}

impl RedisCluster {
    pub(crate) fn launch(folder: &Folder) -> Result<Self, LaunchError> {
        let nodes = (0..MASTERS).map(|_| node(folder)).collect::<Result<Vec<_>, _>>()?;
        let mut cluster = Self { nodes };
        cluster.join()?;
        Ok(cluster)
    }

    /// Makes one cluster of the nodes, and waits until each says that it is whole.
    fn join(&mut self) -> Result<(), LaunchError> {
        let program = CLIENT.find()?;
        let mut command = Command::new(&program);
        command.args(["--cluster", "create"]);
        for node in &self.nodes {
            command.arg(format!("127.0.0.1:{}", node.port()));
        }
        let made = command
            .args(["--cluster-replicas", "0", "--cluster-yes"])
            .stdin(Stdio::null())
            .output()
            .map_err(LaunchError::at(&program))?;
        if !made.status.success() {
            let log = String::from_utf8_lossy(&made.stdout).lines().last().unwrap_or("nothing").to_owned();
            let detail = format!("redis-cli ended with {}", made.status);
            return Err(LaunchError::NotUp { server: "redis cluster".into(), detail, log });
        }
        self.wait_until_whole()
    }

    /// Waits until every node says that all slots are served, for example after one was started again.
    pub fn wait_until_whole(&mut self) -> Result<(), LaunchError> {
        self.nodes.iter_mut().try_for_each(|node| node.wait_for("CLUSTER INFO", "cluster_state:ok"))
    }

    /// Its masters, each to be killed, stopped or started again.
    pub fn nodes(&mut self) -> &mut [Redis] {
        &mut self.nodes
    }

    /// How to connect to it: the address of one node; the others are learnt from it.
    pub fn url(&self) -> String {
        let port = self.nodes.first().map_or(0, Redis::port);
        format!("redis+cluster://127.0.0.1:{port}")
    }
}

fn node(folder: &Folder) -> Result<Redis, LaunchError> {
    let bus = port::free()?.to_string();
    let settings = [
        ("cluster-enabled", "yes"),
        ("cluster-port", bus.as_str()),
        ("cluster-config-file", "nodes.conf"),
        ("cluster-node-timeout", "2000"),
    ];
    Redis::launch(folder, &settings)
}
