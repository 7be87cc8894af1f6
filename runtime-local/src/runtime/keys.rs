//! Item keys: each kind of delivery has keys of its own.
//!
//! A session has one inbox, so a store has one space of keys a session. What a caller names is put under a
//! word of its kind: whoever chooses the key of a message cannot use up the key of an answer.

use holdover_core::ids::{ID_BYTES_MAX, InvalidId, ItemKey, PendingId, SessionKey};
use holdover_core::payload::Digest;

use super::draw_id;
use crate::error::RuntimeError;

/// Ends the key of the first delivery of its kind to a session.
const FIRST: &str = "!first";

/// What a delivery is at most once by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Once {
    /// Nothing: each one is a delivery of its own.
    Never,
    /// The key that its caller gave.
    Key(ItemKey),
    /// What it is: the first message of its session.
    First,
    /// What it says: the same answer to the same asking.
    Words(PendingId, Digest),
    /// Who says it: one approval of each person, where several must approve.
    Voter(PendingId, String),
}

impl Once {
    /// The key that its caller gave.
    pub(super) fn named(&self) -> Option<ItemKey> {
        match self {
            Self::Key(key) => Some(key.clone()),
            Self::Never | Self::First | Self::Words(..) | Self::Voter(..) => None,
        }
    }
}

/// The key of a message.
pub(super) fn of_message(once: &Once) -> Result<ItemKey, InvalidId> {
    of("message", once)
}

/// The key of a signal.
pub(super) fn of_signal(once: &Once) -> Result<ItemKey, InvalidId> {
    of("signal", once)
}

/// The key of an answer.
pub(super) fn of_answer(once: &Once) -> Result<ItemKey, InvalidId> {
    of("answer", once)
}

/// The refusal of an item whose key was used before for something else. `named`: the key as its caller gave it.
pub(super) fn conflict(key: &SessionKey, named: Option<ItemKey>, item: ItemKey) -> RuntimeError {
    let key = key.clone();
    match named {
        None if item.as_str() == format!("message{FIRST}") => RuntimeError::NotFirst { key },
        named => RuntimeError::KeyConflict { key, item: named.unwrap_or(item) },
    }
}

/// No two kinds share a word, and within a kind no two forms share the character after it.
fn of(kind: &str, once: &Once) -> Result<ItemKey, InvalidId> {
    match once {
        Once::Never => Ok(draw_id()),
        Once::Key(key) if kind.len() + 1 + key.as_str().len() <= ID_BYTES_MAX => {
            ItemKey::new(format!("{kind}:{key}"))
        }
        // Longer than the place that is left.
        Once::Key(key) => ItemKey::new(format!("{kind}#{}", Digest::of(key.as_str().as_bytes()))),
        Once::First => ItemKey::new(format!("{kind}{FIRST}")),
        Once::Words(pending, words) => {
            let said = Digest::of(format!("{pending}\0{words}").as_bytes());
            ItemKey::new(format!("{kind}={said}"))
        }
        Once::Voter(pending, by) => {
            let voter = Digest::of(format!("{pending}\0{by}").as_bytes());
            ItemKey::new(format!("{kind}@{voter}"))
        }
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
        let pending = PendingId::new("p").unwrap();
        let long = |end: &str| key(&format!("{}{end}", "x".repeat(ID_BYTES_MAX - 1)));
        let forms = [
            key("k"),
            key("!first"),
            key("first"),
            long("a"),
            long("b"),
            Once::First,
            Once::Words(pending.clone(), Digest::of(b"")),
            Once::Voter(pending.clone(), "ann".into()),
            Once::Voter(pending, "bob".into()),
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
