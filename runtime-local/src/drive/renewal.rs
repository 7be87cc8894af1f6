//! Renews the lease, and receives news with each renewal.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::engine::Reply;
use holdover_core::ids::SessionKey;
use holdover_core::store::{
    InterruptCheck, LeaseOutcome, Receipt, Retry, StateStore, StoreError, StoreErrorKind, Watch,
};
use tokio::time::{Instant, timeout};

use super::Driver;
use super::deltas::Heard;
use super::done::Done;
use crate::backoff::Backoff;
use crate::hint::Hint;
use crate::outage::Waiting;

/// The maximum time between two renewals.
const RENEW_MAX: Duration = Duration::from_secs(5);

/// A hint that comes this soon after a write of this run most likely reports that write, so it brings nothing new.
const OWN_ECHO: Duration = Duration::from_millis(100);

/// The delay before such a hint is followed.
const ECHO_DELAY: Duration = Duration::from_millis(250);

#[derive(Debug, Clone, Copy)]
struct Look {
    hinted: Instant,
    at: Instant,
}

/// The times of the next renewal and the next look, and the last news.
pub(super) struct Renewal {
    every: Duration,
    next: Instant,
    out: bool,
    /// The next look at the store because of a hint.
    look: Option<Look>,
    last_write: Option<Instant>,
    news: Option<(holdover_core::ids::InboxSeq, bool)>,
    /// The delay before a look, which grows while hints bring nothing.
    quiet: Backoff,
    hint: Option<Hint>,
    /// The renewal that failed and is tried again.
    failing: Option<Waiting>,
}

impl Renewal {
    pub(super) fn new(lease: Duration) -> Self {
        let every = RENEW_MAX.min(lease / 3);
        Self {
            every,
            next: Instant::now() + every,
            out: false,
            look: None,
            last_write: None,
            news: None,
            quiet: quiet(),
            hint: None,
            failing: None,
        }
    }

    /// Returns the instant of the next renewal, or `None` while a renewal is in flight.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.out).then_some(self.next)
    }

    /// Renews as soon as possible.
    pub(super) fn now(&mut self) {
        self.next = Instant::now();
    }

    /// Starts to listen for changes of the session, unless it listens already.
    pub(super) async fn listen(&mut self, store: &Arc<dyn StateStore>, key: &SessionKey) {
        if self.hint.is_none() {
            self.hint = Some(Hint::listen(store, Watch::News(key.clone()), self.every).await);
        }
    }

    /// Returns true if something may have changed, and false if the time was over.
    pub(super) async fn hint(&mut self) -> bool {
        match &mut self.hint {
            Some(hint) => hint.heard().await,
            None => std::future::pending().await,
        }
    }

    /// Returns the instant of the next look at the store.
    pub(super) fn look_due(&self) -> Option<Instant> {
        self.look.map(|look| look.at)
    }

    /// Notes that something may have changed, and plans a look. Most hints come from this run's own writes. A look,
    /// unlike a renewal, writes nothing.
    pub(super) fn hinted(&mut self, changed: bool, writing: bool) {
        self.hint = None;
        if !changed {
            return;
        }
        let own = writing || self.last_write.is_some_and(|at| at.elapsed() < OWN_ECHO);
        let delay = if own { ECHO_DELAY } else { self.quiet.take() };
        let hinted = Instant::now();
        let at = self.look.map_or(hinted + delay, |look| look.at.min(hinted + delay));
        self.look = Some(Look { hinted, at });
    }

    /// Notes that a write of this run was answered. Its receipt covers all changes before the request, so an older
    /// hint needs no look.
    pub(super) fn wrote(&mut self, asked: Instant) {
        self.last_write = Some(Instant::now());
        self.look = self.look.filter(|look| look.hinted >= asked);
    }

    /// Takes the news of a receipt.
    pub(super) fn heard(&mut self, receipt: &Receipt) {
        let news = Some((receipt.last_item, receipt.interrupt));
        if news != self.news {
            self.news = news;
            self.quiet = quiet();
        }
    }
}

/// Returns the delays before looks. The first hint is followed at once, and later hints that bring nothing ever
/// more slowly.
fn quiet() -> Backoff {
    Backoff::new(Duration::from_millis(1), Duration::from_secs(1))
}

impl Driver {
    pub(super) fn renew(&mut self) {
        self.renewal.out = true;
        let (store, fence) = (Arc::clone(&self.store), self.fence.clone());
        let lease = self.cx.host.options().lease;
        let at_most = self.renewal.every * 2;
        self.send(async move {
            let asked = Instant::now();
            let outcome = match timeout(at_most, store.renew_lease(&fence, lease)).await {
                Ok(outcome) => outcome,
                Err(_) => {
                    let detail = format!("no answer within {} ms", at_most.as_millis());
                    let silent = StoreError::new(StoreErrorKind::Unavailable, "renew_lease", detail);
                    Err(silent.on(&fence.key).retry(Retry::OutcomeUnknown))
                }
            };
            Done::Renewed { asked, outcome }
        });
    }

    /// Looks for the change that a hint may have reported. If there is one, a renewal brings it.
    pub(super) fn look(&mut self) {
        self.renewal.look = None;
        let (store, fence) = (Arc::clone(&self.store), self.fence.clone());
        let (last_item, interrupt) = self.renewal.news.unwrap_or_default();
        self.send(async move {
            let items = store.read_inbox(&fence.key, last_item, 1).await;
            let arrived = items.map_or(true, |page| !page.items.is_empty());
            let changed = arrived
                || match store.take_interrupt(&fence).await {
                    Ok(InterruptCheck::Clear) => false,
                    Ok(InterruptCheck::Waiting(_)) => !interrupt,
                    Ok(InterruptCheck::StaleFence) | Err(_) => true,
                };
            Done::Looked { changed }
        });
    }

    /// Handles a message from a running model call.
    pub(super) fn on_heard(&mut self, heard: Heard) {
        match heard {
            Heard::Call(reply) => self.apply(reply),
            Heard::News(asked, receipt) => {
                self.renewal.wrote(asked);
                self.hear(asked, false, &receipt);
                self.renewal.heard(&receipt);
                self.apply(Reply::News(receipt));
            }
            Heard::Lost if self.releasing > 0 => {}
            Heard::Lost => self.apply(Reply::LeaseLost),
        }
    }

    pub(super) fn renewed(&mut self, asked: Instant, outcome: Result<LeaseOutcome, StoreError>) {
        self.renewal.out = false;
        self.renewal.next = Instant::now() + self.renewal.every;
        match outcome {
            Ok(LeaseOutcome::Renewed(receipt)) => {
                if let Some(failing) = self.renewal.failing.take() {
                    failing.answered();
                }
                self.renewal.wrote(asked);
                self.hear(asked, false, &receipt);
                self.renewal.heard(&receipt);
                self.send_held();
                self.take_news(receipt);
            }
            // A commit of this run released the session, and its answer is still on its way.
            Ok(LeaseOutcome::StaleFence) if self.releasing > 0 => {}
            Ok(LeaseOutcome::StaleFence) => self.apply(Reply::LeaseLost),
            Err(error) if self.lease.runs() => {
                match &self.renewal.failing {
                    None => self.renewal.failing = Some(self.outages.begin(&error)),
                    Some(failing) => failing.failed(&error),
                }
                self.renewal.next = Instant::now() + self.renewal.every / 8;
            }
            Err(error) => {
                tracing::warn!(run = %self.fence, %error, "the lease ended and cannot be renewed");
                self.apply(Reply::LeaseLost);
            }
        }
    }
}
