//! Telling waiters that something may have changed.

use std::time::Duration;

use holdover_store::Watch;
use holdover_store::ids::SessionKey;
use tokio::sync::broadcast;

/// How many changes a waiter may be behind before it is simply woken.
const CHANGES_KEPT: usize = 256;

/// Whom to tell which session changed.
pub(crate) struct Hints {
    changed: broadcast::Sender<SessionKey>,
}

impl Hints {
    pub(crate) fn new() -> Self {
        Self { changed: broadcast::Sender::new(CHANGES_KEPT) }
    }

    /// Wakes whoever waits for `key`, or for anything to become due.
    pub(crate) fn tell(&self, key: &SessionKey) {
        // No receiver is no failure: nobody waits.
        let _ = self.changed.send(key.clone());
    }

    /// Returns when `watch` may have changed, at the latest after `at_most`.
    pub(crate) async fn wait(&self, watch: Watch, at_most: Duration) {
        let mut changes = self.changed.subscribe();
        let news = async {
            // An error means that changes were missed: then what is watched may have changed too.
            while let Ok(changed) = changes.recv().await {
                match &watch {
                    Watch::Session(key) if *key != changed => {}
                    Watch::Session(_) | Watch::Due => break,
                }
            }
        };
        // Running out of time is an answer like any other: the caller looks for itself.
        let _ = tokio::time::timeout(at_most, news).await;
    }
}
