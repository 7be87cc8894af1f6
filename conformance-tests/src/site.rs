//! A place that nobody has opened yet, as a case works with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use holdover_store::StoreError;

use crate::bench::Handle;
use crate::place::{OpenResult, Place};
use crate::record::{History, recorded};

/// A place that nobody has opened. What is asked of its handles is kept in the history of the case.
pub(crate) struct Site {
    pub(crate) place: Arc<dyn Place>,
    history: History,
    handles: AtomicU32,
}

impl Site {
    pub(crate) fn new(place: Arc<dyn Place>, history: History) -> Self {
        Self { place, history, handles: AtomicU32::new(0) }
    }

    /// Opens the store there.
    pub(crate) async fn open(&self) -> Result<Handle, StoreError> {
        self.handle(self.place.open().await)
    }

    /// Opens what is there and up to date, if the store has a way to.
    pub(crate) async fn open_as_it_is(&self) -> Option<Result<Handle, StoreError>> {
        Some(self.handle(self.place.open_as_it_is().await?))
    }

    fn handle(&self, opened: OpenResult) -> Result<Handle, StoreError> {
        let number = self.handles.fetch_add(1, Ordering::Relaxed);
        Ok(recorded(opened?, number, self.history.clone()))
    }
}
