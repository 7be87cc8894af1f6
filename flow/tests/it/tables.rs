//! A store with transactions of the caller, on virtual time: sessions and one table of the program under one lock of all
//! writers, as in a file.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::store::{
    Answer, CommitOutcome, Layer, Layered, OpenTransaction, Request, StageOutcome, StateStore, StoreError,
    StoreErrorKind, StoreTransaction,
};
use holdover_store_memory::MemoryStore;
use tokio::sync::{Mutex as Lock, OwnedMutexGuard};

use crate::bench;

/// The time for which a transaction may stay open.
pub(crate) const OPEN_MAX: Duration = Duration::from_secs(5);

/// The file.
#[derive(Clone)]
pub(crate) struct Tables {
    store: Layered<MemoryStore, OneWriter>,
    writer: Option<Arc<Lock<()>>>,
    rows: Arc<Mutex<Vec<u32>>>,
    /// The number of transactions that were committed.
    pub(crate) commits: Arc<AtomicUsize>,
    /// True if a check finds that a transaction was undone. Otherwise only its write does.
    checks: bool,
}

holdover_core::store::forward_store! { [] Tables, |tables| tables.store, async {
    Ok(OpenTransaction::new(TablesTransaction::begin(tables).await))
} }

impl Tables {
    /// Creates a file in which a transaction keeps out all other writers.
    pub(crate) fn with_one_writer() -> Self {
        Self::new(Some(Arc::default()))
    }

    /// Creates a database in which a transaction keeps nobody out.
    pub(crate) fn with_many_writers() -> Self {
        Self::new(None)
    }

    fn new(writer: Option<Arc<Lock<()>>>) -> Self {
        let store = Layered::<_, OneWriter>::new(bench::store(), OneWriter(writer.clone()));
        Self { store, writer, rows: Arc::default(), commits: Arc::default(), checks: true }
    }

    /// Lets transactions be undone after each check.
    pub(crate) fn undone_after_checks(self) -> Self {
        Self { checks: false, ..self }
    }

    /// Returns the committed rows of the table, in order.
    pub(crate) fn rows(&self) -> Vec<u32> {
        let mut rows = self.rows.lock().unwrap().clone();
        rows.sort_unstable();
        rows
    }
}

/// Lets one writer at a time write.
struct OneWriter(Option<Arc<Lock<()>>>);

#[async_trait]
impl Layer for OneWriter {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        // An interrupt that does not wait is not written.
        let writes = request.writes() && !matches!(request, Request::TakeInterrupt(_));
        let _writer = match &self.0 {
            Some(writer) if writes => Some(writer.lock().await),
            _ => None,
        };
        request.perform(&store).await
    }
}

/// The content of a transaction that has not ended.
struct Open {
    rows: Vec<u32>,
    _writer: Option<OwnedMutexGuard<()>>,
}

/// A transaction of the program.
pub(crate) struct TablesTransaction {
    tables: Tables,
    open: Arc<Mutex<Option<Open>>>,
}

impl TablesTransaction {
    async fn begin(tables: &Tables) -> Self {
        let writer = match &tables.writer {
            Some(writer) => Some(Arc::clone(writer).lock_owned().await),
            None => None,
        };
        let open = Arc::new(Mutex::new(Some(Open { rows: Vec::new(), _writer: writer })));
        let late = Arc::downgrade(&open);
        tokio::spawn(async move {
            tokio::time::sleep(OPEN_MAX).await;
            if let Some(open) = late.upgrade() {
                *open.lock().unwrap() = None;
            }
        });
        Self { tables: tables.clone(), open }
    }

    pub(crate) fn insert(&mut self, row: u32) -> Result<(), StoreError> {
        match &mut *self.open.lock().unwrap() {
            Some(open) => open.rows.push(row),
            None => return Err(ended()),
        }
        Ok(())
    }
}

#[async_trait]
impl StoreTransaction for TablesTransaction {
    async fn check(&mut self) -> Result<(), StoreError> {
        if self.tables.checks && self.open.lock().unwrap().is_none() { Err(ended()) } else { Ok(()) }
    }

    fn into_store(self: Box<Self>) -> Arc<dyn StateStore> {
        let store = self.tables.store.store().clone();
        Arc::new(Layered::<MemoryStore, OneWrite>::new(MemoryStore::clone(&store), OneWrite(*self)))
    }
}

/// Commits the transaction with the first write that is applied.
struct OneWrite(TablesTransaction);

#[async_trait]
impl Layer for OneWrite {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        // Taken before the write, so that it is undone if this future is dropped in between.
        let Some(open) = self.0.open.lock().unwrap().take() else { return Err(ended()) };
        let answer = request.perform(&store).await?;
        let applied = matches!(
            answer,
            Answer::Committed(CommitOutcome::Committed(_)) | Answer::Staged(StageOutcome::Staged(_))
        );
        if applied {
            self.0.tables.rows.lock().unwrap().extend(&open.rows);
            self.0.tables.commits.fetch_add(1, Ordering::SeqCst);
        } else {
            *self.0.open.lock().unwrap() = Some(open);
        }
        Ok(answer)
    }
}

fn ended() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "transaction", "the transaction has ended")
}
