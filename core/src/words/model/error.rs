//! The errors of model calls.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::PartialUse;
use crate::words::error::ErrorInfo;

/// What went wrong with a model call, to branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The provider asks for patience (429).
    RateLimited,
    /// The provider is overloaded, starting, or out of service (503, 529).
    Unavailable,
    /// The provider failed (5xx, 409).
    Provider,
    /// The network failed: name, connection, reset, time-out.
    Network,
    /// The stream ended without saying why: it was cut.
    Incomplete,
    /// What came cannot be read.
    Malformed,
    /// What came ran into the cap on tokens, and is of no use unless it is whole.
    CutOff,
    /// The model refused to say what is of no use unless it is said.
    Declined,
    /// No data for too long, or no end.
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
    /// What is to be said to the model cannot be read from the store.
    Transcript,
    /// A hook puts the request off.
    Held,
    /// A hook forbids the request, or the answer.
    Denied,
    /// Its provider failed so often that nobody asks it for a while (the [breaker](crate::machine::breaker)).
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
    /// To branch on.
    pub kind: ModelErrorKind,
    /// What exactly, in one line; never a key.
    pub detail: String,
    /// How long the provider asks to wait; wins over the computed delay.
    pub retry_after: Option<Duration>,
    /// How long an open circuit holds the call at most. All that is heard of it until then is one attempt. None: no
    /// circuit holds it.
    pub held_for: Option<Duration>,
    /// What the call had used when it broke off; none: no answer had begun. A runtime fills it in from the
    /// [events](ModelEvent) that it was told before.
    pub used: Option<PartialUse>,
}

impl ModelError {
    /// An error of `kind`.
    pub fn new(kind: ModelErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), retry_after: None, held_for: None, used: None }
    }

    /// An error that will pass: the same call is made again after `wait`, or as the agent says if there is none
    /// (requirement C52).
    pub fn transient(detail: impl Into<String>, wait: Option<Duration>) -> Self {
        Self { retry_after: wait, ..Self::new(ModelErrorKind::Provider, detail) }
    }
}

impl From<&ModelError> for ErrorInfo {
    fn from(error: &ModelError) -> Self {
        ErrorInfo::new(format!("model.{}", error.kind.as_str()), error.detail.clone())
    }
}
