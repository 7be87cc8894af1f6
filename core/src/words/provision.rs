//! The surroundings of a turn beside model and tools: a workspace, a sandbox.

use async_trait::async_trait;

use crate::words::error::ErrorInfo;
use crate::words::ids::{SessionKey, TurnNumber};

/// Prepares the surroundings of a turn, and frees them again on every exit of the turn.
///
/// Both operations are repeated after a crash, so both must be idempotent. Preparing must cope with
/// surroundings that are half prepared; freeing, with those that are half freed or were never prepared.
#[async_trait]
pub trait Provisioner: Send + Sync + 'static {
    /// Prepares the surroundings of turn `turn`. An error ends the turn.
    async fn provision(&self, session: &SessionKey, turn: TurnNumber) -> Result<(), ErrorInfo>;

    /// Describes the prepared surroundings for people. The description is kept with the session's events.
    /// Asked after [`provision`](Self::provision). None: nothing is recorded.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Frees the surroundings. An error is kept with the session's events and changes nothing else.
    async fn tear_down(&self, session: &SessionKey, turn: TurnNumber) -> Result<(), ErrorInfo>;
}
