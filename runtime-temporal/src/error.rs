//! The errors of this crate.

/// The reason why Temporal cannot be used. The message is one line that names the address, unless the address may contain a
/// secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemporalError {
    /// The address is not one of a Temporal namespace.
    #[error(
        "{address}: {detail}; expected temporal://HOST:PORT/NAMESPACE or temporals://HOST:PORT/NAMESPACE"
    )]
    Address {
        /// The address.
        address: String,
        /// The reason.
        detail: String,
    },
    /// The server cannot be reached, or refuses the client.
    #[error("{engine}: {detail}")]
    Unreachable {
        /// The address.
        engine: String,
        /// The reason.
        detail: String,
    },
    /// The API key would be sent unencrypted to another machine.
    #[error("{engine}: an API key is not sent unencrypted to another machine: use temporals://")]
    Unencrypted {
        /// The address.
        engine: String,
    },
    /// The worker would serve no queue: the options name none, and its source of agents lists none.
    #[error("{engine}: the worker serves no queue: name its queues in the options")]
    NoQueues {
        /// The address.
        engine: String,
    },
}
