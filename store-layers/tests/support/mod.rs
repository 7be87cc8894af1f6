//! Keys for tests.
#![allow(dead_code, reason = "each test uses some of it")]

use holdover_store_layers::{EncryptionKey, KeyId, Keyring};

/// Returns the key with this id, which always has the same bytes.
pub(crate) fn key(id: u8) -> (KeyId, EncryptionKey) {
    let bytes = std::array::from_fn(|place| id ^ u8::try_from(place).unwrap().wrapping_mul(151));
    (KeyId(id.into()), EncryptionKey::new(bytes))
}

/// Returns a key ring that encrypts with the first of these keys and decrypts with all of them.
pub(crate) fn ring<const N: usize>(ids: [u8; N]) -> Keyring {
    Keyring::new(KeyId(ids[0].into()), ids.map(key)).unwrap()
}
