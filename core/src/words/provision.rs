//! The surroundings of a turn beside model and tools: a workspace, a sandbox.

use async_trait::async_trait;

use crate::words::error::ErrorInfo;
use crate::words::ids::{SessionKey, TurnNumber};

/// Makes ready what a turn needs, and frees it again on every exit of the turn.
///
/// Both are asked again after a crash, so both must be idempotent: to make ready what is half ready, and
/// to free what is half freed or was never made.
#[async_trait]
pub trait Provisioner: Send + Sync + 'static {
    /// Makes ready what turn `turn` needs. An error ends the turn.
    async fn provision(&self, session: &SessionKey, turn: TurnNumber) -> Result<(), ErrorInfo>;

    /// What is made ready, as a person would be told: kept with the session's events once it is. Asked after
    /// [`provision`](Self::provision). None: nothing is said.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Frees it. An error is kept with the session's events and changes nothing else.
    async fn tear_down(&self, session: &SessionKey, turn: TurnNumber) -> Result<(), ErrorInfo>;
}
