//! Codecs, which compress, encrypt or otherwise encode payloads.

mod compressed;
mod decoder;
mod encoder;
mod encoding;
mod encrypted;
mod key;
mod or_plain;
mod page;
mod reason;
mod room;
mod then;
mod ways;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use holdover_store::ids::TenantId;
use holdover_store::payload;
use holdover_store::{Layered, StateStore};

pub use compressed::Compressed;
pub use encoding::{DECODED_BYTES_MAX, Encoded, Encoding};
pub use encrypted::Encrypted;
pub use key::{EncryptionKey, InvalidKey, InvalidKeyring, KeyId, Keyring};
pub use or_plain::OrPlain;
pub use reason::encoding_of_reason;
pub use then::Then;

/// An encoding of payloads. An [`Encoded`] store encodes every payload that it writes and decodes every
/// payload that it reads.
///
/// A codec must be deterministic, because a store recognises a repeat by its bytes. It gets the kind and
/// tenant of a payload, but not its session or place, because a store copies payloads itself when it promotes
/// a result or forks a session.
pub trait PayloadCodec: Send + Sync + 'static {
    /// Returns the most bytes that encoding adds to a payload.
    fn overhead_bytes_max(&self) -> usize;

    /// Returns the number of ways in which payloads in the store may have been encoded; at least 1. New
    /// payloads are encoded in way 0. The others are older ways, for example with an older key.
    fn ways(&self) -> usize {
        1
    }

    /// Encodes a payload in the way of this number, which is below [`ways`](Self::ways). Must return the same
    /// bytes for the same input in every process.
    fn encode(&self, of: &PayloadContext<'_>, plain: Bytes, way: usize) -> Result<Bytes, CodecError>;

    /// Decodes a payload that was encoded in any of the ways. Must refuse a payload that would grow to more
    /// than `bytes_max` bytes, before it allocates that memory.
    fn decode(&self, of: &PayloadContext<'_>, encoded: Bytes, bytes_max: usize) -> Result<Bytes, CodecError>;

    /// Returns true if these bytes have the mark of this codec. No UTF-8 text may begin like a mark. An
    /// [`OrPlain`] codec returns true for all bytes.
    fn marks(&self, encoded: &[u8]) -> bool;

    /// Combines this codec with `next`, which encodes the output of this codec. For example, compress and
    /// then encrypt.
    fn then<C: PayloadCodec>(self, next: C) -> Then<Self, C>
    where
        Self: Sized,
    {
        Then::new(self, next)
    }

    /// Extends this codec to also read payloads that were written without a codec. See [`OrPlain`].
    fn or_plain(self) -> OrPlain<Self>
    where
        Self: Sized,
    {
        OrPlain::new(self)
    }

    /// Wraps `store` so that this codec encodes its payloads.
    fn around<S: StateStore>(self, store: impl Into<Arc<S>>) -> Encoded<S, Self>
    where
        Self: Sized,
    {
        Layered::new(store, Encoding::new(self))
    }
}

/// The kind and tenant of a payload. They never change while the payload is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadContext<'a> {
    /// The tenant of the payload's session.
    pub tenant: &'a TenantId,
    /// The kind of the payload.
    pub kind: PayloadKind,
}

/// The kind of a payload. When a store copies a payload, the copy has the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PayloadKind {
    /// The definition of a session.
    Definition,
    /// The state of a session or of a checkpoint.
    State,
    /// A message, or a payload that may become one: a staged result or an inbox item.
    Message,
    /// An event.
    Event,
    /// The body of a pending call, which is shown to the person or program that owes the answer.
    Pending,
    /// The detail of a run.
    Run,
    /// A delta of a stream.
    Delta,
    /// The reason of an interrupt.
    Reason,
    /// Words of a key for [`digests`](StateStore::digests). Their encoding is digested and never decoded.
    Key,
}

impl PayloadKind {
    /// Returns the name of the kind. It never changes, because codecs may write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Definition => "definition",
            Self::State => "state",
            Self::Message => "message",
            Self::Event => "event",
            Self::Pending => "pending",
            Self::Run => "run",
            Self::Delta => "delta",
            Self::Reason => "reason",
            Self::Key => "key",
        }
    }
}

/// The reason why a codec cannot encode or decode a payload. Its text is one line, and must not contain parts
/// of the payload or of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
#[non_exhaustive]
pub struct CodecError {
    why: Cow<'static, str>,
    /// True if decoding failed only because the key is missing. The payload may be intact.
    needs_key: bool,
}

impl CodecError {
    /// Makes an error with this reason.
    pub fn new(why: impl Into<Cow<'static, str>>) -> Self {
        Self { why: why.into(), needs_key: false }
    }

    /// Makes the error for a payload that is encrypted with a key that this process does not have.
    pub fn key_missing(key: KeyId) -> Self {
        let why = payload::Encoding::Encrypted { key: key.0 }.to_string();
        Self { needs_key: true, ..Self::new(why) }
    }

    pub(crate) fn needs_key(&self) -> bool {
        self.needs_key
    }

    pub(crate) fn foreign() -> Self {
        Self::new("it was not written by this codec")
    }

    pub(crate) fn too_large(bytes_max: usize) -> Self {
        Self::new(format!("it would grow to more than {bytes_max} bytes"))
    }
}

impl<C: PayloadCodec + ?Sized> PayloadCodec for Arc<C> {
    fn overhead_bytes_max(&self) -> usize {
        (**self).overhead_bytes_max()
    }

    fn ways(&self) -> usize {
        (**self).ways()
    }

    fn encode(&self, of: &PayloadContext<'_>, plain: Bytes, way: usize) -> Result<Bytes, CodecError> {
        (**self).encode(of, plain, way)
    }

    fn decode(&self, of: &PayloadContext<'_>, encoded: Bytes, bytes_max: usize) -> Result<Bytes, CodecError> {
        (**self).decode(of, encoded, bytes_max)
    }

    fn marks(&self, encoded: &[u8]) -> bool {
        (**self).marks(encoded)
    }
}
