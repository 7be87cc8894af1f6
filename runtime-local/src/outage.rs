//! Reports a store that fails while a run waits for it: at once, and again from time to time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdover_core::ids::Fence;
use holdover_core::store::StoreError;
use tokio::time::Instant;

use crate::clock::{Lease, StoreClock};
use crate::observer::{RunObserver, StoreOutage};

/// The interval between two reports of an outage that lasts.
const TELL_EVERY: Duration = Duration::from_secs(30);

/// The outage of one run. All requests of the run that wait for the store share it, so that it is reported
/// only once.
#[derive(Clone)]
pub(crate) struct Outages {
    shared: Arc<Shared>,
}

struct Shared {
    run: Fence,
    clock: StoreClock,
    observer: Option<Arc<dyn RunObserver>>,
    now: Mutex<Option<Lasting>>,
}

struct Lasting {
    outage: StoreOutage,
    began: Instant,
    told: Option<Instant>,
    waiting: usize,
    answered: bool,
}

impl Outages {
    pub(crate) fn of(run: Fence, clock: StoreClock, observer: Option<Arc<dyn RunObserver>>) -> Self {
        Self { shared: Arc::new(Shared { run, clock, observer, now: Mutex::new(None) }) }
    }

    /// Notes that a request failed and will be repeated.
    pub(crate) fn begin(&self, error: &StoreError) -> Waiting {
        let mut now = self.now();
        let lasting = now.get_or_insert_with(|| Lasting {
            outage: StoreOutage {
                run: self.shared.run.clone(),
                kind: error.kind,
                error: error.to_string(),
                since: self.shared.clock.now(),
                lasts: Duration::ZERO,
            },
            began: Instant::now(),
            told: None,
            waiting: 0,
            answered: false,
        });
        lasting.waiting += 1;
        drop(now);
        let waiting = Waiting { outages: self.clone(), answered: false };
        waiting.failed(error);
        waiting
    }

    fn now(&self) -> MutexGuard<'_, Option<Lasting>> {
        self.shared.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is repeated until the store answers it.
pub(crate) struct Waiting {
    outages: Outages,
    answered: bool,
}

impl Waiting {
    /// Notes that the request failed again.
    pub(crate) fn failed(&self, error: &StoreError) {
        let mut now = self.outages.now();
        let Some(lasting) = now.as_mut() else { return };
        lasting.outage.kind = error.kind;
        lasting.outage.error = error.to_string();
        lasting.outage.lasts = lasting.began.elapsed();
        if lasting.told.is_some_and(|told| told.elapsed() < TELL_EVERY) {
            return;
        }
        lasting.told = Some(Instant::now());
        let outage = lasting.outage.clone();
        drop(now);
        let StoreOutage { run, error, since, lasts, .. } = &outage;
        tracing::warn!(%run, %error, %since, waited_ms = lasts.as_millis(), "waiting for the store");
        if let Some(observer) = &self.outages.shared.observer {
            observer.on_store_outage(&outage);
        }
    }

    /// Notes that the store answered the request.
    pub(crate) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut now = self.outages.now();
        let Some(lasting) = now.as_mut() else { return };
        lasting.waiting -= 1;
        lasting.answered |= self.answered;
        if lasting.waiting > 0 {
            return;
        }
        let Some(Lasting { mut outage, began, answered, .. }) = now.take() else { return };
        drop(now);
        if !answered {
            return;
        }
        outage.lasts = began.elapsed();
        tracing::warn!(run = %outage.run, waited_ms = outage.lasts.as_millis(), "the store answers again");
        if let Some(observer) = &self.outages.shared.observer {
            observer.on_store_outage_over(&outage);
        }
    }
}

/// The terms on which a run waits for its store: until its lease ends. Each wait is reported.
#[derive(Clone)]
pub(crate) struct Patience {
    pub(crate) lease: Lease,
    pub(crate) outages: Outages,
}
