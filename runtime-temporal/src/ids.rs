//! The names of workflows and task queues.

use std::fmt::Write;

use holdover_core::ids::{QueueLabel, SessionKey};
use sha2::{Digest, Sha256};

/// The beginning of each name, so that other programs may use the same namespace.
const OURS: &str = "holdover:";

/// The maximum length of a name in bytes. Temporal's own limit is larger, but can be set to less.
const BYTES_MAX: usize = 255;

/// The number of hexadecimal digits of the digest at the end of a long name.
const DIGEST_DIGITS: usize = 32;

/// Returns the id of the workflow of a session: `holdover:TENANT/SESSION`.
///
/// ASCII letters, digits, `.`, `_`, `-` and `@` stay as they are. Other bytes are escaped as in a URL. If the id would
/// have more than 255 bytes, its end is replaced by `~` and a digest of the whole. Different keys have different ids.
pub fn workflow_id_of(key: &SessionKey) -> String {
    bounded(format!("{OURS}{}/{}", escaped(key.tenant.as_str()), escaped(key.id.as_str())))
}

/// Returns the task queue for a queue of sessions: `holdover:` and the label, escaped and shortened like a
/// [workflow id](workflow_id_of).
pub fn task_queue_of(queue: &QueueLabel) -> String {
    bounded(format!("{OURS}{}", escaped(queue.as_str())))
}

/// Returns the task queue for the interrupts of the sessions of a queue. They have places of their own, because all
/// others may be taken by the runs that are to be stopped. No label is escaped to such a name.
pub(crate) fn interrupts_of(queue: &QueueLabel) -> String {
    bounded(format!("{OURS}{}/interrupts", escaped(queue.as_str())))
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'@') {
            escaped.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

fn bounded(name: String) -> String {
    if name.len() <= BYTES_MAX {
        return name;
    }
    let digest = Sha256::digest(name.as_bytes());
    let mut digits = String::with_capacity(2 * digest.len());
    for byte in digest {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits.truncate(DIGEST_DIGITS);
    // The name is ASCII, so each index is a boundary.
    format!("{}~{digits}", &name[..BYTES_MAX - DIGEST_DIGITS - 1])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::collections::BTreeSet;

    use super::*;

    fn id(tenant: &str, session: &str) -> String {
        let (tenant, session) =
            (tenant.to_owned().try_into().unwrap(), session.to_owned().try_into().unwrap());
        workflow_id_of(&SessionKey::new(tenant, session))
    }

    #[test]
    fn a_plain_key_is_readable() {
        assert_eq!(id("acme", "order-7"), "holdover:acme/order-7");
        assert_eq!(task_queue_of(&"support@v2".to_owned().try_into().unwrap()), "holdover:support@v2");
    }

    #[test]
    fn different_keys_have_different_ids_of_at_most_255_bytes() {
        let long = "ü".repeat(64);
        let keys = [
            ("a/b", "c"),
            ("a", "b/c"),
            ("a%2Fb", "c"),
            ("a", "b~c"),
            ("ä", "c"),
            (long.as_str(), "c"),
            (long.as_str(), "d"),
            (long.as_str(), long.as_str()),
            ("c", long.as_str()),
        ];
        let ids: BTreeSet<String> = keys.iter().map(|(tenant, session)| id(tenant, session)).collect();
        assert_eq!(ids.len(), keys.len(), "{ids:?}");
        assert!(
            ids.iter().all(|id| id.len() <= 255 && id.is_ascii() && id.starts_with("holdover:")),
            "{ids:?}"
        );
        // A short id never looks like a shortened one.
        assert_eq!(id("a", "b~c"), "holdover:a/b%7Ec");
    }
}
