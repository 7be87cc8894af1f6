//! The servers' settings, and the promises that the store can make under them.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

use std::collections::BTreeMap;

use holdover_store::{Capabilities, CommitSurvives, SharedBy};
use redis::{Cmd, ErrorKind, RedisError, Value};

use crate::error::{Fault, is_refusal};
use crate::nodes::{self, Nodes};
use crate::options::RedisOptions;
use crate::reply::{self, Reply};
use crate::server::{MIN_REPLICAS, Replicas, Server};
use crate::wire::Wire;

/// The settings that are read by `CONFIG GET`.
const ASKED: [&str; 5] =
    ["maxmemory-policy", "appendonly", "appendfsync", "no-appendfsync-on-rewrite", MIN_REPLICAS];

/// The answers of servers, by address.
type Answers<T> = BTreeMap<String, T>;

/// The answers of all masters.
#[derive(Debug, Default)]
struct Said {
    info: Answers<BTreeMap<String, String>>,
    /// The configurations. None if `CONFIG` is forbidden.
    config: Option<Answers<BTreeMap<String, String>>>,
    /// The nodes of the cluster as each master reports them. None if there is no cluster, or `CLUSTER NODES` is
    /// forbidden.
    nodes: Option<Answers<Nodes>>,
}

/// Reads the settings of every master.
///
/// # Errors
/// Fails for a server that is too old, is a replica, or evicts data when its memory is full. Also fails if a master
/// does not answer, even for a passing reason: a missing answer is not taken for a forbidden command, and no master
/// is ignored.
pub(crate) async fn read(wire: &Wire, options: &RedisOptions) -> Result<Capabilities, Fault> {
    let nodes = if options.cluster { nodes(wire).await? } else { None };
    let info = wire.ask_all(redis::cmd("INFO").arg("everything")).await?;
    let config = allowed(wire, redis::cmd("CONFIG").arg("GET").arg(&ASKED)).await?;
    let said = Said {
        info: each(info, info_of)?,
        config: config.map(|config| each(config, config_of)).transpose()?,
        nodes,
    };
    judge(&said.servers(options.cluster)?, options)
}

/// Returns the nodes of the cluster, as every master with slots reports them. Returns none if the command is forbidden.
async fn nodes(wire: &Wire) -> Result<Option<Answers<Nodes>>, Fault> {
    let Some(answers) = allowed(wire, redis::cmd("CLUSTER").arg("NODES")).await? else { return Ok(None) };
    let nodes = each(answers, |text| Nodes::read(&text_of(text)?))?;
    match nodes::silent(nodes.values()) {
        Some(node) => Err(incomplete(node)),
        None => Ok(Some(nodes)),
    }
}

