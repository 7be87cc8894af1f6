//! A short description of a session, and a stream of its changes.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use holdover_core::ids::SessionKey;
use holdover_core::machine::{Glance, Machine};
use holdover_core::store::{Session, SessionStatus, Watch};
use tokio::time::sleep;

use super::{Runtime, is_due, machine_of};
use crate::agent::Definition;
use crate::error::RuntimeError;
use crate::hint::Hint;
use crate::host::Backoff;

/// The interval at which a store without hints is read.
const POLL: Duration = Duration::from_secs(1);

/// The pause after a hint that brought no change. It grows from `GAP` to `GAP_MAX` while such hints keep coming.
const GAP: Duration = Duration::from_millis(1);
const GAP_MAX: Duration = Duration::from_millis(20);

impl Runtime {
    /// Describes the session as it is now: its machine as the last commit left it, and views of it. Works
    /// while a run holds the session, here or in another process. The views are computed from stored data and
    /// are not stored.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or its state cannot be
    /// [read](RuntimeError::Unreadable).
    pub async fn glance(&self, key: &SessionKey) -> Result<Glance, RuntimeError> {
        glance_of(&self.existing(key).await?)
    }

    /// Streams the glance of the session: now, and after each change. Two glances in a row always differ. A change
    /// that is over before the next look is left out. Ends when the session rests, or after the first error.
    pub fn glances(&self, key: &SessionKey) -> BoxStream<'static, Result<Glance, RuntimeError>> {
        let watched = Watched { runtime: self.clone(), key: key.clone(), shown: None, over: false };
        stream::unfold(watched, |mut watched| async move {
            let next = watched.next().await.transpose()?;
            watched.over |= next.is_err();
            Some((next, watched))
        })
        .boxed()
    }
}

/// Returns the glance of `session`.
///
/// Errors: those of [`machine_of`].
pub fn glance_of(session: &Session) -> Result<Glance, RuntimeError> {
    let machine: Machine = machine_of(session)?.unwrap_or_default();
    let limits = Definition::read(&session.definition).ok().map(|definition| definition.spec.limits);
    let granted = machine.turn.granted;
    Ok(Glance::of(session, &machine, limits.map(|limits| limits.max_steps.saturating_add(granted))))
}

struct Watched {
    runtime: Runtime,
    key: SessionKey,
    shown: Option<Glance>,
    over: bool,
}

impl Watched {
    async fn next(&mut self) -> Result<Option<Glance>, RuntimeError> {
        let mut gap = Backoff::new(GAP, GAP_MAX);
        while !self.over {
            let store = self.runtime.store().clone();
            // Listens before it looks, so that no change in between is missed.
            let mut hint = Hint::listen(&store, Watch::Session(self.key.clone()), POLL).await;
            let session = self.runtime.existing(&self.key).await?;
            let glance = glance_of(&session)?;
            let due = is_due(&session, self.runtime.now());
            self.over = session.status.at_rest() && session.status != SessionStatus::Active && !due;
            if self.shown.as_ref() != Some(&glance) {
                self.shown = Some(glance.clone());
                return Ok(Some(glance));
            }
            if !self.over && hint.heard().await {
                sleep(gap.take()).await;
            }
        }
        Ok(None)
    }
}
