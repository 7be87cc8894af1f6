//! Payloads: bytes that a store keeps and never interprets.

use std::fmt;

use bytes::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The SHA-256 digest of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Returns the digest of `bytes`.
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

/// Bytes with their digest. A store never parses or changes the bytes, so JSON with NUL, 2⁶⁴−1, 1e400,
/// duplicate keys or a certain key order is read as it was written.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Payload {
    bytes: Bytes,
    digest: Digest,
}

/// The error for stored bytes that differ from those that were written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("payload of {bytes} bytes has digest {found}, its record says {expected}")]
pub struct DigestMismatch {
    /// The digest in the record.
    pub expected: Digest,
    /// The digest of the bytes.
    pub found: Digest,
    /// The number of bytes.
    pub bytes: usize,
}

/// The encoding in which a layer around a store wrote a payload. The first bytes of the payload name the
/// encoding. No UTF-8 text begins with these bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Encoding {
    /// The encoding of a layer that compresses.
    Compressed,
    /// The encoding of a layer that encrypts.
    Encrypted {
        /// The name of the encryption key.
        key: u32,
    },
}

impl Encoding {
    /// The first byte of a payload that a compressing layer stored uncompressed.
    pub const STORED: u8 = 0xF8;
    /// The first byte of a payload that is one Zstandard frame.
    pub const ZSTANDARD: u8 = 0xF9;
    /// The first byte of a payload that is encrypted with AES-256-SIV. The name of the key follows as four
    /// big-endian bytes.
    pub const AES_256_SIV: u8 = 0xFA;

    /// Returns the encoding that the first bytes name, if they name one.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [Self::STORED | Self::ZSTANDARD, ..] => Some(Self::Compressed),
            [Self::AES_256_SIV, a, b, c, d, ..] => {
                Some(Self::Encrypted { key: u32::from_be_bytes([*a, *b, *c, *d]) })
            }
            _ => None,
        }
    }
}

impl fmt::Display for Encoding {
    /// Writes the reason why the payload cannot be read without the layer that decodes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compressed => f.write_str("compressed, and nothing here decompresses it"),
            Self::Encrypted { key } => write!(f, "encrypted, key {key} is not here"),
        }
    }
}

impl Payload {
    /// Returns an empty payload.
    pub fn empty() -> Self {
        Self::new(Bytes::new())
    }

    /// Makes a payload from `bytes` and computes their digest.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let digest = Digest::of(&bytes);
        Self { bytes, digest }
    }

    /// Makes a payload from stored bytes. Fails if `digest` is not the digest of the bytes, because the bytes
    /// then differ from those that were written.
    pub fn from_stored(bytes: impl Into<Bytes>, digest: Digest) -> Result<Self, DigestMismatch> {
        let payload = Self::new(bytes);
        if payload.digest == digest {
            Ok(payload)
        } else {
            Err(DigestMismatch { expected: digest, found: payload.digest, bytes: payload.bytes.len() })
        }
    }

    /// Makes a payload that holds `value` as JSON.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(Self::new)
    }

    /// Reads the bytes as JSON. If they are [encoded](Self::encoding), the error says so.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.bytes).map_err(|error| match self.encoding() {
            Some(encoding) => serde_json::Error::custom(encoding),
            None => error,
        })
    }

    /// Returns the encoding of the bytes, if they are encoded. If a payload that was read from a store is still
    /// encoded, the layer that decodes it is missing.
    pub fn encoding(&self) -> Option<Encoding> {
        Encoding::of(&self.bytes)
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the digest of the bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns true if the payload has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl fmt::Debug for Payload {
    /// Shows only the size and the digest, so that contents do not reach a log by accident.
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
    fn a_payload_that_nobody_decoded_says_why_it_cannot_be_read() {
        let encrypted = Payload::new([&[Encoding::AES_256_SIV, 0, 0, 1, 2][..], b"sealed"].concat());
        assert_eq!(encrypted.encoding(), Some(Encoding::Encrypted { key: 258 }));
        assert_eq!(encrypted.parse::<u8>().unwrap_err().to_string(), "encrypted, key 258 is not here");
        for first in [Encoding::STORED, Encoding::ZSTANDARD] {
            let error = Payload::new(vec![first, 1]).parse::<u8>().unwrap_err();
            assert!(error.to_string().starts_with("compressed, "), "{error}");
        }
        let plain = Payload::new("é");
        assert_eq!(plain.encoding(), None);
        assert!(plain.parse::<u8>().unwrap_err().to_string().contains("line 1"));
    }

    #[test]
    fn a_digest_reads_back_from_its_text() {
        let digest = Digest::of(b"x");
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), digest);
        assert!(serde_json::from_str::<Digest>("\"zz\"").is_err());
    }
}
