//! The size limits of one write.

/// The size limits of one write. A larger write fails with
/// [`TooLarge`](holdover_store::StoreErrorKind::TooLarge) and changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest single payload, in bytes.
    pub payload_bytes_max: usize,
    /// The largest total size of all payloads of one write, in bytes.
    pub commit_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { payload_bytes_max: 16 << 20, commit_bytes_max: 64 << 20 }
    }
}
