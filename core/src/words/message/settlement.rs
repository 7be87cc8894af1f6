//! Settlements: findings of people and programs about calls that ended in doubt.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::ids::{CallId, PendingId};

/// The maximum length, in bytes, of the result, the name and the reason of a [`Settlement`] together.
pub const SETTLEMENT_BYTES_MAX: usize = 64 * 1024;

/// The finding of a person or a program about a call that ended in doubt. The result of the call does not change. The
/// model is told in a [notice](super::Notice).
///
/// ```
/// use holdover_core::message::Settlement;
///
/// let paid = Settlement::done("receipt 4711").by("ann").because("it is on the statement");
/// assert!(paid.done && paid.result == "receipt 4711");
/// assert!(!Settlement::not_done().done);
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Settlement {
    /// True if the call was done, false if it did not act.
    pub done: bool,
    /// The result of the call, if it was done. Empty if there is nothing to say about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// The reason: how this was found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The name of the person or program that found it out. Names are not authenticated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Settlement {
    /// Returns the settlement of a call that was done. `result` is the result that was lost.
    pub fn done(result: impl Into<String>) -> Self {
        Self { done: true, result: result.into(), reason: None, by: None }
    }

    /// Returns the settlement of a call that did not act.
    pub fn not_done() -> Self {
        Self { done: false, result: String::new(), reason: None, by: None }
    }

    /// Sets the name of the person or program that found it out.
    #[must_use]
    pub fn by(self, name: impl Into<String>) -> Self {
        Self { by: Some(name.into()), ..self }
    }

    /// Sets the reason.
    #[must_use]
    pub fn because(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }

    /// Returns the length of all texts together, in bytes.
    pub fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.result.len() + length(&self.reason) + length(&self.by)
    }
}

/// The record of a settlement in the transcript.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettlementRecord {
    /// The id of the call.
    pub call: CallId,
    /// The id of the pending call.
    pub pending: PendingId,
    /// The settlement.
    pub settlement: Settlement,
    /// The instant of the settlement, by the store's clock.
    pub at: Timestamp,
}
