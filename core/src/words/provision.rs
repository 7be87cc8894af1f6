//! The surroundings that a turn needs besides its model and tools, such as a workspace or a sandbox.

use async_trait::async_trait;

use crate::words::error::ErrorInfo;
use crate::words::ids::{SessionKey, TurnNumber};

/// Prepares the surroundings of a turn, and frees them when the turn ends in any way.
///
/// Both operations must be idempotent, because they are repeated after a crash.
/// [`provision`](Self::provision) must accept surroundings that are partly prepared.
/// [`tear_down`](Self::tear_down) must accept surroundings that are partly freed or were never prepared.
#[async_trait]
pub trait Provisioner: Send + Sync + 'static {
    /// Prepares the surroundings of a turn. After an error that [is transient](Self::is_transient) this is done again, as
    /// often as the agent's [`Retries`](crate::words::agent::Retries) say. Then the fallbacks of the provisioner are asked,
    /// if it has any. Then the turn ends with the error.
    async fn provision(&self, session: &SessionKey, turn: TurnNumber) -> Result<(), ErrorInfo>;

    /// Returns a description of the prepared surroundings for people. Called after
    /// [`provision`](Self::provision), and recorded in the session's events. `None` records nothing.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Returns true if the same attempt may succeed later, so that it is repeated. The default is true, because preparing
    /// twice does no harm.
    fn is_transient(&self, _error: &ErrorInfo) -> bool {
        true
    }

    /// Frees the surroundings of a turn. An error is recorded in the session's events and has no other
    /// effect.
    async fn tear_down(&self, session: &SessionKey, turn: TurnNumber) -> Result<(), ErrorInfo>;
}
