//! The errors of model calls.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::PartialUse;
use crate::words::error::ErrorInfo;

/// The kind of a model error, to branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The provider limits the rate of requests (429).
    RateLimited,
    /// The provider is overloaded, starting, or out of service (503, 529).
    Unavailable,
    /// The provider failed (5xx, 409).
    Provider,
    /// The network failed: name resolution, connection, reset or time-out.
    Network,
    /// The answer was cut off: the stream ended without a stop reason, or a call came without its required input.
    Incomplete,
    /// The answer cannot be parsed, or a summary is empty.
    Malformed,
    /// The answer reached the token limit and is useless unless it is complete, such as a summary.
    CutOff,
    /// The model refused to write a summary.
    Declined,
    /// No data arrived for too long, or the answer did not end.
    Stalled,
    /// The provider refused the API key.
    Auth,
    /// The account has no money or quota left.
    Quota,
    /// The request is larger than the model's context.
    ContextLimit,
    /// The provider refused the request for another reason (4xx).
    Refused,
    /// The adapter is misconfigured.
    Configuration,
    /// The messages for the model cannot be read from the store.
    Transcript,
    /// A hook postponed the request.
    Held,
    /// A hook forbade the request or the answer.
    Denied,
    /// The [breaker](crate::machine::breaker) is open: after too many failures in a row, the model is not
    /// called for a while.
    CircuitOpen,
}

impl ModelErrorKind {
    /// Returns true if the same call may succeed later (requirement B37).
    pub fn is_retryable(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Unavailable
            | Self::Provider
            | Self::Network
            | Self::Incomplete
            | Self::Malformed
            | Self::CutOff
            | Self::Stalled
            | Self::Held
            | Self::CircuitOpen => true,
            Self::Auth
            | Self::Quota
            | Self::ContextLimit
            | Self::Refused
            | Self::Declined
            | Self::Configuration
            | Self::Transcript
            | Self::Denied => false,
        }
    }

    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::Provider => "provider",
            Self::Network => "network",
            Self::Incomplete => "incomplete",
            Self::Malformed => "malformed",
            Self::CutOff => "cut_off",
            Self::Declined => "declined",
            Self::Stalled => "stalled",
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::ContextLimit => "context_limit",
            Self::Refused => "refused",
            Self::Configuration => "configuration",
            Self::Transcript => "transcript",
            Self::Held => "held",
            Self::Denied => "denied",
            Self::CircuitOpen => "circuit_open",
        }
    }
}

/// A model call that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("model: {}: {detail}", kind.as_str())]
pub struct ModelError {
    /// The kind of the error, to branch on.
    pub kind: ModelErrorKind,
    /// The details, in one line, without any API key.
    pub detail: String,
    /// The wait that the provider, a hook or an open breaker asks for. It replaces the wait in the agent's rules.
    pub retry_after: Option<Duration>,
    /// The longest time for which an open breaker blocks the call. All errors within this time count as one
    /// attempt. `None` if no breaker blocks the call.
    pub held_for: Option<Duration>,
    /// The usage of a call that broke off. `None` if no answer had begun. The runtime sets this field from
    /// the [events](super::ModelEvent) that it received.
    pub used: Option<PartialUse>,
}

impl ModelError {
    /// Returns an error of this kind.
    pub fn new(kind: ModelErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), retry_after: None, held_for: None, used: None }
    }

    /// Returns a temporary error. The same call is made again after `wait`, or after the delay in the agent's
    /// rules if `wait` is `None` (requirement C52).
    pub fn transient(detail: impl Into<String>, wait: Option<Duration>) -> Self {
        Self { retry_after: wait, ..Self::new(ModelErrorKind::Provider, detail) }
    }
}

impl From<&ModelError> for ErrorInfo {
    fn from(error: &ModelError) -> Self {
        ErrorInfo::new(format!("model.{}", error.kind.as_str()), error.detail.clone())
    }
}
