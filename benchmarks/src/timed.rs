//! A layer that times the commits and stagings of a store.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use hdrhistogram::Histogram;
use holdover::store::{SqliteStore, StateStore, StoreError};
use holdover_store::{Answer, Layer, Layered, Request};
use tokio::sync::watch;

/// The writes of a store, and their times.
#[derive(Clone)]
pub(crate) struct Writes {
    /// Microseconds from the call of a write to its acknowledgement.
    pub(crate) latency: Histogram<u64>,
    /// The bytes of all payloads.
    pub(crate) bytes: u64,
    /// The payload bytes of each write since [`Timed::take_recent`] was last called.
    recent: Vec<u64>,
}

/// A layer that times commits and stagings, as their caller sees them.
#[derive(Clone)]
pub(crate) struct Timed {
    writes: Arc<Mutex<Writes>>,
    out: Arc<watch::Sender<usize>>,
}

impl Timed {
    pub(crate) fn new() -> Self {
        let writes = Writes { latency: histogram(), bytes: 0, recent: Vec::new() };
        Self { writes: Arc::new(Mutex::new(writes)), out: Arc::new(watch::Sender::new(0)) }
    }

    /// Returns `store` with this layer around it.
    pub(crate) fn around(&self, store: SqliteStore) -> Layered<SqliteStore, Self> {
        Layered::new(store, self.clone())
    }

    pub(crate) fn writes(&self) -> Writes {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until no write is in flight.
    pub(crate) async fn settled(&self) {
        let mut out = self.out.subscribe();
        // The channel stays open, because this layer holds the other end.
        let _ = out.wait_for(|out| *out == 0).await;
    }

    /// Returns the bytes of each write since the last call.
    pub(crate) fn take_recent(&self) -> Vec<u64> {
        std::mem::take(&mut self.writes.lock().unwrap_or_else(PoisonError::into_inner).recent)
    }

    async fn timed<T>(&self, bytes: u64, write: impl Future<Output = T>) -> T {
        self.out.send_modify(|out| *out += 1);
        let began = Instant::now();
        let outcome = write.await;
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        writes.latency.saturating_record(micros(began.elapsed()));
        writes.bytes += bytes;
        writes.recent.push(bytes);
        drop(writes);
        self.out.send_modify(|out| *out -= 1);
        outcome
    }
}

/// Returns a histogram of microseconds up to a minute, with a precision of two digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 2).unwrap_or_else(|_| unreachable!("sound bounds"))
}

pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[async_trait]
impl Layer for Timed {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let bytes = if let Request::Stage(_, staging) = &request {
            staging.results.iter().map(|result| result.payload.len() as u64).sum()
        } else if let Request::Commit(_, commit) = &request {
            commit.payloads().map(|(_, payload)| payload.len() as u64).sum()
        } else {
            return request.perform(&store).await;
        };
        self.timed(bytes, request.perform(&store)).await
    }
}
