//! The rows that a handle keeps of the sessions that it wrote last. With them, the next write of a run needs
//! no read.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex as Lock, PoisonError};

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::facts::Facts;
use crate::ids::SessionKey;

/// The most sessions whose rows are held.
const SESSIONS_MAX: usize = 1_024;
/// The most rows of one kind that are held for a session.
const ROWS_MAX: usize = 256;
/// The most bytes of payload that are held for one kind of a session's rows.
const BYTES_MAX: usize = 256 << 10;

/// The sessions whose rows are held. Their number is bounded: the least recently used session is forgotten,
/// and its next write needs a read.
#[derive(Default)]
pub(super) struct Held {
    sessions: Lock<Sessions>,
}

#[derive(Default)]
struct Sessions {
    by_key: HashMap<SessionKey, Entry>,
    /// The sessions in the order of their last use.
    by_use: BTreeMap<u64, SessionKey>,
    uses: u64,
}

struct Entry {
    facts: Arc<Mutex<Option<Facts>>>,
    used: u64,
}

/// The exclusive turn to write one session. Other writes of the session through this handle, except claims of due
/// sessions, wait, so they do not lose races against each other.
pub(super) struct Turn(OwnedMutexGuard<Option<Facts>>);

impl Held {
    /// Waits for a turn to write the session.
    pub(super) async fn turn(&self, key: &SessionKey) -> Turn {
        let facts = self.lock().entry(key);
        Turn(facts.lock_owned().await)
    }

    /// Returns a turn if no other write of the session is in progress through this handle.
    pub(super) fn free_turn(&self, key: &SessionKey) -> Option<Turn> {
        let facts = self.lock().entry(key);
        facts.try_lock_owned().ok().map(Turn)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Sessions> {
        // No code under this lock can panic halfway through a change, so the data is consistent even if
        // poisoned.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sessions {
    fn entry(&mut self, key: &SessionKey) -> Arc<Mutex<Option<Facts>>> {
        self.uses += 1;
        let used = self.uses;
        if let Some(entry) = self.by_key.get_mut(key) {
            self.by_use.remove(&entry.used);
            entry.used = used;
            self.by_use.insert(used, key.clone());
            return Arc::clone(&entry.facts);
        }
        self.make_room();
        let facts = Arc::default();
        self.by_key.insert(key.clone(), Entry { facts: Arc::clone(&facts), used });
        self.by_use.insert(used, key.clone());
        facts
    }

    /// Forgets the least recently used sessions that are not being written. If all are being written, the
    /// limit is exceeded for a while.
    fn make_room(&mut self) {
        while self.by_key.len() >= SESSIONS_MAX {
            let free = self.by_use.iter().find(|(_, key)| {
                self.by_key.get(*key).is_none_or(|entry| Arc::strong_count(&entry.facts) == 1)
            });
            let Some((used, key)) = free.map(|(used, key)| (*used, key.clone())) else { return };
            self.by_use.remove(&used);
            self.by_key.remove(&key);
        }
    }
}

impl Turn {
    /// Takes the held facts out. Nothing is held until the next call of `hold`, so a caller that is dropped
    /// in between leaves no outdated facts.
    pub(super) fn take(&mut self) -> Option<Facts> {
        self.0.take()
    }

    /// Holds these facts, trimmed to the limits.
    pub(super) fn hold(&mut self, mut facts: Facts) {
        facts.trim(ROWS_MAX, BYTES_MAX);
        *self.0 = Some(facts);
    }
}
