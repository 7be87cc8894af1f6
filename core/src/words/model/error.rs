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
    /// The provider asks for patience (429).
    RateLimited,
    /// The provider is overloaded, starting, or out of service (503, 529).
    Unavailable,
    /// The provider failed (5xx, 409).
    Provider,
    /// The network failed: name, connection, reset, time-out.
    Network,
    /// The stream ended without saying why, so it was cut.
    Incomplete,
    /// The answer cannot be read.
    Malformed,
    /// The answer, a summary for example, reached the token limit, and is useless unless it is complete.
    CutOff,
    /// The model refused to write a summary.
    Declined,
    /// No data came for too long, or the answer had no end.
    Stalled,
    /// The key is refused.
    Auth,
    /// No money or quota is left.
    Quota,
    /// The request is larger than the model's context.
    ContextLimit,
    /// The provider refuses the request for another reason (4xx).
    Refused,
    /// The adapter itself is set up wrongly.
    Configuration,
    /// Messages for the model cannot be read from the store.
    Transcript,
    /// A hook puts the request off.
    Held,
    /// A hook forbids the request, or the answer.
    Denied,
    /// The [breaker](crate::machine::breaker) is open: after too many failures in a row, the model is not
    /// asked for a while.
    CircuitOpen,
}

impl ModelErrorKind {
    /// Whether the same call may succeed later (requirement B37).
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

    /// The wire name.
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
    /// The kind, to branch on.
    pub kind: ModelErrorKind,
    /// The details, in one line; never a key.
    pub detail: String,
    /// The wait that the provider asks for. It takes precedence over the computed delay.
    pub retry_after: Option<Duration>,
    /// The longest time for which an open circuit holds the call. All errors until then count as one attempt.
    /// None: no circuit holds it.
    pub held_for: Option<Duration>,
    /// The usage of the call when it broke off; none: no answer had begun. A runtime fills it in from the
    /// [events](super::ModelEvent) that it received before.
    pub used: Option<PartialUse>,
}

impl ModelError {
    /// An error of `kind`.
    pub fn new(kind: ModelErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), retry_after: None, held_for: None, used: None }
    }

    /// A temporary error: the same call is made again after `wait`, or as the agent's rules say if there is
    /// none (requirement C52).
    pub fn transient(detail: impl Into<String>, wait: Option<Duration>) -> Self {
        Self { retry_after: wait, ..Self::new(ModelErrorKind::Provider, detail) }
    }
}

impl From<&ModelError> for ErrorInfo {
    fn from(error: &ModelError) -> Self {
        ErrorInfo::new(format!("model.{}", error.kind.as_str()), error.detail.clone())
    }
}
