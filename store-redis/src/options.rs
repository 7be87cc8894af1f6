//! Options for opening a store.

use std::fmt;
use std::time::Duration;

use holdover_store::StoreError;

use crate::keys::{NAMESPACE_BYTES_MAX, PARTITIONS_MAX, is_namespace};
use crate::script::ClockSource;

const MIB: usize = 1024 * 1024;

/// What opening may do to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Whatever is missing is made.
    Makes,
    /// Where there is no store, none is made.
    Updates,
    /// Nothing is changed.
    Looks,
}

/// Where the server is and how it is used.
#[derive(Clone)]
pub struct RedisOptions {
    pub(crate) nodes: Vec<String>,
    pub(crate) cluster: bool,
    pub(crate) authority: Option<Vec<u8>>,
    pub(crate) namespace: String,
    pub(crate) partitions: Option<u16>,
    pub(crate) operation_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) payload_bytes_max: usize,
    pub(crate) commit_bytes_max: usize,
    pub(crate) change_hints: bool,
    pub(crate) accept_loss: bool,
    pub(crate) opening: Opening,
    pub(crate) clock: ClockSource,
}

impl RedisOptions {
    /// What every key begins with, unless another namespace is named.
    pub const NAMESPACE: &str = "holdover";
    /// How many partitions a new store on one server has, unless another number is named. A look at what is due asks each, and
    /// one server gains nothing from more.
    pub const PARTITIONS_ON_ONE_SERVER: u16 = 8;
    /// How many partitions a new store in a cluster has, unless another number is named: enough that each of some masters
    /// gets its share.
    pub const PARTITIONS_IN_A_CLUSTER: u16 = 64;
    /// How long one command may take. Longer than a server that rewrites its log needs.
    pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);
    /// How long a connection may take to be made.
    pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
    /// The largest single payload, unless a lower limit is set.
    pub const PAYLOAD_BYTES_MAX: usize = 32 * MIB;
    /// The largest write, all payloads together, unless a lower limit is set.
    pub const COMMIT_BYTES_MAX: usize = 64 * MIB;

    /// The server named by `redis://[user:password@]host[:port][/db]`, or the cluster of which
    /// `redis+cluster://[user:password@]host:port[,host:port …]` names some nodes. After it may stand `?namespace=name`
    /// (left out: [`Self::NAMESPACE`]) and `?partitions=number` (see [`partitions`](Self::partitions)), joined by `&`.
    ///
    /// With `rediss://` and `rediss+cluster://` all connections speak TLS, and the server proves who it is: to an authority that
    /// the system trusts, or the one that [`authority`](Self::authority) names.
    ///
    /// # Errors
    /// Another scheme, a URL that Redis does not know, a parameter that is not known or has no such value, a namespace that
    /// [`namespace`](Self::namespace) refuses. The error does not repeat the URL: it may hold a password.
    pub fn from_url(url: &str) -> Result<Self, StoreError> {
        let (url, named) = match url.split_once('?') {
            Some((url, query)) => (url, Parameters::parse(query)?),
            None => (url, Parameters::default()),
        };
        let (nodes, cluster) = match url.split_once("://") {
            Some(("redis" | "rediss", _)) => (vec![url.to_owned()], false),
            Some(("redis+cluster", rest)) => (cluster_nodes("redis", rest), true),
            Some(("rediss+cluster", rest)) => (cluster_nodes("rediss", rest), true),
            Some(_) | None => {
                let detail =
                    "a Redis URL begins with redis://, rediss://, redis+cluster:// or rediss+cluster://";
                return Err(StoreError::invalid("open", detail));
            }
        };
        for node in &nodes {
            let url = redis::parse_redis_url(node)
                .ok_or_else(|| StoreError::invalid("open", "the Redis URL names no server"))?;
            // It could ask for a server that need not prove who it is.
            if url.fragment().is_some() {
                return Err(StoreError::invalid("open", "the Redis URL has a part after #: none is known"));
            }
        }
        let options = Self {
            nodes,
            cluster,
            authority: None,
            namespace: Self::NAMESPACE.to_owned(),
            partitions: named.partitions,
            operation_timeout: Self::OPERATION_TIMEOUT,
            connect_timeout: Self::CONNECT_TIMEOUT,
            payload_bytes_max: Self::PAYLOAD_BYTES_MAX,
            commit_bytes_max: Self::COMMIT_BYTES_MAX,
            change_hints: true,
            accept_loss: false,
            opening: Opening::Makes,
            clock: ClockSource::Server,
        };
        match named.namespace {
            Some(namespace) => options.namespace(namespace),
            None => Ok(options),
        }
    }

    /// Sets what every key begins with: several stores may share a server.
    ///
    /// # Errors
    /// Longer than 64 bytes, or other characters than letters, digits and `-_.:/`.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Result<Self, StoreError> {
        self.namespace = namespace.into();
        if is_namespace(&self.namespace) {
            return Ok(self);
        }
        let detail = format!(
            "namespace: 1 to {NAMESPACE_BYTES_MAX} letters, digits or -_.:/ are allowed, not {:?}",
            self.namespace
        );
        Err(StoreError::invalid("open", detail))
    }

    /// Names the authority, as PEM, that alone is trusted to sign the certificates of the servers. Needs a URL with
    /// TLS.
    ///
    /// # Errors
    /// The URL names no TLS: nothing would be proved.
    pub fn authority(mut self, pem: impl Into<Vec<u8>>) -> Result<Self, StoreError> {
        if !self.speaks_tls() {
            let detail = "authority: the URL names no TLS; it begins with rediss:// or rediss+cluster://";
            return Err(StoreError::invalid("open", detail));
        }
        self.authority = Some(pem.into());
        Ok(self)
    }

    pub(crate) fn speaks_tls(&self) -> bool {
        self.nodes.iter().any(|node| node.starts_with("rediss:"))
    }

    /// Sets how many partitions a new store has, 1 to 1024. A store that is there must have as many. A store that may move
    /// from one server into a cluster has as many from the start as it will need there.
    #[must_use]
    pub fn partitions(mut self, partitions: u16) -> Self {
        self.partitions = Some(partitions.clamp(1, PARTITIONS_MAX));
        self
    }

    /// Sets how long one command may take. A write that takes longer has an unknown outcome. After a connection was
    /// lost the settings are read before it, which may take as long again. A call that waits for other writes of its
    /// session, or is decided anew because of them, ends in twice that time, too.
    #[must_use]
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.operation_timeout = timeout;
        self
    }

    /// Sets how long a connection may take to be made.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Lowers the largest payload; [`Self::PAYLOAD_BYTES_MAX`] at most.
    #[must_use]
    pub fn payload_bytes_max(mut self, bytes: usize) -> Self {
        self.payload_bytes_max = bytes.min(Self::PAYLOAD_BYTES_MAX);
        self
    }

    /// Lowers the largest write, all payloads together; [`Self::COMMIT_BYTES_MAX`] at most.
    #[must_use]
    pub fn commit_bytes_max(mut self, bytes: usize) -> Self {
        self.commit_bytes_max = bytes.min(Self::COMMIT_BYTES_MAX);
        self
    }

    /// Whether changes are listened for, on a connection of their own. Without, waiters only poll.
    #[must_use]
    pub fn change_hints(mut self, listen: bool) -> Self {
        self.change_hints = listen;
        self
    }

    /// Goes on with a store of which partitions were lost, under a new incarnation: every other handle must be
    /// opened anew. Without, such a store is refused.
    #[must_use]
    pub fn accept_loss(mut self) -> Self {
        self.accept_loss = true;
        self
    }

    /// Opens only a store that is there and whole, to look at it: nothing is made, nothing changed. One that an older
    /// version made and that has to be updated is refused.
    #[must_use]
    pub fn as_it_is(mut self) -> Self {
        self.opening = Opening::Looks;
        self
    }

    /// Opens only a store that is there, and updates it if an older version made it: where there is none, none is made.
    #[must_use]
    pub fn must_exist(mut self) -> Self {
        self.opening = Opening::Updates;
        self
    }
}

