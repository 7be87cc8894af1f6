//! Encryption of payloads.

use aes_siv::KeyInit;
use aes_siv::siv::{Aes256Siv, IV_SIZE};
use bytes::Bytes;
use holdover_store::payload::Encoding;

use super::{CodecError, EncryptionKey, KeyId, Keyring, PayloadCodec, PayloadContext};

/// The length of the unencrypted head, in bytes: the format and the id of the key.
const HEAD_BYTES: usize = 1 + size_of::<u32>();

/// A codec that encrypts payloads with AES-256-SIV (RFC 5297). This cipher is deterministic, so a store still
/// recognises repeats.
///
/// Each payload is bound to its tenant, its [kind](super::PayloadKind), the format and the key.
///
/// **It protects** the content of payloads from anyone who can read the store, its backups or the traffic to it, but
/// does not have the key. A payload that was changed, cut, or moved from another tenant or kind is detected: reading it
/// fails with [`Corrupt`](holdover_store::StoreErrorKind::Corrupt). If the encryption key is missing, or the stored id
/// of the key was changed to that of a missing one, reading fails with
/// [`KeyMissing`](holdover_store::StoreErrorKind::KeyMissing).
///
/// **It does not protect** what the store itself must read: ids, keys of items, labels, queues, names of
/// workers, statuses, instants, numbers. A reader of the store can see which payloads of one tenant, kind and
/// key are equal, and the length of each. Anyone who can write to the store can exchange payloads of one kind
/// within a tenant, restore an older payload, or remove payloads. Payloads are not bound to a session or
/// place, because a store copies payloads itself when it promotes a result or forks a session.
#[derive(Debug)]
pub struct Encrypted {
    keys: Keyring,
}

impl Encrypted {
    /// Makes a codec that encrypts with the active key of the ring and decrypts with all of its keys.
    pub fn new(keys: Keyring) -> Self {
        Self { keys }
    }
}

impl PayloadCodec for Encrypted {
    fn overhead_bytes_max(&self) -> usize {
        HEAD_BYTES + IV_SIZE
    }

    fn ways(&self) -> usize {
        self.keys.len()
    }

    fn encode(&self, of: &PayloadContext<'_>, plain: Bytes, way: usize) -> Result<Bytes, CodecError> {
        let (id, key) = self.keys.of_way(way).ok_or_else(|| CodecError::new("there is no such key"))?;
        let head = head(id);
        let sealed = cipher(key)?.encrypt(bound_to(of, &head), &plain);
        let sealed = sealed.map_err(|_| CodecError::new("it cannot be encrypted"))?;
        Ok([&head[..], &sealed].concat().into())
    }

    fn decode(&self, of: &PayloadContext<'_>, encoded: Bytes, _: usize) -> Result<Bytes, CodecError> {
        let (head, sealed) = match encoded.split_first_chunk::<HEAD_BYTES>() {
            Some((head, sealed)) if self.marks(head) => (head, sealed),
            Some(_) | None => return Err(CodecError::foreign()),
        };
        let [_, id @ ..] = *head;
        let id = KeyId(u32::from_be_bytes(id));
        let key = self.keys.get(id);
        let key = key.ok_or_else(|| CodecError::key_missing(id))?;
        let plain = cipher(key)?.decrypt(bound_to(of, head), sealed);
        let refused = || format!("it is not what was encrypted here under key {id}");
        plain.map(Bytes::from).map_err(|_| CodecError::new(refused()))
    }

    fn marks(&self, encoded: &[u8]) -> bool {
        encoded.first() == Some(&Encoding::AES_256_SIV)
    }
}

fn head(id: KeyId) -> [u8; HEAD_BYTES] {
    let [a, b, c, d] = id.0.to_be_bytes();
    [Encoding::AES_256_SIV, a, b, c, d]
}

/// Returns the data that is authenticated with the payload.
fn bound_to<'a>(of: &PayloadContext<'a>, head: &'a [u8; HEAD_BYTES]) -> [&'a [u8]; 3] {
    [head, of.kind.as_str().as_bytes(), of.tenant.as_str().as_bytes()]
}

fn cipher(key: &EncryptionKey) -> Result<Aes256Siv, CodecError> {
    Aes256Siv::new_from_slice(key.bytes()).map_err(|_| CodecError::new("the key has another length"))
}
