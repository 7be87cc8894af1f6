//! What the server is set to, and what the store may promise under it.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

use std::collections::BTreeMap;

use holdover_core::store::{Capabilities, CommitSurvives, SharedBy};
use redis::{Cmd, Value};

use crate::error::{Fault, is_refusal};
use crate::options::RedisOptions;
use crate::reply::{self, Reply};
use crate::wire::Wire;

/// The oldest server whose scripts do what these need.
const VERSION_MIN: u32 = 7;

/// The only policy under which a server forgets nothing by itself.
const POLICY: &str = "noeviction";

/// What bounds how much a failover loses.
const MIN_REPLICAS: &str = "min-replicas-to-write";

/// What is asked for by `CONFIG GET`.
const ASKED: [&str; 5] =
    ["maxmemory-policy", "appendonly", "appendfsync", "no-appendfsync-on-rewrite", MIN_REPLICAS];

/// How many replicas the cluster has, kept beside what INFO says. No field of INFO is named so.
const KNOWN_REPLICAS: &str = "known replicas";

/// What one server says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Server {
    info: BTreeMap<String, String>,
    /// None: `CONFIG` is forbidden there.
    config: Option<BTreeMap<String, String>>,
}

/// Reads the settings of every master.
///
/// # Errors
/// A server that is too old, is a replica, or forgets data when its memory is full. What the server does not answer
/// for a passing reason is an error too: nothing is taken for forbidden that is only late.
pub(crate) async fn read(wire: &Wire, options: &RedisOptions) -> Result<Capabilities, Fault> {
    let mut servers = Vec::new();
    for info in wire.ask_all(redis::cmd("INFO").arg("everything")).await? {
        servers.push(Server { info: info_of(info)?, config: None });
    }
    for (server, answer) in
        servers.iter_mut().zip(allowed(wire, redis::cmd("CONFIG").arg("GET").arg(&ASKED)).await?)
    {
        server.config = Some(config_of(answer)?);
    }
    if options.cluster {
        // Also those that are away at this moment.
        let nodes = allowed(wire, redis::cmd("CLUSTER").arg("NODES")).await?;
        for (server, nodes) in servers.iter_mut().zip(nodes) {
            server.info.insert(KNOWN_REPLICAS.into(), replicas_in(nodes)?.to_string());
        }
    }
    judge(&servers, options)
}

