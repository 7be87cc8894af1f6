//! The description of a broken store, and the transactions of its operations.

use holdover_store::ids::{SessionKey, TenantId};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store_memory::parts::{Record, Sessions, Tombstones};

use crate::sound::{Fault, SOUND};

/// A broken store: the reference store, or a sound store over rows, with one fault.
pub(crate) struct Mutant {
    /// The name of the store.
    pub(crate) name: &'static str,
    /// A description of the fault.
    pub(crate) broken: &'static str,
    /// The replaced parts of the store.
    pub(crate) fault: Fault,
}

/// Creates a store with this name and no fault yet. Methods of [`Mutant`] replace its parts.
pub(crate) const fn broken(name: &'static str, what: &'static str) -> Mutant {
    Mutant { name, broken: what, fault: SOUND }
}

/// A later transaction of the same operation.
pub(crate) type Later = Box<dyn FnOnce(&mut Tx<'_>) + Send>;

/// One transaction: the locked data and the time.
pub(crate) struct Tx<'a> {
    /// All sessions.
    pub(crate) sessions: &'a mut Sessions,
    /// The tombstones of deleted sessions.
    pub(crate) tombstones: &'a mut Tombstones,
    /// Sessions that were deleted or set aside, for faults that remember them.
    pub(crate) graves: &'a mut Sessions,
    /// Sessions that only this handle remembers.
    pub(crate) cache: &'a mut Sessions,
    /// The tenant that was served last when this handle claimed due sessions.
    pub(crate) turn: &'a mut Option<TenantId>,
    /// The store's clock.
    pub(crate) now: Timestamp,
    /// The clock of this process. It stands still while a case moves the store's clock.
    pub(crate) process: Timestamp,
    /// Writes of another transaction, which runs before the operation returns.
    pub(crate) later: Option<Later>,
}

impl Tx<'_> {
    pub(crate) fn record(&mut self, key: &SessionKey) -> Option<&mut Record> {
        self.sessions.get_mut(key)
    }

    /// Changes the session, if it exists.
    pub(crate) fn with(&mut self, key: &SessionKey, change: impl FnOnce(&mut Record)) {
        if let Some(record) = self.sessions.get_mut(key) {
            change(record);
        }
    }

    /// Changes the session's row, if it exists.
    pub(crate) fn row(&mut self, key: &SessionKey, change: impl FnOnce(&mut SessionRow)) {
        self.with(key, |record| change(&mut record.row));
    }

    /// Returns a copy of the session's row.
    pub(crate) fn row_of(&self, key: &SessionKey) -> Option<SessionRow> {
        self.sessions.get(key).map(|record| record.row.clone())
    }

    /// Runs the rest of the operation in another transaction.
    pub(crate) fn then(&mut self, later: impl FnOnce(&mut Tx<'_>) + Send + 'static) {
        self.later = Some(Box::new(later));
    }

    /// Decides on the current data, but writes the session in another transaction.
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