/// Returns the answers of all masters. Returns none if the command is forbidden, as on managed services. Then `INFO`
/// has to suffice.
async fn allowed(wire: &Wire, command: &Cmd) -> Result<Option<Answers<Value>>, Fault> {
    match wire.ask_all(command).await {
        Ok(answers) => Ok(Some(answers)),
        Err(error) if is_refusal(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn each<T>(answers: Answers<Value>, read: impl Fn(Value) -> Result<T, Fault>) -> Result<Answers<T>, Fault> {
    answers.into_iter().map(|(node, answer)| Ok((node, read(answer)?))).collect()
}

impl Said {
    /// Returns the settings of each server. Fails if the answers of a master are incomplete.
    fn servers(self, cluster: bool) -> Result<Vec<Server>, Fault> {
        let Self { info, mut config, mut nodes } = self;
        let mut servers = Vec::new();
        for (node, info) in info {
            let replicas = match of_node(&mut nodes, &node)? {
                Some(nodes) => Replicas::Known(nodes.replicas),
                None if cluster => Replicas::Unknown,
                None => Replicas::Connected,
            };
            servers.push(Server { info, config: of_node(&mut config, &node)?, replicas });
        }
        let nodes = nodes.iter().flat_map(BTreeMap::keys);
        match nodes.chain(config.iter().flat_map(BTreeMap::keys)).next() {
            Some(node) => Err(incomplete(node)),
            None => Ok(servers),
        }
    }
}

/// Takes the answer of a node. Returns none if the command is forbidden.
fn of_node<T>(answers: &mut Option<Answers<T>>, node: &str) -> Result<Option<T>, Fault> {
    match answers {
        Some(answers) => answers.remove(node).map(Some).ok_or_else(|| incomplete(node)),
        None => Ok(None),
    }
}

/// Returns the fault of a master whose settings were not all read.
fn incomplete(node: &str) -> Fault {
    let what = "the settings of a node could not be read";
    RedisError::from((ErrorKind::ClusterConnectionNotFound, what, node.to_owned())).into()
}

/// Returns the promises of all servers together: those of the weakest.
fn judge(servers: &[Server], options: &RedisOptions) -> Result<Capabilities, Fault> {
    let mut survives = CommitSurvives::PowerCut;
    let mut settings = BTreeMap::new();
    for server in servers {
        let (promise, named) = server.judge()?;
        survives = survives.min(promise);
        for (name, value) in named {
            let known = settings.entry(name).or_insert_with(|| value.clone());
            if *known != value {
                *known = format!("{known}, {value}");
            }
        }
    }
    let version = settings.get("redis_version").cloned().unwrap_or_default();
    let kind = if options.cluster { "Redis Cluster" } else { "Redis" };
    Ok(Capabilities {
        backend: format!("{kind} {version}"),
        commit_survives: if servers.is_empty() { CommitSurvives::Nothing } else { survives },
        shared_by: SharedBy::Network,
        change_hints_across_processes: options.change_hints,
        forks: true,
        retention: true,
        payload_bytes_max: options.payload_bytes_max,
        commit_bytes_max: options.commit_bytes_max,
        settings: settings.into_iter().collect(),
    })
}

fn text_of(answer: Value) -> Result<String, Fault> {
    match answer {
        Value::BulkString(bytes) => reply::text(&bytes),
        Value::VerbatimString { text, .. } | Value::SimpleString(text) => Ok(text),
        _ => Err(Fault::Corrupt("the server says no text of itself".into())),
    }
}

fn info_of(answer: Value) -> Result<BTreeMap<String, String>, Fault> {
    let text = text_of(answer)?;
    let fields = text.lines().filter_map(|line| line.trim_end().split_once(':'));
    Ok(fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

fn config_of(answer: Value) -> Result<BTreeMap<String, String>, Fault> {
    let flat = match answer {
        Value::Map(pairs) => {
            Value::Array(pairs.into_iter().flat_map(|(name, value)| [name, value]).collect())
        }
        other => other,
    };
    let mut flat = Reply::new(flat)?;
    let mut fields = BTreeMap::new();
    while flat.left() > 0 {
        fields.insert(flat.text()?, flat.text()?);
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// Returns the answers of the masters of a cluster. Each contains its node's name where it can.
    fn said_by_all(info: &[&str], config: &[&str], nodes: &[&str]) -> Said {
        let owners: String =
            nodes.iter().map(|node| format!("{node} h:1@2 master - 0 0 1 connected 1\n")).collect();
        let of_node = |node: &str| {
            let myself = owners.replace(&format!("{node} h:1@2 "), &format!("{node} h:1@2 myself,"));
            Nodes::read(&myself).unwrap()
        };
        let by_node = |node: &&str| ((*node).to_owned(), fields(&[("node", node)]));
        Said {
            info: info.iter().map(by_node).collect(),
            config: Some(config.iter().map(by_node).collect()),
            nodes: Some(nodes.iter().map(|node| ((*node).to_owned(), of_node(node))).collect()),
        }
    }

    #[test]
    fn what_a_server_says_is_told_by_its_address() {
        let servers = said_by_all(&["a", "b"], &["b", "a"], &["a", "b"]).servers(true).unwrap();
        let names = servers.iter().map(|server| (server.info("node"), server.config("node")));
        assert_eq!(names.collect::<Vec<_>>(), [(Some("a"), Some("a")), (Some("b"), Some("b"))]);
    }

    #[test]
    fn what_not_every_master_has_said_is_not_known() {
        let both = ["a", "b"].as_slice();
        for (info, config, nodes) in [
            (&both[..1], both, both),
            (both, &both[..1], both),
            (both, both, &both[..1]),
            (&both[..1], &both[1..], both),
        ] {
            let fault = said_by_all(info, config, nodes).servers(true).unwrap_err();
            assert!(matches!(fault, Fault::Redis(..)), "{info:?} {config:?} {nodes:?}: {fault:?}");
        }
    }

    #[test]
    fn a_cluster_that_does_not_name_its_nodes_promises_nothing() {
        let forbidden = Said { nodes: None, ..said_by_all(&["a"], &["a"], &["a"]) };
        assert_eq!(forbidden.servers(true).unwrap()[0].replicas, Replicas::Unknown);
        let alone = Said { nodes: None, ..said_by_all(&["a"], &["a"], &["a"]) };
        assert_eq!(alone.servers(false).unwrap()[0].replicas, Replicas::Connected);
    }
}
