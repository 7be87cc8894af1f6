//! The store: rows in memory behind the contract.

use std::fmt;

use holdover_store::rows::RowStore;
use holdover_store::time::Clock;

use crate::clock::SystemClock;
use crate::limits::Limits;
use crate::rows::MemoryRows;

/// Sessions in memory. A clone is another handle on the same data, which lives as long as one of its handles.
#[derive(Clone)]
pub struct MemoryStore {
    rows: RowStore<MemoryRows>,
}

impl MemoryStore {
    /// An empty store on the machine's clock.
    pub fn new() -> Self {
        Self::with(SystemClock, Limits::default())
    }

    /// An empty store on `clock`: on the clock of a test, say, which passes as the test wants.
    pub fn on(clock: impl Clock) -> Self {
        Self::with(clock, Limits::default())
    }

    /// An empty store on `clock`, with these limits.
    pub fn with(clock: impl Clock, limits: Limits) -> Self {
        Self { rows: RowStore::new(MemoryRows::new(clock, limits)) }
    }
}

impl MemoryStore {
    /// Another handle on the same data that shares nothing of what this one holds, as another process has one of other
    /// stores.
    #[must_use]
    pub fn peer(&self) -> Self {
        Self { rows: self.rows.peer() }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("sessions", &self.rows.rows().len()).finish_non_exhaustive()
    }
}

holdover_store::forward_store! { [] MemoryStore, |store| store.rows }
