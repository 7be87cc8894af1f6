//! The size limits of one write.

/// How much one write may bring. Larger writes are refused as
/// [`TooLarge`](holdover_store::StoreErrorKind::TooLarge) and change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest single payload, in bytes.
    pub payload_bytes_max: usize,
    /// The largest write, all payloads together, in bytes.
    pub commit_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { payload_bytes_max: 16 << 20, commit_bytes_max: 64 << 20 }
    }
}
