//! A store that fails where a test tells it to.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::store::{Answer, Layer, Layered, Request, Retry, StateStore, StoreError, StoreErrorKind};
use holdover_store_memory::MemoryStore;
use tokio::time::{Instant, sleep, sleep_until};

/// A delay that is longer than a lease.
pub(crate) const LATE: Duration = Duration::from_secs(31);

/// A store that stumbles where a test tells it to.
pub(crate) type Stumbling = Layered<MemoryStore, Faults>;

pub(crate) fn stumbling(store: MemoryStore) -> Stumbling {
    Layered::new(store, Faults::default())
}

/// The faults of the store. `fired` counts how often any of them happened.
#[derive(Default)]
pub(crate) struct Faults {
    /// The number of commits to apply without returning their answers.
    pub(crate) commit_answers_to_lose: AtomicU32,
    /// The number of commits to refuse with a retryable error.
    pub(crate) commits_to_refuse: AtomicU32,
    /// The number of the commit whose answer comes late, counted from 1.
    pub(crate) late_commit: AtomicU32,
    /// The delay of the late answer; `LATE` if `None`.
    pub(crate) late_by: Mutex<Option<Duration>>,
    /// True if the late answer is an error of unknown outcome.
    pub(crate) late_is_lost: AtomicBool,
    /// The delay of answers to `claim_due`.
    pub(crate) late_claims: Mutex<Duration>,
    /// The number of reads of sessions and events.
    pub(crate) reads: AtomicU32,
    /// The instant until which renewals of leases are held back.
    pub(crate) no_renewals_until: Mutex<Option<Instant>>,
    /// The number of attempts to renew a lease.
    pub(crate) renewals: AtomicU32,
    commits: AtomicU32,
    pub(crate) fired: AtomicU32,
}

impl Faults {
    pub(crate) fn fired(&self) -> u32 {
        self.fired.load(Ordering::SeqCst)
    }

    fn fires(&self, count: &AtomicU32) -> bool {
        let fires =
            count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if fires {
            self.fired.fetch_add(1, Ordering::SeqCst);
        }
        fires
    }

    async fn commit(&self, request: Request, store: &Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        const OPERATION: &str = "commit";
        if self.fires(&self.commits_to_refuse) {
            return Err(unavailable(OPERATION, Retry::Later));
        }
        let outcome = request.perform(store).await;
        let place = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        if place == self.late_commit.load(Ordering::SeqCst) {
            self.fired.fetch_add(1, Ordering::SeqCst);
            let late = self.late_by.lock().unwrap().unwrap_or(LATE);
            sleep(late).await;
            if self.late_is_lost.load(Ordering::SeqCst) {
                return Err(unavailable(OPERATION, Retry::OutcomeUnknown));
            }
        }
        if self.fires(&self.commit_answers_to_lose) {
            return Err(unavailable(OPERATION, Retry::OutcomeUnknown));
        }
        outcome
    }

    async fn claim_due(&self, request: Request, store: &Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let claims = request.perform(store).await;
        let late = *self.late_claims.lock().unwrap();
        if !late.is_zero() {
            self.fired.fetch_add(1, Ordering::SeqCst);
            sleep(late).await;
        }
        claims
    }

    async fn renew(&self, request: Request, store: &Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        self.renewals.fetch_add(1, Ordering::SeqCst);
        let until = *self.no_renewals_until.lock().unwrap();
        if let Some(until) = until.filter(|until| Instant::now() < *until) {
            self.fired.fetch_add(1, Ordering::SeqCst);
            sleep_until(until).await;
        }
        request.perform(store).await
    }
}

fn unavailable(operation: &'static str, retry: Retry) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, operation, "a test says so").retry(retry)
}

#[async_trait]
impl Layer for Faults {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        match request.operation() {
            "commit" => self.commit(request, &store).await,
            "claim_due" => self.claim_due(request, &store).await,
            "renew_lease" => self.renew(request, &store).await,
            "load_session" | "read_events" => {
                self.reads.fetch_add(1, Ordering::SeqCst);
                request.perform(&store).await
            }
            _ => request.perform(&store).await,
        }
    }
}
