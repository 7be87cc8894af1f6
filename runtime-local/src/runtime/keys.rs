//! Item keys: each kind of delivery has its own keys.
//!
//! A session has one inbox, so a store has one key space for each session. A caller's key is prefixed with a word
//! for its kind, so the key of a message cannot use up the key of an answer.

use holdover_core::ids::{ID_BYTES_MAX, InvalidId, ItemKey, PendingId, SessionKey, TenantId};
use holdover_core::payload::Digest;
use holdover_core::store::{StateStore, StoreError};

use crate::error::RuntimeError;
use crate::host::draw_id;

/// The ending of the key of the first message of a session.
const FIRST: &str = "!first";

/// The identity by which a delivery is accepted at most once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Once {
    /// No identity: each delivery is separate.
    Never,
    /// The key that the caller gave.
    Key(ItemKey),
    /// The first message of its session.
    First,
    /// The digest of the content: the same answer to the same pending call.
    Words(Digest),
    /// The digest of the sender: one approval of each person, if several must approve.
    Voter(Digest),
}

/// The reason why an answer counts as a repeat of an earlier one to the same pending call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Same {
    /// The digest of the answer's content.
    Words(Digest),
    /// The name of the person who answers.
    Voter(String),
}

impl Same {
    /// Returns the keys of an answer to `pending`, in each form under which the store may know the answer. The
    /// first one is used for new answers. An answer could be guessed, so its key is made with the store's secret
    /// ([`StateStore::digests`]).
    pub(super) fn answer(
        &self,
        store: &dyn StateStore,
        tenant: &TenantId,
        pending: &PendingId,
    ) -> Result<Vec<Once>, StoreError> {
        let (words, once): (String, fn(Digest) -> Once) = match self {
            Self::Words(said) => (format!("{pending}\0{said}"), Once::Words),
            Self::Voter(by) => (format!("{pending}\0{by}"), Once::Voter),
        };
        Ok(store.digests(tenant, words.as_bytes())?.into_iter().map(once).collect())
    }
}

impl Once {
    /// Returns the key that the caller gave, if there is one.
    pub(super) fn named(&self) -> Option<ItemKey> {
        match self {
            Self::Key(key) => Some(key.clone()),
            Self::Never | Self::First | Self::Words(_) | Self::Voter(_) => None,
        }
    }
}

/// Returns the key of a message.
pub(super) fn of_message(once: &Once) -> Result<ItemKey, InvalidId> {
    of("message", once)
}

/// Returns the key of a signal.
pub(super) fn of_signal(once: &Once) -> Result<ItemKey, InvalidId> {
    of("signal", once)
}

/// Returns the key of an answer.
pub(super) fn of_answer(once: &Once) -> Result<ItemKey, InvalidId> {
    of("answer", once)
}

/// Returns the error for an item whose key was used before for something else. `named` is the key that the
/// caller gave.
pub(super) fn conflict(key: &SessionKey, named: Option<ItemKey>, item: ItemKey) -> RuntimeError {
    let key = key.clone();
    match named {
        None if item.as_str() == format!("message{FIRST}") => RuntimeError::NotFirst { key },
        named => RuntimeError::KeyConflict { key, item: named.unwrap_or(item) },
    }
}

/// Returns a key that is unique for its kind and form: kinds have different words, and forms different characters
/// after the word.
fn of(kind: &str, once: &Once) -> Result<ItemKey, InvalidId> {
    match once {
        Once::Never => Ok(draw_id()),
        Once::Key(key) if kind.len() + 1 + key.as_str().len() <= ID_BYTES_MAX => {
            ItemKey::new(format!("{kind}:{key}"))
        }
        // The key is too long to be prefixed, so its digest is used.
        Once::Key(key) => ItemKey::new(format!("{kind}#{}", Digest::of(key.as_str().as_bytes()))),
        Once::First => ItemKey::new(format!("{kind}{FIRST}")),
        Once::Words(said) => ItemKey::new(format!("{kind}={said}")),
        Once::Voter(by) => ItemKey::new(format!("{kind}@{by}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Once {
        Once::Key(ItemKey::new(text).unwrap())
    }

    #[test]
    fn no_two_kinds_and_no_two_forms_share_a_key() {
        let long = |end: &str| key(&format!("{}{end}", "x".repeat(ID_BYTES_MAX - 1)));
        let forms = [
            key("k"),
            key("!first"),
            key("first"),
            long("a"),
            long("b"),
            Once::First,
            Once::Words(Digest::of(b"")),
            Once::Voter(Digest::of(b"")),
            Once::Voter(Digest::of(b"bob")),
        ];
        let mut seen = std::collections::BTreeSet::new();
        for once in &forms {
            for key in [of_message(once), of_signal(once), of_answer(once)] {
                let key = key.unwrap();
                assert!(seen.insert(key.clone()), "{once:?}: {key} is there twice");
            }
        }
        assert_eq!(of_message(&long("a")), of_message(&long("a")));
        assert_ne!(of_message(&Once::Never), of_message(&Once::Never));
    }
}
