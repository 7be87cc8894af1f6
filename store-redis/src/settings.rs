//! What the server is set to, and what the store may promise under it.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

use std::collections::BTreeMap;

use holdover_core::store::{Capabilities, CommitSurvives, SharedBy};
use redis::Value;

use crate::error::Fault;
use crate::options::RedisOptions;
use crate::reply::{self, Reply};
use crate::wire::Wire;

/// The oldest server whose scripts do what these need.
const VERSION_MIN: u32 = 7;

/// The only policy under which a server forgets nothing by itself.
const POLICY: &str = "noeviction";

/// What is asked for by `CONFIG GET`.
const ASKED: [&str; 5] =
    ["maxmemory-policy", "appendonly", "appendfsync", "no-appendfsync-on-rewrite", "min-replicas-to-write"];

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
/// A server that is too old, is a replica, or forgets data when its memory is full.
pub(crate) async fn read(wire: &Wire, options: &RedisOptions) -> Result<Capabilities, Fault> {
    let mut servers = Vec::new();
    for info in wire.ask_all(redis::cmd("INFO").arg("everything")).await? {
        servers.push(Server { info: info_of(info)?, config: None });
    }
    // Refused on managed services; what INFO says has to do then.
    if let Ok(answers) = wire.ask_all(redis::cmd("CONFIG").arg("GET").arg(&ASKED)).await {
        for (server, answer) in servers.iter_mut().zip(answers) {
            server.config = Some(config_of(answer)?);
        }
    }
    judge(&servers, options)
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
        let (survives, why) = self.survives();
        let mut named = vec![("redis_version".to_owned(), version.to_owned())];
        named.push(("maxmemory-policy".to_owned(), policy.unwrap_or("unknown").to_owned()));
        named.extend(why.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Ok((survives, named))
    }

    fn survives(&self) -> (CommitSurvives, Vec<(&'static str, String)>) {
        let on = match (self.config("appendonly"), self.info("aof_enabled")) {
            (Some(appendonly), _) => appendonly == "yes",
            (None, enabled) => enabled == Some("1"),
        };
        let appendonly = ("appendonly", if on { "yes" } else { "no" }.to_owned());
        if !on {
            return (CommitSurvives::Nothing, vec![appendonly]);
        }
        let Some(fsync) = self.config("appendfsync") else {
            let reason = "unknown: CONFIG is forbidden, so no more than the writer's death is promised";
            return (CommitSurvives::ProcessKill, vec![appendonly, ("appendfsync", reason.to_owned())]);
        };
        let rests = self.config("no-appendfsync-on-rewrite") == Some("yes");
        let survives = match fsync {
            "always" if !rests => CommitSurvives::PowerCut,
            _ => CommitSurvives::ProcessKill,
        };
        let mut why = vec![appendonly, ("appendfsync", fsync.to_owned())];
        if rests {
            why.push(("no-appendfsync-on-rewrite", "yes".to_owned()));
        }
        (survives, why)
    }
}

fn info_of(answer: Value) -> Result<BTreeMap<String, String>, Fault> {
    let text = match answer {
        Value::BulkString(bytes) => reply::text(&bytes)?,
        Value::VerbatimString { text, .. } | Value::SimpleString(text) => text,
        _ => return Err(Fault::Corrupt("INFO answers no text".into())),
    };
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
        let mut said = fields(&[("redis_version", "7.0.15"), ("role", "master")]);
        said.extend(fields(info));
        let server = Server { info: said, config: config.map(fields) };
        server.judge().map(|(survives, _)| survives).map_err(|fault| format!("{fault:?}"))
    }

    #[test]
    fn what_is_promised_follows_the_log() {
        let with =
            |fsync| [("maxmemory-policy", "noeviction"), ("appendonly", "yes"), ("appendfsync", fsync)];
        assert_eq!(promise(&[], Some(&with("always"))), Ok(CommitSurvives::PowerCut));
        assert_eq!(promise(&[], Some(&with("everysec"))), Ok(CommitSurvives::ProcessKill));
        assert_eq!(promise(&[], Some(&with("no"))), Ok(CommitSurvives::ProcessKill));
        assert_eq!(promise(&[], Some(&[("appendonly", "no")])), Ok(CommitSurvives::Nothing));
        let mut rests = with("always").to_vec();
        rests.push(("no-appendfsync-on-rewrite", "yes"));
        assert_eq!(promise(&[], Some(&rests)), Ok(CommitSurvives::ProcessKill));
    }

    #[test]
    fn where_config_is_forbidden_the_weakest_is_promised() {
        assert_eq!(promise(&[("aof_enabled", "1")], None), Ok(CommitSurvives::ProcessKill));
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
