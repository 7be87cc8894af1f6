//! Change hints between the handles of one process. Only hints: whoever polls misses nothing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::Duration;

use holdover_store::Watch;
use holdover_store::ids::SessionKey;
use tokio::sync::broadcast;

/// A waiter that falls further behind is woken for nothing.
const HINTS_KEPT: usize = 1024;

/// A session changed.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) key: SessionKey,
    /// Whether its alarm now rings.
    pub(crate) due: bool,
}

/// The hints about one database file.
pub(crate) struct Hints {
    changes: broadcast::Sender<Change>,
}

static BY_FILE: LazyLock<Mutex<HashMap<PathBuf, Weak<Hints>>>> = LazyLock::new(Mutex::default);

impl Hints {
    /// The hints that all handles on `file` in this process share.
    pub(crate) fn of(file: &Path) -> Arc<Self> {
        let mut by_file = BY_FILE.lock().unwrap_or_else(PoisonError::into_inner);
        by_file.retain(|_, hints| hints.strong_count() > 0);
        if let Some(hints) = by_file.get(file).and_then(Weak::upgrade) {
            return hints;
        }
        let hints = Arc::new(Self { changes: broadcast::channel(HINTS_KEPT).0 });
        by_file.insert(file.to_owned(), Arc::downgrade(&hints));
        hints
    }

    pub(crate) fn publish(&self, change: Change) {
        // Fails when nobody waits, which is fine.
        let _ = self.changes.send(change);
    }

    pub(crate) async fn wait(&self, watch: &Watch, at_most: Duration) {
        let mut changes = self.changes.subscribe();
        let changed = async {
            while let Ok(change) = changes.recv().await {
                let wanted = match watch {
                    Watch::Session(key) => change.key == *key,
                    Watch::Due => change.due,
                };
                if wanted {
                    return;
                }
            }
        };
        // Running out of time is an answer like any other.
        let _ = tokio::time::timeout(at_most, changed).await;
    }
}
