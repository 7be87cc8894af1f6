//! The store: the contract on top of rows in memory.

use std::fmt;

use holdover_store::rows::RowStore;
use holdover_store::time::Clock;

use crate::clock::SystemClock;
use crate::limits::Limits;
use crate::rows::MemoryRows;

/// A store that keeps sessions in memory. A clone is another handle on the same data. The data is freed with
/// the last handle.
#[derive(Clone)]
pub struct MemoryStore {
    rows: RowStore<MemoryRows>,
}

impl MemoryStore {
    /// Makes an empty store that uses the system clock.
    pub fn new() -> Self {
        Self::with(SystemClock, Limits::default())
    }

    /// Makes an empty store that uses `clock`, for example a test clock that the test advances.
    pub fn on(clock: impl Clock) -> Self {
        Self::with(clock, Limits::default())
    }

    /// Makes an empty store that uses `clock` and these limits.
    pub fn with(clock: impl Clock, limits: Limits) -> Self {
        Self { rows: RowStore::new(MemoryRows::new(clock, limits)) }
    }
}

impl MemoryStore {
    /// Returns another handle on the same data. It shares no cached rows with this handle, like a handle in
    /// another process.
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
