//! The signed token at the end of an address for outcomes. It names the parent and the child whose outcome is sent.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use holdover_core::children::{Parent, ReplyBy};
use holdover_core::ids::{PendingId, SessionId, SessionKey, TenantId};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// The prefix of the signed bytes. It ensures that no other signature with the same key is valid for an address.
const DOMAIN: &[u8] = b"holdover outcome address 1\0";

/// The maximum length of a token, in bytes. Three ids of maximum length fit in it, even with escapes.
const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// The content of a token.
#[derive(Serialize, Deserialize)]
struct Place {
    tenant: TenantId,
    session: SessionId,
    pending: PendingId,
    index: u32,
    fail_fast: bool,
}

/// Returns the token for a child of this parent, signed with this key.
pub(crate) fn token_for(parent: &Parent, key: &str) -> Option<String> {
    let place = Place {
        tenant: parent.session.tenant.clone(),
        session: parent.session.id.clone(),
        pending: parent.pending.clone(),
        index: parent.index,
        fail_fast: parent.fail_fast,
    };
    let place = serde_json::to_vec(&place).ok()?;
    let tag = signature(key, &place)?.finalize().into_bytes();
    Some(format!("{}.{}", URL_SAFE_NO_PAD.encode(&place), URL_SAFE_NO_PAD.encode(tag)))
}

/// A token as received. It must not be trusted until [`is_signed_with`](Self::is_signed_with) has returned true.
pub(crate) struct Claimed {
    /// The parent that the token names.
    pub(crate) parent: Parent,
    place: Vec<u8>,
    tag: Vec<u8>,
}

impl Claimed {
    /// Reads a token. Returns `None` if its form is not valid.
    pub(crate) fn read(token: &str) -> Option<Self> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let (place, tag) = token.split_once('.')?;
        let (place, tag) = (URL_SAFE_NO_PAD.decode(place).ok()?, URL_SAFE_NO_PAD.decode(tag).ok()?);
        let Place { tenant, session, pending, index, fail_fast } = serde_json::from_slice(&place).ok()?;
        let (incarnation, _) = pending.parts()?;
        let session = SessionKey::new(tenant, session);
        let parent = Parent { session, incarnation, pending, index, fail_fast, by: ReplyBy::Answer };
        Some(Self { parent, place, tag })
    }

    /// Returns true if the token was signed with this key. The comparison takes constant time.
    pub(crate) fn is_signed_with(&self, key: &str) -> bool {
        signature(key, &self.place).is_some_and(|signature| signature.verify_slice(&self.tag).is_ok())
    }
}

/// Returns the signature of `place`. HMAC accepts a key of any length, even an empty one.
fn signature(key: &str, place: &[u8]) -> Option<Hmac<Sha256>> {
    let mut signature = Hmac::<Sha256>::new_from_slice(key.as_bytes()).ok()?;
    signature.update(DOMAIN);
    signature.update(place);
    Some(signature)
}

#[cfg(test)]
mod tests {
    use holdover_core::ids::{CallId, Incarnation};

    use super::*;

    fn parent(index: u32) -> Parent {
        let incarnation = Incarnation::derived([7; 16]);
        let pending = PendingId::of(incarnation, &CallId::new("c1-0").unwrap(), 1).unwrap();
        let session = SessionKey::new(TenantId::new("acme").unwrap(), SessionId::new("desk").unwrap());
        Parent { session, incarnation, pending, index, fail_fast: true, by: ReplyBy::Answer }
    }

    #[test]
    fn a_token_names_the_parent_and_is_believed_only_with_its_key() {
        for key in ["s3cret", ""] {
            let claimed = Claimed::read(&token_for(&parent(2), key).unwrap()).unwrap();
            assert_eq!(claimed.parent, parent(2));
            assert!(claimed.is_signed_with(key));
            assert!(!claimed.is_signed_with("another"));
        }
    }

    #[test]
    fn no_byte_of_a_token_can_be_changed() {
        let token = token_for(&parent(0), "s3cret").unwrap();
        for at in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            let believed = Claimed::read(&changed).is_some_and(|claimed| claimed.is_signed_with("s3cret"));
            assert!(!believed, "byte {at}");
        }
        // The signature of another place, a part of the signature, and no signature.
        let (place, _) = token.split_once('.').unwrap();
        let other = token_for(&parent(1), "s3cret").unwrap();
        let (_, tag) = other.split_once('.').unwrap();
        for tag in [tag, &tag[..24], ""] {
            let claimed = Claimed::read(&format!("{place}.{tag}")).unwrap();
            assert!(!claimed.is_signed_with("s3cret"), "{tag}");
        }
    }

    #[test]
    fn what_has_another_form_is_no_token() {
        let odd = URL_SAFE_NO_PAD
            .encode(br#"{"tenant":"a","session":"b","pending":"of no form","index":0,"fail_fast":false}"#);
        let long = "A".repeat(TOKEN_BYTES_MAX + 1);
        for token in ["", ".", "a.b", "e30.AA", &long, &format!("{odd}.AA")] {
            assert!(Claimed::read(token).is_none(), "{token:.20}");
        }
    }
}
