//! A store whose process dies at one of its writes: nothing after it is done, and nothing is answered.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use holdover::store::{StateStore, StoreError};
use holdover_core::store::{Answer, Layer, Request};
use tokio_util::sync::CancellationToken;

/// The death of a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Death {
    /// The write at which it dies, from 1.
    pub(crate) at: usize,
    /// Whether the store has applied that write.
    pub(crate) applied: bool,
}

/// Counts the writes of a process, and kills it at one of them.
#[derive(Clone, Default)]
pub(crate) struct Dying {
    death: Option<Death>,
    writes: Arc<AtomicUsize>,
    died: CancellationToken,
}

impl Dying {
    pub(crate) fn of(death: Option<Death>) -> Self {
        Self { death, ..Self::default() }
    }

    /// The number of writes so far.
    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    pub(crate) fn has_died(&self) -> bool {
        self.died.is_cancelled()
    }

    /// Waits for the death.
    pub(crate) async fn dies(&self) {
        self.died.cancelled().await;
    }
}

/// Whether a request is a step of the story. Looking for work and renewing are not: how often they come is a matter of
/// timing.
fn counts(request: &Request) -> bool {
    request.writes()
        && !matches!(request, Request::ClaimDue(_) | Request::Renew(..) | Request::TakeInterrupt(_))
}

#[async_trait]
impl Layer for Dying {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let at = if counts(&request) { self.writes.fetch_add(1, Ordering::SeqCst) + 1 } else { 0 };
        let dies = self.death.filter(|death| death.at == at);
        if self.has_died() || dies.is_some_and(|death| !death.applied) {
            self.died.cancel();
            return pending().await;
        }
        let answer = request.perform(&store).await;
        if dies.is_some() {
            self.died.cancel();
        }
        if self.has_died() { pending().await } else { answer }
    }
}