/// What the parameters of a URL say.
#[derive(Default)]
struct Parameters {
    namespace: Option<String>,
    partitions: Option<u16>,
}

impl Parameters {
    fn parse(query: &str) -> Result<Self, StoreError> {
        let mut named = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("namespace", name)) => named.namespace = Some(name.to_owned()),
                Some(("partitions", number)) => {
                    let number = number.parse().ok().filter(|number| (1..=PARTITIONS_MAX).contains(number));
                    let detail = || format!("partitions: a number from 1 to {PARTITIONS_MAX} is needed");
                    named.partitions = Some(number.ok_or_else(|| StoreError::invalid("open", detail()))?);
                }
                // Without the name: it may be a part of a password that holds a question mark.
                Some(_) | None => {
                    let detail =
                        "the Redis URL has an unknown parameter: only namespace and partitions are known";
                    return Err(StoreError::invalid("open", detail));
                }
            }
        }
        Ok(named)
    }
}

fn cluster_nodes(scheme: &str, rest: &str) -> Vec<String> {
    let (user, hosts) = match rest.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), rest),
    };
    hosts.trim_end_matches('/').split(',').map(|host| format!("{scheme}://{user}{host}")).collect()
}

impl fmt::Debug for RedisOptions {
    /// Leaves out the addresses, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisOptions")
            .field("cluster", &self.cluster)
            .field("namespace", &self.namespace)
            .field("partitions", &self.partitions)
            .field("operation_timeout", &self.operation_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("payload_bytes_max", &self.payload_bytes_max)
            .field("commit_bytes_max", &self.commit_bytes_max)
            .field("change_hints", &self.change_hints)
            .field("accept_loss", &self.accept_loss)
            .field("opening", &self.opening)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_server_or_a_cluster() {
        let nodes =
            |url: &str| RedisOptions::from_url(url).map(|options| (options.cluster, options.nodes)).ok();
        assert_eq!(nodes("redis://h:1/2"), Some((false, vec!["redis://h:1/2".into()])));
        let both = vec!["redis://u:p@a:1".into(), "redis://u:p@b:2".into()];
        assert_eq!(nodes("redis+cluster://u:p@a:1,b:2/"), Some((true, both)));
        assert_eq!(nodes("redis+cluster://a:1/?namespace=n"), Some((true, vec!["redis://a:1".into()])));
        assert_eq!(nodes("rediss://h:1"), Some((false, vec!["rediss://h:1".into()])));
        let both = vec!["rediss://u:p@a:1".into(), "rediss://u:p@b:2".into()];
        assert_eq!(nodes("rediss+cluster://u:p@a:1,b:2"), Some((true, both)));
        let misspelt = ["redis://h:1?namespce=n", "redis://h:1?n", "redis://h:1?namespace={n}"];
        // Whatever comes after #: it would turn the proof off.
        let unproved = ["rediss://h:1/#insecure", "rediss+cluster://h:1#insecure"];
        let bad = ["h:1", "http://h:1", "redis+cluster://a:b:c"];
        for bad in bad.into_iter().chain(misspelt).chain(unproved) {
            assert_eq!(nodes(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_url_may_name_the_partitions() {
        let partitions = |url: &str| RedisOptions::from_url(url).map(|options| options.partitions).ok();
        assert_eq!(partitions("redis://h:1"), Some(None));
        assert_eq!(partitions("redis://h:1?namespace=n&partitions=64"), Some(Some(64)));
        for bad in ["0", "1025", "-1", "many", ""] {
            assert_eq!(partitions(&format!("redis://h:1?partitions={bad}")), None, "{bad}");
        }
    }

    #[test]
    fn a_url_may_name_the_namespace() {
        let namespace = |url: &str| RedisOptions::from_url(url).map(|options| options.namespace).ok();
        assert_eq!(namespace("redis://h:1"), Some("holdover".into()));
        assert_eq!(namespace("redis://h:1/2?namespace=team/a"), Some("team/a".into()));
        let error = RedisOptions::from_url("redis://u:p?secret=x@h:1").unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn a_password_is_not_shown() {
        let options = RedisOptions::from_url("redis://user:secret@h:1").unwrap();
        assert!(!format!("{options:?}").contains("secret"));
    }
}
