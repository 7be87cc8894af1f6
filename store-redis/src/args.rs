//! The arguments of a script: byte strings, in the order in which the script reads them.

use holdover_store::time::Timestamp;

/// A bound that no stored number reaches. Scripts compute with doubles, which are exact below it.
pub(crate) const BEYOND: u64 = 1 << 53;

/// The last instant, in milliseconds, that has a place of its own in an index. Later instants share its place.
const LAST_INSTANT: i64 = (1 << 53) - 1;

/// The arguments of one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Args(Vec<Vec<u8>>);

impl Args {
    pub(crate) fn list(&self) -> &[Vec<u8>] {
        &self.0
    }

    pub(crate) fn push(&mut self, bytes: impl Into<Vec<u8>>) {
        self.0.push(bytes.into());
    }

    pub(crate) fn push_number(&mut self, number: impl Into<u64>) {
        self.push(number.into().min(BEYOND).to_string());
    }

    pub(crate) fn push_size(&mut self, size: usize) {
        self.push_number(u64::try_from(size).unwrap_or(BEYOND));
    }

    pub(crate) fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.push(bytes);
        self
    }

    pub(crate) fn text(self, text: impl AsRef<str>) -> Self {
        self.bytes(text.as_ref())
    }

    /// Adds a number or a place in a sequence, capped at [`BEYOND`], which lies beyond every stored number.
    pub(crate) fn number(mut self, number: impl Into<u64>) -> Self {
        self.push_number(number);
        self
    }

    pub(crate) fn size(mut self, size: usize) -> Self {
        self.push_size(size);
        self
    }

    /// Adds all arguments of `others`.
    pub(crate) fn all(mut self, others: &Self) -> Self {
        self.0.extend_from_slice(&others.0);
        self
    }

    /// Adds an instant with which the script compares the clock.
    pub(crate) fn bound(self, at: Timestamp) -> Self {
        self.text(clamped(at).to_string())
    }
}

/// Returns an instant in milliseconds, limited to the range in which a script computes exactly.
pub(crate) fn clamped(at: Timestamp) -> i64 {
    at.as_ms().clamp(-LAST_INSTANT, LAST_INSTANT)
}
