//! Bytes that a store keeps and never reads.

use std::fmt;

use bytes::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(D::Error::custom("a digest is 64 hexadecimal digits"));
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(pair).map_err(D::Error::custom)?;
            *byte = u8::from_str_radix(digits, 16).map_err(D::Error::custom)?;
        }
        Ok(Self(bytes))
    }
}

/// Bytes with their digest. A store keeps both as they are and never parses the bytes: NUL, 2⁶⁴−1,
/// 1e400, duplicate keys and key order survive.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Payload {
    bytes: Bytes,
    digest: Digest,
}

/// Stored bytes that are not those that were written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("payload of {bytes} bytes has digest {found}, its record says {expected}")]
pub struct DigestMismatch {
    /// What the record says.
    pub expected: Digest,
    /// What the bytes give.
    pub found: Digest,
    /// How many bytes there are.
    pub bytes: usize,
}

impl Payload {
    /// Takes `bytes` and computes their digest.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let digest = Digest::of(&bytes);
        Self { bytes, digest }
    }

    /// Puts together what a store read: refused when the bytes are not those that were written.
    pub fn from_stored(bytes: impl Into<Bytes>, digest: Digest) -> Result<Self, DigestMismatch> {
        let payload = Self::new(bytes);
        if payload.digest == digest {
            Ok(payload)
        } else {
            Err(DigestMismatch { expected: digest, found: payload.digest, bytes: payload.bytes.len() })
        }
    }

    /// `value` as JSON, written once.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(Self::new)
    }

    /// Reads the bytes as JSON.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.bytes)
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Their digest.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Whether a value need not be written: it is what is read where there is none.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl fmt::Debug for Payload {
    /// Shows the size and the digest; contents never reach a log by accident.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} B, {:?})", self.bytes.len(), self.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_bytes_are_checked_against_their_digest() {
        let written = Payload::new("{\"a\":1}");
        let read = Payload::from_stored(written.bytes().clone(), written.digest());
        assert_eq!(read, Ok(written.clone()));
        let torn = Payload::from_stored("{\"a\":2}", written.digest());
        assert_eq!(torn.expect_err("other bytes").expected, written.digest());
    }

    #[test]
    fn a_digest_reads_back_from_its_text() {
        let digest = Digest::of(b"x");
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), digest);
        assert!(serde_json::from_str::<Digest>("\"zz\"").is_err());
    }
}
