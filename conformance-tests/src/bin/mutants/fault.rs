//! A broken store, and the transaction in which its operations work.

use holdover_store::ids::{SessionKey, TenantId};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store_memory::parts::{Record, Sessions, Tombstones};

use crate::sound::{Fault, SOUND};

/// A store that is the reference but for one thing.
pub(crate) struct Mutant {
    /// Its name.
    pub(crate) name: &'static str,
    /// What is broken.
    pub(crate) broken: &'static str,
    /// How.
    pub(crate) fault: Fault,
}

/// The reference under this name, until something is replaced in it.
pub(crate) const fn broken(name: &'static str, what: &'static str) -> Mutant {
    Mutant { name, broken: what, fault: SOUND }
}

/// A later transaction of the same operation.
pub(crate) type Later = Box<dyn FnOnce(&mut Tx<'_>) + Send>;

/// One transaction: the data, locked, and the time.
pub(crate) struct Tx<'a> {
    /// Every session there is.
    pub(crate) sessions: &'a mut Sessions,
    /// What is left of deleted sessions.
    pub(crate) tombstones: &'a mut Tombstones,
    /// Sessions that were deleted, or are kept aside, for faults that remember them.
    pub(crate) graves: &'a mut Sessions,
    /// What this handle alone remembers.
    pub(crate) cache: &'a mut Sessions,
    /// Whose turn it was last when this handle claimed what was due.
    pub(crate) turn: &'a mut Option<TenantId>,
    /// The store's clock.
    pub(crate) now: Timestamp,
    /// The clock of this process, which stands as good as still while a case moves the store's.
    pub(crate) process: Timestamp,
    /// What is written in another transaction, before the operation answers.
    pub(crate) later: Option<Later>,
}

impl Tx<'_> {
    pub(crate) fn record(&mut self, key: &SessionKey) -> Option<&mut Record> {
        self.sessions.get_mut(key)
    }

    /// Changes the session, if there is one.
    pub(crate) fn with(&mut self, key: &SessionKey, change: impl FnOnce(&mut Record)) {
        if let Some(record) = self.sessions.get_mut(key) {
            change(record);
        }
    }

    /// Changes the session's row, if there is one.
    pub(crate) fn row(&mut self, key: &SessionKey, change: impl FnOnce(&mut SessionRow)) {
        self.with(key, |record| change(&mut record.row));
    }

    /// A copy of the session's row.
    pub(crate) fn row_of(&self, key: &SessionKey) -> Option<SessionRow> {
        self.sessions.get(key).map(|record| record.row.clone())
    }

    /// Does the rest in another transaction.
    pub(crate) fn then(&mut self, later: impl FnOnce(&mut Tx<'_>) + Send + 'static) {
        self.later = Some(Box::new(later));
    }

    /// Decides on what is there now, and writes the session in another transaction.
    pub(crate) fn read_then_write<R>(
        &mut self,
        key: &SessionKey,
        operation: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let before = self.sessions.get(key).cloned();
        let answer = operation(self);
        let after = self.sessions.remove(key);
        if let Some(before) = before {
            self.sessions.insert(key.clone(), before);
        }
        if let Some(after) = after {
            let key = key.clone();
            self.then(move |tx| {
                tx.sessions.insert(key, after);
            });
        }
        answer
    }
}
