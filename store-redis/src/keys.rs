//! The keys. All keys of a partition begin with its hash tag, so that a cluster keeps them in one slot.

use holdover_store::ids::SessionKey;
use holdover_store::payload::Digest;

/// The longest namespace, in bytes.
pub(crate) const NAMESPACE_BYTES_MAX: usize = 64;

/// The most partitions of a store.
pub(crate) const PARTITIONS_MAX: u16 = 1024;

/// Where the sessions of one store lie.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    namespace: String,
    partitions: u16,
}

impl Keys {
    pub(crate) fn new(namespace: &str, partitions: u16) -> Self {
        Self { namespace: namespace.to_owned(), partitions: partitions.max(1) }
    }

    /// What is fixed when a store is made.
    pub(crate) fn meta(namespace: &str) -> String {
        format!("{{{namespace}}}:meta")
    }

    /// The same of this store.
    pub(crate) fn of_store(&self) -> String {
        Self::meta(&self.namespace)
    }

    pub(crate) fn partitions(&self) -> std::ops::Range<u16> {
        0..self.partitions
    }

    /// The partition of a session. Never changes: stored sessions lie where it says.
    pub(crate) fn partition_of(&self, key: &SessionKey) -> u16 {
        let named = format!("{}:{}{}", key.tenant.as_str().len(), key.tenant, key.id);
        let digest = Digest::of(named.as_bytes());
        let hash = digest.0.iter().take(8).fold(0u64, |hash, byte| hash << 8 | u64::from(*byte));
        u16::try_from(hash % u64::from(self.partitions)).unwrap_or(0)
    }

    /// What every key of a partition begins with.
    pub(crate) fn tag(&self, partition: u16) -> String {
        format!("{{{}:{partition}}}", self.namespace)
    }

    /// The incarnation of the store.
    pub(crate) fn store(&self, partition: u16) -> String {
        format!("{}:store", self.tag(partition))
    }

    /// A key that no store ever makes.
    pub(crate) fn unused(&self, partition: u16) -> String {
        format!("{}:unused", self.tag(partition))
    }

    /// The row of a session. The length of the tenant keeps one tenant's ids from reading as another's.
    pub(crate) fn row(&self, key: &SessionKey) -> String {
        let tag = self.tag(self.partition_of(key));
        format!("{tag}:s:{}:{}{}", key.tenant.as_str().len(), key.tenant, key.id)
    }

    /// The keys of a life of a session in this partition.
    pub(crate) fn life(&self, partition: u16, number: u64) -> Life {
        Life(format!("{}:{number}", self.tag(partition)))
    }

    /// What versions before tokens left of a deleted session: a key for its incarnation, one for its operation.
    pub(crate) fn graves(&self, key: &SessionKey, incarnation: &str, operation: &str) -> [String; 2] {
        let (tag, tenant, id) = (self.tag(self.partition_of(key)), key.tenant.as_str(), key.id.as_str());
        let session = format!("{}:{tenant}{}:{id}", tenant.len(), id.len());
        [format!("{tag}:buried:i:{session}{incarnation}"), format!("{tag}:buried:o:{session}{operation}")]
    }

    /// Where the changes of a partition's sessions are told.
    pub(crate) fn hints(&self, partition: u16) -> String {
        format!("{}:hints", self.tag(partition))
    }
}

/// What the keys of one life of a session hold, and the command that tells the size of each.
pub(crate) const OF_LIFE: [(&str, &str); 18] = [
    ("payloads", "HLEN"),
    ("labels", "HLEN"),
    ("messages", "HLEN"),
    ("events", "HLEN"),
    ("deltas", "HLEN"),
    ("inbox", "HLEN"),
    ("unread", "ZCARD"),
    ("items", "HLEN"),
    ("pending", "HLEN"),
    ("open", "ZCARD"),
    ("ever", "SCARD"),
    ("staged", "HLEN"),
    ("starts", "SCARD"),
    ("runs", "HLEN"),
    ("checkpoints", "HLEN"),
    ("restorable", "ZCARD"),
    // Versions before tokens kept the urgent and the counted items here too.
    ("counted", "ZCARD"),
    ("urgent", "ZCARD"),
];

/// The keys of one life of a session. Its number is drawn at random when it is made, so a session that is created again
/// shares no key with the one before.
#[derive(Debug, Clone)]
pub(crate) struct Life(String);

impl Life {
    /// The key of what it holds, by a name of [`OF_LIFE`].
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}:{name}", self.0)
    }
}

/// Whether `namespace` may be one: nothing in it is special to a hash tag or a pattern.
pub(crate) fn is_namespace(namespace: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'/');
    !namespace.is_empty() && namespace.len() <= NAMESPACE_BYTES_MAX && namespace.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use holdover_store::ids::{SessionId, TenantId};

    use super::*;

    fn key(tenant: &str, id: &str) -> SessionKey {
        SessionKey::new(TenantId::new(tenant).unwrap(), SessionId::new(id).unwrap())
    }

    #[test]
    fn a_session_lies_where_it_always_lay() {
        let keys = Keys::new("holdover", 64);
        let places = ["a", "b", "session"].map(|id| keys.partition_of(&key("tenant", id)));
        assert_eq!(places, PLACES);
    }

    /// Changing these loses every stored session.
    const PLACES: [u16; 3] = [42, 60, 49];

    #[test]
    fn no_tenant_reads_as_another() {
        let keys = Keys::new("n", 1);
        assert_ne!(keys.row(&key("a", "bc")), keys.row(&key("ab", "c")));
        assert_ne!(keys.row(&key("1:a", "b")), keys.row(&key("1", ":ab")));
    }

    #[test]
    fn every_session_of_a_partition_has_its_tag() {
        let keys = Keys::new("n", 64);
        let (first, second) = (key("t{x}", "}{a"), key("t", "b"));
        assert!(keys.row(&first).starts_with(&format!("{{n:{}}}:", keys.partition_of(&first))));
        assert!(keys.row(&second).starts_with(&format!("{{n:{}}}:", keys.partition_of(&second))));
    }

    #[test]
    fn a_namespace_has_nothing_special() {
        assert!(is_namespace("holdover") && is_namespace("team/a:b-c_d.e"));
        for bad in ["", "{a}", "a*", "a b", "é", &"x".repeat(NAMESPACE_BYTES_MAX + 1)] {
            assert!(!is_namespace(bad), "{bad}");
        }
    }
}
