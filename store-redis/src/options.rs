//! Options for opening a store.

use std::fmt;
use std::time::Duration;

use holdover_store::StoreError;

use crate::keys::{NAMESPACE_BYTES_MAX, PARTITIONS_MAX, is_namespace};
use crate::script::ClockSource;

const MIB: usize = 1024 * 1024;

/// The changes that opening may make to the server's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Creates whatever is missing.
    Makes,
    /// Updates an existing store, but creates none.
    Updates,
    /// Changes nothing.
    Looks,
}

/// The addresses of the server or cluster, and the settings with which it is used.
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
    /// The default namespace. Every key begins with it, inside a hash tag.
    pub const NAMESPACE: &str = "holdover";
    /// The default number of partitions of a new store on one server. More partitions make a search for due sessions
    /// slower, and one server gains nothing from them.
    pub const PARTITIONS_ON_ONE_SERVER: u16 = 8;
    /// The default number of partitions of a new store in a cluster: enough for several masters to share them.
    pub const PARTITIONS_IN_A_CLUSTER: u16 = 64;
    /// The default time limit of one command. It is longer than the usual pause of a server that rewrites its log.
    pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);
    /// The default time limit for making a connection.
    pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
    /// The largest single payload in bytes, unless a lower limit is set.
    pub const PAYLOAD_BYTES_MAX: usize = 32 * MIB;
    /// The largest write in bytes, all payloads together, unless a lower limit is set.
    pub const COMMIT_BYTES_MAX: usize = 64 * MIB;

    /// Creates options for the server named by `redis://[user:password@]host[:port][/db]`, or for the cluster of
    /// which `redis+cluster://[user:password@]host:port[,host:port …]` names some nodes. The URL may end with
    /// `?namespace=name&partitions=number`. Either parameter may be left out; the default namespace is
    /// [`Self::NAMESPACE`], and [`partitions`](Self::partitions) describes the number.
    ///
    /// With `rediss://` and `rediss+cluster://` all connections use TLS, and the server's certificate is verified:
    /// it must be signed by an authority that the system trusts, or by the one that [`authority`](Self::authority)
    /// names.
    ///
    /// # Errors
    /// Fails with [`InvalidArgument`](holdover_store::StoreErrorKind::InvalidArgument) for another scheme, an invalid
    /// Redis URL, a part after `#`, an unknown parameter, an invalid value of a parameter, or a namespace that
    /// [`namespace`](Self::namespace) refuses. The error does not repeat the URL, because it may hold a password.
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
            // Such a part could turn off the check of the server's certificate.
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

    /// Sets the namespace, with which every key begins, so that several stores can share a server.
    ///
    /// # Errors
    /// Fails for an empty namespace, for one of more than 64 bytes, and for characters other than letters, digits
    /// and `-_.:/`.
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

    /// Names the only authority, as PEM, that may sign the certificates of the servers. Needs a URL with TLS.
    ///
    /// # Errors
    /// Fails if the URL does not use TLS, since no certificate would be checked.
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

    /// Sets the number of partitions of a new store, limited to 1 to 1024. An existing store must have this number.
    /// If a store may move from one server into a cluster, give it from the start the number that it will need there.
    #[must_use]
    pub fn partitions(mut self, partitions: u16) -> Self {
        self.partitions = Some(partitions.clamp(1, PARTITIONS_MAX));
        self
    }

    /// Sets the time limit of one command. If a write takes longer, its outcome is unknown. After a connection was
    /// lost, the settings are read before the command, which may take as long again. A call that waits for other
    /// writes of its session, or is decided again because of them, still ends after about twice this time. Only a
    /// call that copies or removes a whole session may take longer.
    #[must_use]
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.operation_timeout = timeout;
        self
    }

    /// Sets the time limit for making a connection.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Lowers the limit of a single payload, in bytes. The limit is at most [`Self::PAYLOAD_BYTES_MAX`].
    #[must_use]
    pub fn payload_bytes_max(mut self, bytes: usize) -> Self {
        self.payload_bytes_max = bytes.min(Self::PAYLOAD_BYTES_MAX);
        self
    }

    /// Lowers the limit of a write in bytes, all payloads together. The limit is at most
    /// [`Self::COMMIT_BYTES_MAX`].
    #[must_use]
    pub fn commit_bytes_max(mut self, bytes: usize) -> Self {
        self.commit_bytes_max = bytes.min(Self::COMMIT_BYTES_MAX);
        self
    }

    /// Sets whether the handle listens for changes, on a connection of its own. If not, a caller that waits for a
    /// change waits its full time.
    #[must_use]
    pub fn change_hints(mut self, listen: bool) -> Self {
        self.change_hints = listen;
        self
    }

    /// Accepts a store that has lost partitions, under a new incarnation. Every other handle must then be opened
    /// again. Without this option, such a store is refused.
    ///
    /// After a loss, sessions are found by their labels, and pending calls by their kind, only in a walk over all of
    /// their tenant, until [`rebuild_indexes`](crate::RedisStore::rebuild_indexes) has run and the store is opened again.
    #[must_use]
    pub fn accept_loss(mut self) -> Self {
        self.accept_loss = true;
        self
    }

    /// Opens the store without creating or changing anything. A store that does not exist, is not whole, or needs an
    /// update to this version is refused.
    #[must_use]
    pub fn as_it_is(mut self) -> Self {
        self.opening = Opening::Looks;
        self
    }

    /// Opens only an existing store, and updates it if an older version made it. If there is no store, none is
    /// created.
    #[must_use]
    pub fn must_exist(mut self) -> Self {
        self.opening = Opening::Updates;
        self
    }
}

/// The parameters of a URL.
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
                // The name is not repeated: it may be part of a password that contains a question mark.
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
        // Anything after # could turn off the check of the certificate.
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
