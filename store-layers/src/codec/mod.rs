//! Payloads in another form: compressed, encrypted, or in an encoding of your own.

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

/// How payloads are kept. Behind an [`Encoded`] store every payload passes it, on its way in and on its way out.
///
/// Pure, and the same for the same input: a store recognises a repeat by its bytes. It sees a payload's kind
/// and tenant and not its session or place, because a store copies payloads by itself: promoted results, forks.
pub trait PayloadCodec: Send + Sync + 'static {
    /// By so many bytes is an encoded payload larger than the plain one, at the most.
    fn overhead_bytes_max(&self) -> usize;

    /// In how many ways what can be read may have been written; at least 1. Way 0 is how payloads are
    /// written now, the others are how they may have been written before: under an older key, say.
    fn ways(&self) -> usize {
        1
    }

    /// The payload as it is kept: the same bytes for the same input, whichever process asks.
    fn encode(&self, of: &PayloadContext<'_>, plain: Bytes, way: usize) -> Result<Bytes, CodecError>;

    /// The payload as it was given, in whichever way it was written. What would grow to more than `bytes_max`
    /// bytes is refused before it takes their memory.
    fn decode(&self, of: &PayloadContext<'_>, encoded: Bytes, bytes_max: usize) -> Result<Bytes, CodecError>;

    /// Whether these bytes say of themselves that this codec wrote them. No text in UTF-8 does.
    fn marks(&self, encoded: &[u8]) -> bool;

    /// This codec, then `next`: to compress and then encrypt.
    fn then<C: PayloadCodec>(self, next: C) -> Then<Self, C>
    where
        Self: Sized,
    {
        Then::new(self, next)
    }

    /// This codec, which also reads what was written before there was one. See [`OrPlain`].
    fn or_plain(self) -> OrPlain<Self>
    where
        Self: Sized,
    {
        OrPlain::new(self)
    }

    /// `store`, with its payloads kept in this way.
    fn around<S: StateStore>(self, store: impl Into<Arc<S>>) -> Encoded<S, Self>
    where
        Self: Sized,
    {
        Layered::new(store, Encoding::new(self))
    }
}

/// What a payload is and whose. It never changes for as long as the payload is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadContext<'a> {
    /// Whose.
    pub tenant: &'a TenantId,
    /// What.
    pub kind: PayloadKind,
}

/// What a payload is. A store copies payloads only within a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PayloadKind {
    /// The definition of a session.
    Definition,
    /// The state of a session or of a checkpoint.
    State,
    /// A message, or what may become one: a staged result, an inbox item.
    Message,
    /// An event.
    Event,
    /// What is shown to whoever owes an answer.
    Pending,
    /// The detail of a run.
    Run,
    /// A delta of a stream.
    Delta,
    /// Why an interrupt was asked for.
    Reason,
    /// Words that a key is made of. What they are encoded to is digested, and never decoded.
    Key,
}

impl PayloadKind {
    /// Its name, which never changes: codecs may write it.
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

/// Why a codec cannot encode or decode a payload: one line, without anything of the payload or a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
#[non_exhaustive]
pub struct CodecError {
    why: Cow<'static, str>,
    /// The payload may be sound: whoever has the key reads it.
    needs_key: bool,
}

impl CodecError {
    /// For this reason.
    pub fn new(why: impl Into<Cow<'static, str>>) -> Self {
        Self { why: why.into(), needs_key: false }
    }

    /// The payload is encrypted under a key that is not here.
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
