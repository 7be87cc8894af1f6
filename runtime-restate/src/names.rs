//! The names of sessions and agents in Restate.

use holdover_core::ids::{QueueLabel, SessionId, SessionKey, TenantId};

/// Returns the key of the virtual object of a session: `tenant/session`. In the tenant, `%` and `/` are written `%25` and
/// `%2F`, so that no two sessions have the same key.
///
/// ```
/// use holdover_core::ids::{SessionId, SessionKey, TenantId};
/// use holdover_runtime_restate::{object_key, session_key};
///
/// let key = SessionKey::new(TenantId::new("a/b")?, SessionId::new("c/d")?);
/// assert_eq!(object_key(&key), "a%2Fb/c/d");
/// assert_eq!(session_key("a%2Fb/c/d"), Some(key));
/// assert_eq!(session_key("no-tenant"), None);
/// # Ok::<(), holdover_core::ids::InvalidId>(())
/// ```
pub fn object_key(key: &SessionKey) -> String {
    let tenant = key.tenant.as_str().replace('%', "%25").replace('/', "%2F");
    format!("{tenant}/{}", key.id)
}

/// Returns the session whose virtual object has this key. `None` if no session has such a key.
pub fn session_key(object: &str) -> Option<SessionKey> {
    let (tenant, id) = object.split_once('/')?;
    let tenant = TenantId::try_from(tenant.replace("%2F", "/").replace("%25", "%")).ok()?;
    let key = SessionKey::new(tenant, SessionId::try_from(id.to_owned()).ok()?);
    (object_key(&key) == object).then_some(key)
}

/// Returns the name of the service that serves the sessions of one agent: `base.agent`. A byte of the agent's queue label
/// other than an ASCII letter, a digit, `-` and `.` is written as `_` and two hexadecimal digits, so `clerk@2` becomes
/// `clerk_402`.
///
/// ```
/// use holdover_core::ids::QueueLabel;
///
/// let clerk = QueueLabel::new("clerk@2")?;
/// assert_eq!(holdover_runtime_restate::service_name("holdover", &clerk), "holdover.clerk_402");
/// # Ok::<(), holdover_core::ids::InvalidId>(())
/// ```
pub fn service_name(base: &str, queue: &QueueLabel) -> String {
    let mut name = format!("{base}.");
    for byte in queue.as_str().bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.') {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("_{byte:02x}"));
        }
    }
    name
}

/// Returns true if `name` can be the base of the names of services.
pub(crate) fn is_base(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(plain)
}

/// Writes text as one segment of a path.
pub(crate) fn segment(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~') {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_sessions_share_an_object_and_no_two_agents_a_service() {
        let parts = ["a", "a/b", "a%2Fb", "a%252Fb", "%", "/", "b/a", "é", "a b", "%25"];
        let ids = ["a", "b/a", "%2F", "/", "é", "a%2Fb"];
        let mut keys = BTreeSet::new();
        for tenant in parts {
            for id in ids {
                let key = SessionKey::new(TenantId::new(tenant).unwrap(), SessionId::new(id).unwrap());
                assert_eq!(session_key(&object_key(&key)), Some(key.clone()));
                assert!(keys.insert(object_key(&key)), "{key}");
            }
        }
        let labels = ["clerk", "clerk@2", "clerk_402", "clerk.2", "Clerk", "clerk 2", "clérk", "clerk@20"];
        let names = labels.map(|label| service_name("holdover", &QueueLabel::new(label).unwrap()));
        assert_eq!(BTreeSet::from(names).len(), labels.len());
    }

    #[test]
    fn a_key_that_no_session_has_names_no_session() {
        for odd in ["", "a", "/a", "a/", "%zz/a", "a\nb/c", "%/a"] {
            assert_eq!(session_key(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn a_segment_has_no_special_character() {
        assert_eq!(segment("a%2Fb/c d.é?"), "a%252Fb%2Fc%20d%2E%C3%A9%3F");
    }
}
