//! Tells hooks of transitions, in order. The run does not wait for this.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::hook::{HookPoint, Moved};
use tokio::sync::mpsc::{self, Sender};
use tokio::time::timeout;

use super::Hooks;
use crate::guard::{Guarded, guarded};

/// The maximum number of transitions that wait for slow hooks. Further transitions are not reported.
const WAITING_MAX: usize = 1024;

/// The time that a finished run waits for hooks that have not been told of all transitions.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A task that tells the hooks of a run's transitions, in order.
pub(crate) struct Watcher {
    moves: Sender<Moved>,
    telling: Guarded<()>,
}

impl Watcher {
    /// Starts to tell the hooks. Returns `None` if no hook is called at transitions.
    pub(crate) fn of(hooks: &Hooks) -> Option<Self> {
        hooks.at(HookPoint::Transition).next()?;
        let (moves, mut told) = mpsc::channel::<Moved>(WAITING_MAX);
        let hooks = hooks.clone();
        let telling = guarded(async move {
            while let Some(moved) = told.recv().await {
                for hooked in hooks.at(HookPoint::Transition) {
                    let (hook, moved) = (Arc::clone(&hooked.hook), moved.clone());
                    // A failure is only logged, because the transition has happened already.
                    let _ =
                        hooked.ask(HookPoint::Transition, async move { hook.transition(&moved).await }).await;
                }
            }
        });
        Some(Self { moves, telling })
    }

    pub(crate) fn tell(&self, moved: Moved) {
        if let Err(error) = self.moves.try_send(moved) {
            tracing::warn!(%error, "hooks are too slow for the transitions of a run");
        }
    }

    /// Stops, because the run is over. Waits for a limited time until the hooks have been told of all transitions.
    pub(crate) async fn finish(self) {
        let Self { moves, telling } = self;
        drop(moves);
        if timeout(LAST_WORDS, telling).await.is_err() {
            tracing::warn!("hooks have not heard of all transitions of a run");
        }
    }
}
