//! A codec for stores that hold data from before the codec was used.

use bytes::Bytes;

use super::{CodecError, PayloadCodec, PayloadContext};

/// A codec that also reads payloads that were written without a codec. Use it for a store that already has
/// sessions. [`PayloadCodec::or_plain`] makes one.
///
/// New payloads are encoded. A plain payload that has the [mark](PayloadCodec::marks) of the codec cannot be
/// read; UTF-8 text never has it. Stop using `OrPlain` once the store has no plain payloads, for two reasons:
/// anyone who can write to the store can replace an encrypted payload with a plain one, and a write that the
/// store refuses with a conflict in every encoded way is sent again unencoded.
#[derive(Debug, Clone)]
pub struct OrPlain<C>(C);

impl<C: PayloadCodec> OrPlain<C> {
    pub(super) fn new(codec: C) -> Self {
        Self(codec)
    }
}

impl<C: PayloadCodec> PayloadCodec for OrPlain<C> {
    fn overhead_bytes_max(&self) -> usize {
        self.0.overhead_bytes_max()
    }

    fn ways(&self) -> usize {
        self.0.ways() + 1
    }

    fn encode(&self, of: &PayloadContext<'_>, plain: Bytes, way: usize) -> Result<Bytes, CodecError> {
        if way < self.0.ways() { self.0.encode(of, plain, way) } else { Ok(plain) }
    }

    fn decode(&self, of: &PayloadContext<'_>, encoded: Bytes, bytes_max: usize) -> Result<Bytes, CodecError> {
        if self.0.marks(&encoded) { self.0.decode(of, encoded, bytes_max) } else { Ok(encoded) }
    }

    fn marks(&self, _: &[u8]) -> bool {
        true
    }
}
