//! Adding a codec to data that was written without it.

use bytes::Bytes;

use super::{CodecError, PayloadCodec, PayloadContext};

/// A codec that also reads what was written before there was one: for a store that has sessions already.
/// Made by [`PayloadCodec::or_plain`].
///
/// What is written is encoded. Whoever can write the store can put a plain payload in the place of an
/// encrypted one, and a repeat that the store does not know under any key is asked about in plain: so take it
/// off once nothing plain is left. A payload that was written plain and [marks](PayloadCodec::marks) itself as
/// encoded cannot be read; no text in UTF-8 does.
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
