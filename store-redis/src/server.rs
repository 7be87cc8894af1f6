//! The settings of one server, and the promises that the store can make on it alone.

use std::collections::BTreeMap;

use holdover_store::CommitSurvives;

use crate::error::Fault;

/// The oldest major version that supports these scripts.
const VERSION_MIN: u32 = 7;

/// The only policy under which a server never evicts data.
const POLICY: &str = "noeviction";

/// The setting that bounds how much a failover loses.
pub(crate) const MIN_REPLICAS: &str = "min-replicas-to-write";

/// The settings that one server reports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) info: BTreeMap<String, String>,
    /// The configuration. None if `CONFIG` is forbidden.
    pub(crate) config: Option<BTreeMap<String, String>>,
    pub(crate) replicas: Replicas,
}

/// The replicas that may take over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Replicas {
    /// The connected replicas. Used for a server that is not in a cluster.
    #[default]
    Connected,
    /// This number of replicas in the cluster, including those that are away.
    Known(u64),
    /// The cluster does not report its replicas.
    Unknown,
}

impl Server {
    pub(crate) fn info(&self, name: &str) -> Option<&str> {
        self.info.get(name).map(String::as_str)
    }

    pub(crate) fn config(&self, name: &str) -> Option<&str> {
        self.config.as_ref()?.get(name).map(String::as_str)
    }

    /// Returns what this server alone promises, and the settings on which the promise rests.
    pub(crate) fn judge(&self) -> Result<(CommitSurvives, Vec<(String, String)>), Fault> {
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

    /// Returns the promise that replicas allow. If a replica may take over, the death of the server can lose
    /// commits: it acknowledges them before any replica has them, and `min-replicas-to-write` only bounds how
    /// many.
    fn by_failover(&self) -> (CommitSurvives, Vec<(&'static str, String)>) {
        let connected = self.info("connected_slaves").and_then(|count| count.parse::<u64>().ok());
        let replicas = match self.replicas {
            Replicas::Connected => connected,
            Replicas::Known(count) => connected.max(Some(count)),
            Replicas::Unknown => None,
        };
        let (survives, failover) = match replicas {
            Some(0) => return (CommitSurvives::PowerCut, vec![("failover", "none".to_owned())]),
            Some(_) => (CommitSurvives::Nothing, "possible"),
            None => (CommitSurvives::Nothing, "unknown"),
        };
        let mut why = vec![("failover", failover.to_owned())];
        why.extend(connected.map(|count| ("connected_slaves", count.to_string())));
        why.extend(self.config(MIN_REPLICAS).map(|count| (MIN_REPLICAS, count.to_owned())));
        (survives, why)
    }

    /// Returns the promise that the log allows. Only under `always` are commits written before they are acknowledged.
    /// Under `everysec` the write itself is delayed while an older one is being synced, and under both other settings
    /// a full disk delays it. So not only a power cut loses commits, but also the death of the server.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn server(info: &[(&str, &str)]) -> Server {
        let mut said = fields(&[("redis_version", "7.0.15"), ("role", "master"), ("connected_slaves", "0")]);
        said.extend(fields(info));
        Server { info: said, ..Server::default() }
    }

    fn promise(info: &[(&str, &str)], config: Option<&[(&str, &str)]>) -> Result<CommitSurvives, String> {
        promise_of(&Server { config: config.map(fields), ..server(info) })
    }

    fn promise_of(server: &Server) -> Result<CommitSurvives, String> {
        server.judge().map(|(survives, _)| survives).map_err(|fault| format!("{fault:?}"))
    }

    #[test]
    fn what_is_promised_follows_the_log() {
        let with =
            |fsync| [("maxmemory-policy", "noeviction"), ("appendonly", "yes"), ("appendfsync", fsync)];
        assert_eq!(promise(&[], Some(&with("always"))), Ok(CommitSurvives::PowerCut));
        // The server's death loses the delayed writes.
        assert_eq!(promise(&[], Some(&with("everysec"))), Ok(CommitSurvives::Nothing));
        assert_eq!(promise(&[], Some(&with("no"))), Ok(CommitSurvives::Nothing));
        assert_eq!(promise(&[], Some(&[("appendonly", "no")])), Ok(CommitSurvives::Nothing));
        let mut rests = with("always").to_vec();
        rests.push(("no-appendfsync-on-rewrite", "yes"));
        assert_eq!(promise(&[], Some(&rests)), Ok(CommitSurvives::ProcessKill));
    }

    const LOG: [(&str, &str); 3] = [("appendonly", "yes"), ("appendfsync", "always"), (MIN_REPLICAS, "1")];

    #[test]
    fn where_a_replica_may_take_over_nothing_is_promised() {
        for replicas in [("connected_slaves", "1"), ("connected_slaves", "?")] {
            assert_eq!(promise(&[replicas], Some(&LOG)), Ok(CommitSurvives::Nothing), "{replicas:?}");
        }
        for (replicas, survives) in [
            (Replicas::Known(3), CommitSurvives::Nothing),
            (Replicas::Known(0), CommitSurvives::PowerCut),
            // None is connected, but one may only be away.
            (Replicas::Unknown, CommitSurvives::Nothing),
        ] {
            let server = Server { config: Some(fields(&LOG)), replicas, ..server(&[]) };
            assert_eq!(promise_of(&server), Ok(survives), "{replicas:?}");
        }
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
