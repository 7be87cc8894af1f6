//! Encryption keys, and the ring that holds them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER_PERMISSIVE;
use zeroize::{Zeroize, Zeroizing};

/// The name of a key. It is stored unencrypted with every payload that the key encrypts. Never reuse a name
/// for another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub u32);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An encryption key of [`BYTES`](Self::BYTES) random bytes. `openssl rand -hex 64` prints one. The key is
/// wiped from memory when it is dropped, and its debug output does not show it.
pub struct EncryptionKey(Box<Zeroizing<[u8; Self::BYTES]>>);

/// The error for a text that is not a key. It does not contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key is {} hexadecimal digits", 2 * EncryptionKey::BYTES)]
#[non_exhaustive]
pub struct InvalidKey;

impl EncryptionKey {
    /// The length of a key, in bytes: two AES-256 keys.
    pub const BYTES: usize = 64;

    /// Makes a key from these bytes, which must be random.
    pub fn new(mut bytes: [u8; Self::BYTES]) -> Self {
        let mut key = Self(Box::new(Zeroizing::new([0; Self::BYTES])));
        key.0.copy_from_slice(&bytes);
        bytes.zeroize();
        key
    }

    pub(super) fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl FromStr for EncryptionKey {
    type Err = InvalidKey;

    /// Reads a key from hexadecimal digits. White space around them is ignored.
    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let digits = text.trim().as_bytes();
        if digits.len() != 2 * Self::BYTES {
            return Err(InvalidKey);
        }
        let mut key = Self::new([0; Self::BYTES]);
        HEXLOWER_PERMISSIVE.decode_mut(digits, key.0.as_mut_slice()).map_err(|_| InvalidKey)?;
        Ok(key)
    }
}

impl fmt::Debug for EncryptionKey {
    /// Does not show the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptionKey(..)")
    }
}

/// The keys with which a process can decrypt. One of them, the active key, is used to encrypt.
///
/// To change the key while processes run, first give every process the new key in addition to the old one.
/// Then make the new key active in every process. Keep the old key as long as the store has payloads that
/// were encrypted with it.
#[derive(Debug)]
pub struct Keyring {
    active: KeyId,
    keys: BTreeMap<KeyId, EncryptionKey>,
}

/// The reason why keys cannot form a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidKeyring {
    /// The active key is not in the ring.
    #[error("key {0} is to be written with and is not in the ring")]
    NoActiveKey(KeyId),
    /// Two keys have the same name.
    #[error("key {0} is in the ring twice")]
    Twice(KeyId),
}

impl Keyring {
    /// Makes a ring with one key, which is active.
    pub fn of(id: KeyId, key: EncryptionKey) -> Self {
        Self { active: id, keys: BTreeMap::from([(id, key)]) }
    }

    /// Makes a ring of `keys`. The key named `active` is used to encrypt. Fails if two keys have the same
    /// name, or if no key is named `active`.
    pub fn new(
        active: KeyId,
        keys: impl IntoIterator<Item = (KeyId, EncryptionKey)>,
    ) -> Result<Self, InvalidKeyring> {
        let mut ring = BTreeMap::new();
        for (id, key) in keys {
            if ring.insert(id, key).is_some() {
                return Err(InvalidKeyring::Twice(id));
            }
        }
        if ring.contains_key(&active) {
            Ok(Self { active, keys: ring })
        } else {
            Err(InvalidKeyring::NoActiveKey(active))
        }
    }

    /// Returns the names of the keys, the lowest first.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> {
        self.keys.keys().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn get(&self, id: KeyId) -> Option<&EncryptionKey> {
        self.keys.get(&id)
    }

    /// Returns the key for this way. Way 0 has the active key; the others follow by descending name.
    pub(super) fn of_way(&self, way: usize) -> Option<(KeyId, &EncryptionKey)> {
        let active = self.keys.get_key_value(&self.active);
        let others = self.keys.iter().rev().filter(|(id, _)| **id != self.active);
        active.into_iter().chain(others).nth(way).map(|(id, key)| (*id, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> EncryptionKey {
        EncryptionKey::new([byte; EncryptionKey::BYTES])
    }

    #[test]
    fn a_key_is_read_from_its_digits_and_is_never_shown() {
        let text = "aB".repeat(EncryptionKey::BYTES);
        let read: EncryptionKey = format!(" {text}\n").parse().unwrap();
        assert_eq!(read.bytes(), &[0xAB; EncryptionKey::BYTES]);
        let ring = Keyring::of(KeyId(7), read);
        let shown = format!("{ring:?}").to_lowercase();
        assert!(shown.contains("keyid(7)") && !shown.contains("abab") && !shown.contains("171"), "{shown}");
        for bad in ["", &text[2..], &format!("{text}00"), &text.replace('a', "g"), &text.replace('a', "é")] {
            let error = bad.parse::<EncryptionKey>().unwrap_err();
            assert_eq!(error.to_string(), "a key is 128 hexadecimal digits");
        }
    }

    #[test]
    fn a_ring_has_its_active_key_once() {
        let ring = Keyring::new(KeyId(2), [1, 2, 3].map(|id| (KeyId(id), key(1)))).unwrap();
        let ways: Vec<_> = (0..4).filter_map(|way| Some(ring.of_way(way)?.0.0)).collect();
        assert_eq!(ways, [2, 3, 1]);
        let missing = Keyring::new(KeyId(2), [(KeyId(1), key(1))]).unwrap_err();
        assert_eq!(missing, InvalidKeyring::NoActiveKey(KeyId(2)));
        let twice = Keyring::new(KeyId(1), [(KeyId(1), key(1)), (KeyId(1), key(2))]).unwrap_err();
        assert_eq!(twice, InvalidKeyring::Twice(KeyId(1)));
    }
}
