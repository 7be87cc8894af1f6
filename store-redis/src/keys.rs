//! The keys. All keys of a partition begin with its hash tag, so that a cluster keeps them in one slot.

use holdover_store::ids::SessionKey;
use holdover_store::payload::Digest;

/// The longest namespace, in bytes.
pub(crate) const NAMESPACE_BYTES_MAX: usize = 64;

/// The maximum number of partitions of a store.
pub(crate) const PARTITIONS_MAX: u16 = 1024;

/// The namespace and the partitions in which the sessions of one store lie.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    namespace: String,
    partitions: u16,
}

impl Keys {
    pub(crate) fn new(namespace: &str, partitions: u16) -> Self {
        Self { namespace: namespace.to_owned(), partitions: partitions.max(1) }
    }

    /// Returns the key of the fixed parameters of the store in a namespace.
    pub(crate) fn meta(namespace: &str) -> String {
        format!("{{{namespace}}}:meta")
    }

    /// Returns the key of this store's fixed parameters.
    pub(crate) fn of_store(&self) -> String {
        Self::meta(&self.namespace)
    }

    pub(crate) fn partitions(&self) -> std::ops::Range<u16> {
        0..self.partitions
    }

    /// Returns the partition of a session. The result must never change, because stored sessions lie there.
    pub(crate) fn partition_of(&self, key: &SessionKey) -> u16 {
        let named = format!("{}:{}{}", key.tenant.as_str().len(), key.tenant, key.id);
        let digest = Digest::of(named.as_bytes());
        let hash = digest.0.iter().take(8).fold(0u64, |hash, byte| hash << 8 | u64::from(*byte));
        u16::try_from(hash % u64::from(self.partitions)).unwrap_or(0)
    }

    /// Returns the hash tag with which every key of a partition begins.
    pub(crate) fn tag(&self, partition: u16) -> String {
        format!("{{{}:{partition}}}", self.namespace)
    }

    /// Returns the key that holds the incarnation of the store in a partition.
    pub(crate) fn store(&self, partition: u16) -> String {
        format!("{}:store", self.tag(partition))
    }

    /// Returns a key that no store ever creates.
    pub(crate) fn unused(&self, partition: u16) -> String {
        format!("{}:unused", self.tag(partition))
    }

    /// Returns the key of a session's row. It contains the length of the tenant, so that ids of different tenants
    /// cannot collide.
    pub(crate) fn row(&self, key: &SessionKey) -> String {
        let tag = self.tag(self.partition_of(key));
        format!("{tag}:s:{}:{}{}", key.tenant.as_str().len(), key.tenant, key.id)
    }

    /// Returns the keys of an incarnation in this partition, by its number.
    pub(crate) fn life(&self, partition: u16, number: u64) -> Life {
        Life(format!("{}:{number}", self.tag(partition)))
    }

    /// Returns the keys that versions before tokens left of a deleted session: one for its incarnation, one for
    /// its operation.
    pub(crate) fn graves(&self, key: &SessionKey, incarnation: &str, operation: &str) -> [String; 2] {
        let (tag, tenant, id) = (self.tag(self.partition_of(key)), key.tenant.as_str(), key.id.as_str());
        let session = format!("{}:{tenant}{}:{id}", tenant.len(), id.len());
        [format!("{tag}:buried:i:{session}{incarnation}"), format!("{tag}:buried:o:{session}{operation}")]
    }

    /// Returns the channel for changes of a partition's sessions.
    pub(crate) fn hints(&self, partition: u16) -> String {
        format!("{}:hints", self.tag(partition))
    }
}

/// The names of the keys of one incarnation, each with the command that returns the size of its value.
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

/// The keys of one incarnation of a session. The number of an incarnation is random, so a session that is created
/// again shares no key with the one before.
#[derive(Debug, Clone)]
pub(crate) struct Life(String);

impl Life {
    /// Returns the key with a name of [`OF_LIFE`].
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}:{name}", self.0)
    }
}

/// Returns true if `namespace` is valid: it is not empty, has at most [`NAMESPACE_BYTES_MAX`] bytes, and contains no
/// character that is special in a hash tag or a pattern.
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

    /// The expected partitions. A change of these would lose every stored session.
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