/// What every master answers; nothing where the command is forbidden, as on managed services: what INFO says has to
/// do then.
async fn allowed(wire: &Wire, command: &Cmd) -> Result<Vec<Value>, Fault> {
    match wire.ask_all(command).await {
        Ok(answers) => Ok(answers),
        Err(error) if is_refusal(&error) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// What all of them together promise: no more than the weakest.
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

impl Server {
    fn info(&self, name: &str) -> Option<&str> {
        self.info.get(name).map(String::as_str)
    }

    fn config(&self, name: &str) -> Option<&str> {
        self.config.as_ref()?.get(name).map(String::as_str)
    }

    /// What this server alone promises, and the settings on which that rests.
    fn judge(&self) -> Result<(CommitSurvives, Vec<(String, String)>), Fault> {
        let version = self.info("redis_version").unwrap_or("unknown");
        let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
        if major < VERSION_MIN {
            return Err(Fault::Settings(format!("Redis {VERSION_MIN} or later is needed, it is {version}")));
        }
        if self.info("role").is_some_and(|role| role != "master") {
            return Err(Fault::Settings("the server is a replica: open its master".into()));
        }
        let policy = self.config("maxmemory-policy").or_else(|| self.info("maxmemory_policy"));
        if let Some(policy) = policy.filter(|policy| *policy != POLICY) {
            let detail = format!("maxmemory-policy is {policy}: it forgets sessions; set it to {POLICY}");
            return Err(Fault::Settings(detail));
        }
        let (by_log, log) = self.by_log();
        let (by_failover, failover) = self.by_failover();
        let mut named = vec![("redis_version".to_owned(), version.to_owned())];
        named.push(("maxmemory-policy".to_owned(), policy.unwrap_or("unknown").to_owned()));
        named.extend(log.into_iter().chain(failover).map(|(name, value)| (name.to_owned(), value)));
        Ok((by_log.min(by_failover), named))
    }

    /// Where a replica may take over, the death of the server is enough to lose commits: it acknowledges them before
    /// any replica has them, and `min-replicas-to-write` only bounds how many.
    fn by_failover(&self) -> (CommitSurvives, Vec<(&'static str, String)>) {
        let connected = self.info("connected_slaves").and_then(|count| count.parse::<u64>().ok());
        let known = self.info(KNOWN_REPLICAS).and_then(|count| count.parse().ok());
        let (survives, failover) = match connected.max(known) {
            Some(0) => return (CommitSurvives::PowerCut, vec![("failover", "none".to_owned())]),
            Some(_) => (CommitSurvives::Nothing, "possible"),
            None => (CommitSurvives::Nothing, "unknown"),
        };
        let mut why = vec![("failover", failover.to_owned())];
        why.extend(connected.map(|count| ("connected_slaves", count.to_string())));
        why.extend(self.config(MIN_REPLICAS).map(|count| (MIN_REPLICAS, count.to_owned())));
        (survives, why)
    }

    /// Only under `always` is written what is acknowledged. Under `everysec` the write itself is put off while an
    /// older one is being synced, and under both others a disk that is full holds it up: then the death of the
    /// server loses commits, not only a power cut.
    fn by_log(&self) -> (CommitSurvives, Vec<(&'static str, String)>) {
        let on = match (self.config("appendonly"), self.info("aof_enabled")) {
            (Some(appendonly), _) => appendonly == "yes",
            (None, enabled) => enabled == Some("1"),
        };
        let appendonly = ("appendonly", if on { "yes" } else { "no" }.to_owned());
        if !on {
            return (CommitSurvives::Nothing, vec![appendonly]);
        }
        let Some(fsync) = self.config("appendfsync") else {
            let reason = "unknown: CONFIG is forbidden, so nothing is promised";
            return (CommitSurvives::Nothing, vec![appendonly, ("appendfsync", reason.to_owned())]);
        };
        let rests = self.config("no-appendfsync-on-rewrite") == Some("yes");
        let survives = match fsync {
            "always" if rests => CommitSurvives::ProcessKill,
            "always" => CommitSurvives::PowerCut,
            _ => CommitSurvives::Nothing,
        };
        let mut why = vec![appendonly, ("appendfsync", fsync.to_owned())];
        if rests {
            why.push(("no-appendfsync-on-rewrite", "yes".to_owned()));
        }
        (survives, why)
    }
}

fn text_of(answer: Value) -> Result<String, Fault> {
    match answer {
        Value::BulkString(bytes) => reply::text(&bytes),
        Value::VerbatimString { text, .. } | Value::SimpleString(text) => Ok(text),
        _ => Err(Fault::Corrupt("the server says no text of itself".into())),
    }
}

/// How many replicas there are among the nodes of a cluster.
fn replicas_in(nodes: Value) -> Result<usize, Fault> {
    let text = text_of(nodes)?;
    let flags = text.lines().filter_map(|line| line.split(' ').nth(2));
    Ok(flags.filter(|flags| flags.split(',').any(|flag| flag == "slave")).count())
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

    fn promise(info: &[(&str, &str)], config: Option<&[(&str, &str)]>) -> Result<CommitSurvives, String> {
        let mut said = fields(&[("redis_version", "7.0.15"), ("role", "master"), ("connected_slaves", "0")]);
        said.extend(fields(info));
        let server = Server { info: said, config: config.map(fields) };
        server.judge().map(|(survives, _)| survives).map_err(|fault| format!("{fault:?}"))
    }

    #[test]
    fn what_is_promised_follows_the_log() {
        let with =
            |fsync| [("maxmemory-policy", "noeviction"), ("appendonly", "yes"), ("appendfsync", fsync)];
        assert_eq!(promise(&[], Some(&with("always"))), Ok(CommitSurvives::PowerCut));
        // The server's death loses what it has put off.
        assert_eq!(promise(&[], Some(&with("everysec"))), Ok(CommitSurvives::Nothing));
        assert_eq!(promise(&[], Some(&with("no"))), Ok(CommitSurvives::Nothing));
        assert_eq!(promise(&[], Some(&[("appendonly", "no")])), Ok(CommitSurvives::Nothing));
        let mut rests = with("always").to_vec();
        rests.push(("no-appendfsync-on-rewrite", "yes"));
        assert_eq!(promise(&[], Some(&rests)), Ok(CommitSurvives::ProcessKill));
    }

    #[test]
    fn where_a_replica_may_take_over_nothing_is_promised() {
        let log = [("appendonly", "yes"), ("appendfsync", "always"), (MIN_REPLICAS, "1")];
        for replicas in [("connected_slaves", "1"), (KNOWN_REPLICAS, "3"), ("connected_slaves", "?")] {
            assert_eq!(promise(&[replicas], Some(&log)), Ok(CommitSurvives::Nothing), "{replicas:?}");
        }
        assert_eq!(promise(&[(KNOWN_REPLICAS, "0")], Some(&log)), Ok(CommitSurvives::PowerCut));
    }

    #[test]
    fn replicas_that_are_away_are_counted() {
        let nodes = "a 127.0.0.1:1@2 myself,master - 0 0 1 connected 0-16383\n\
                     b 127.0.0.1:3@4 slave a 0 0 1 connected\n\
                     c 127.0.0.1:5@6 slave,fail a 0 0 1 disconnected\n";
        assert_eq!(replicas_in(Value::SimpleString(nodes.into())).unwrap(), 2);
    }

    #[test]
    fn where_config_is_forbidden_the_weakest_is_promised() {
        assert_eq!(promise(&[("aof_enabled", "1")], None), Ok(CommitSurvives::Nothing));
        assert_eq!(promise(&[("aof_enabled", "0")], None), Ok(CommitSurvives::Nothing));
        assert_eq!(promise(&[], None), Ok(CommitSurvives::Nothing));
    }

    #[test]
    fn what_loses_sessions_is_refused() {
        assert!(
            promise(&[], Some(&[("maxmemory-policy", "allkeys-lru")])).unwrap_err().contains("allkeys-lru")
        );
        assert!(promise(&[("maxmemory_policy", "volatile-ttl")], None).unwrap_err().contains("volatile-ttl"));
        assert!(promise(&[("role", "slave")], None).unwrap_err().contains("replica"));
        assert!(promise(&[("redis_version", "6.2.1")], None).unwrap_err().contains("6.2.1"));
    }
}
