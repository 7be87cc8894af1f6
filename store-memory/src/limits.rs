//! How much one write may bring.

use holdover_core::payload::Payload;
use holdover_core::store::{InboxItem, ItemKind, Labels, StoreError, StoreErrorKind};

/// How much one write may bring. What is larger is refused as
/// [`TooLarge`](StoreErrorKind::TooLarge) and changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest single payload, in bytes.
    pub payload_bytes_max: usize,
    /// The largest commit, all payloads together, in bytes.
    pub commit_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { payload_bytes_max: 16 << 20, commit_bytes_max: 64 << 20 }
    }
}

impl Limits {
    /// Refuses a payload that is too large. Names its field.
    pub(crate) fn check(
        &self,
        operation: &'static str,
        field: &str,
        payload: &Payload,
    ) -> Result<(), StoreError> {
        if payload.len() <= self.payload_bytes_max {
            return Ok(());
        }
        let max = self.payload_bytes_max;
        let detail = format!("{field} has {} bytes, at most {max} are allowed", payload.len());
        Err(StoreError::new(StoreErrorKind::TooLarge, operation, detail))
    }

    /// Refuses items that are too large, and answers: a move carries messages and signals only.
    pub(crate) fn check_carried<'a>(
        &self,
        operation: &'static str,
        items: impl IntoIterator<Item = &'a InboxItem>,
    ) -> Result<(), StoreError> {
        for item in items {
            match &item.kind {
                ItemKind::Message { .. } | ItemKind::Signal { .. } => {
                    self.check(operation, "items", &item.payload)?;
                }
                ItemKind::Answer { .. } => {
                    return Err(StoreError::invalid(operation, "items: an answer is delivered on its own"));
                }
            }
        }
        Ok(())
    }

    /// Refuses more or longer labels than a session may have.
    pub(crate) fn check_labels(operation: &'static str, labels: &Labels) -> Result<(), StoreError> {
        let too_long = |text: &String| text.len() > Labels::TEXT_BYTES_MAX;
        if labels.0.len() > Labels::LABELS_MAX {
            let detail = format!("labels: {} of them, at most {}", labels.0.len(), Labels::LABELS_MAX);
            return Err(StoreError::new(StoreErrorKind::TooLarge, operation, detail));
        }
        if labels.0.iter().any(|(name, value)| too_long(name) || too_long(value)) {
            let detail = format!("labels: a text is longer than {} bytes", Labels::TEXT_BYTES_MAX);
            return Err(StoreError::new(StoreErrorKind::TooLarge, operation, detail));
        }
        Ok(())
    }
}
