//! The reasons for which a named signal is refused.

use holdover_core::ids::SessionKey;
use holdover_core::signal::SignalName;

/// The reason for which [`Runtime::signal`](crate::Runtime::signal) refuses a signal. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignalError {
    /// The session holds as many signals as it may.
    #[error("session {key}: it holds {held_max} signals that no call has taken, which is the most")]
    Full {
        /// The session.
        key: SessionKey,
        /// The most signals that a session holds.
        held_max: usize,
    },
    /// The body is longer than the engine accepts.
    #[error("session {key}: signal {name}: body: {bytes} bytes, at most {bytes_max} are allowed")]
    TooLong {
        /// The session.
        key: SessionKey,
        /// The name of the signal.
        name: SignalName,
        /// The length of the body, in bytes.
        bytes: usize,
        /// The most bytes.
        bytes_max: usize,
    },
    /// The body is not JSON.
    #[error("session {key}: signal {name}: body: it is not JSON: {detail}")]
    NotJson {
        /// The session.
        key: SessionKey,
        /// The name of the signal.
        name: SignalName,
        /// The fault.
        detail: String,
    },
}
