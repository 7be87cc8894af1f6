//! Two codecs, one after the other.

use bytes::Bytes;

use super::{CodecError, PayloadCodec, PayloadContext};

/// A codec that applies two codecs: the second encodes the output of the first. [`PayloadCodec::then`] makes
/// one.
#[derive(Debug, Clone)]
pub struct Then<A, B> {
    first: A,
    second: B,
}

impl<A: PayloadCodec, B: PayloadCodec> Then<A, B> {
    pub(super) fn new(first: A, second: B) -> Self {
        Self { first, second }
    }
}

impl<A: PayloadCodec, B: PayloadCodec> PayloadCodec for Then<A, B> {
    fn overhead_bytes_max(&self) -> usize {
        self.first.overhead_bytes_max().saturating_add(self.second.overhead_bytes_max())
    }

    /// Returns the number of pairs of ways. The first pairs have the second codec's newest way.
    fn ways(&self) -> usize {
        self.first.ways() * self.second.ways()
    }

    fn encode(&self, of: &PayloadContext<'_>, plain: Bytes, way: usize) -> Result<Bytes, CodecError> {
        let ways = self.first.ways();
        self.second.encode(of, self.first.encode(of, plain, way % ways)?, way / ways)
    }

    fn decode(&self, of: &PayloadContext<'_>, encoded: Bytes, bytes_max: usize) -> Result<Bytes, CodecError> {
        let between = bytes_max.saturating_add(self.first.overhead_bytes_max());
        self.first.decode(of, self.second.decode(of, encoded, between)?, bytes_max)
    }

    fn marks(&self, encoded: &[u8]) -> bool {
        self.second.marks(encoded)
    }
}
