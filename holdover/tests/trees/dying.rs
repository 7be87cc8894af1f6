//! A store layer whose process meets a fault at one of its writes: the process dies there, or a person gives an order
//! there.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use holdover::store::{StateStore, StoreError};
use holdover_core::store::{Answer, Layer, Request};
use tokio_util::sync::CancellationToken;

use crate::agent::World;
use crate::orders::Order;

/// A fault at one write of a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    /// The number of the write, from 1. `DiesOnceItHasActed` ignores it.
    pub(crate) at: usize,
    pub(crate) what: What,
}

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The process dies, and the write is lost.
    DiesBefore,
    /// The process dies after the write; only its answer is lost.
    DiesAfter,
    /// The process dies at its first write after the page has written, and that write is lost.
    DiesOnceItHasActed,
    /// A person gives an order before the write.
    Meets(Order, Then),
}

/// The fate of a process whose write meets an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// It does the write, and goes on.
    GoesOn,
    /// It dies, and the write is lost.
    Dies,
    /// It dies, and its write arrives after the story is over.
    ComesLate,
}

impl Then {
    pub(crate) const ALL: [Self; 3] = [Self::GoesOn, Self::Dies, Self::ComesLate];
}

impl Fault {
    pub(crate) fn order(self) -> Option<(Order, Then)> {
        match self.what {
            What::Meets(order, then) => Some((order, then)),
            What::DiesBefore | What::DiesAfter | What::DiesOnceItHasActed => None,
        }
    }

    /// Returns a name that is different for each fault.
    pub(crate) fn name(self) -> String {
        match self.what {
            What::Meets(order, then) => format!("{}-{order:?}-{then:?}", self.at),
            death @ (What::DiesBefore | What::DiesAfter | What::DiesOnceItHasActed) => {
                format!("{}-{death:?}", self.at)
            }
        }
    }
}

/// Counts the writes of a process, and injects a fault at one of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dying {
    fault: Option<Fault>,
    world: World,
    writes: Arc<AtomicUsize>,
    /// Cancelled once the process has reached the write of its fault.
    pub(crate) reached: CancellationToken,
    /// Cancelled once the order has reached a session that was at work.
    pub(crate) struck: CancellationToken,
    /// Cancelled if the order is to fork a session that has no checkpoint yet.
    pub(crate) too_soon: CancellationToken,
    /// Cancelled once the order has been given, so that the process may go on.
    pub(crate) ordered: CancellationToken,
    /// Cancelled once the process is dead.
    pub(crate) died: CancellationToken,
    /// Cancelled once the story is over, so that a late write may arrive.
    pub(crate) over: CancellationToken,
    /// Cancelled once the late write has been done.
    pub(crate) came: CancellationToken,
}

impl Dying {
    pub(crate) fn of(fault: Option<Fault>, world: World) -> Self {
        Self { fault, world, ..Self::default() }
    }

    /// Returns the fault of the write with this number, if there is one. A request that does not count has number 0.
    fn fault_at(&self, at: usize) -> Option<Fault> {
        self.fault.filter(|fault| match fault.what {
            What::DiesOnceItHasActed => at > 0 && !self.world.times("write").is_empty(),
            What::DiesBefore | What::DiesAfter | What::Meets(..) => fault.at == at,
        })
    }

    /// Returns the number of writes so far.
    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    /// Runs the fault in a task of its own, so that it happens even if the run gives up the write: the request may
    /// already be on its way.
    async fn fault(
        &self,
        what: What,
        request: Request,
        store: &Arc<dyn StateStore>,
    ) -> Result<Answer, StoreError> {
        self.reached.cancel();
        let (dying, store) = (self.clone(), Arc::clone(store));
        let struck = tokio::spawn(async move { dying.strike(what, request, store).await });
        if let Some(answer) = struck.await.unwrap() { answer } else { pending().await }
    }

    /// Does what the fault says. Returns `None` if the process is dead.
    async fn strike(
        &self,
        what: What,
        request: Request,
        store: Arc<dyn StateStore>,
    ) -> Option<Result<Answer, StoreError>> {
        match what {
            What::DiesBefore | What::DiesOnceItHasActed => {}
            What::DiesAfter => drop(request.perform(&store).await),
            What::Meets(_, then) => {
                self.ordered.cancelled().await;
                match then {
                    Then::GoesOn => return Some(request.perform(&store).await),
                    Then::Dies => {}
                    Then::ComesLate => {
                        let dying = self.clone();
                        tokio::spawn(async move {
                            dying.over.cancelled().await;
                            drop(request.perform(&store).await);
                            dying.came.cancel();
                        });
                    }
                }
            }
        }
        self.died.cancel();
        None
    }
}

/// Returns true if the request counts as a step of the story. Claims of due sessions, renewals and takings of
/// interrupts do not count, since their number depends on timing alone.
fn counts(request: &Request) -> bool {
    request.writes()
        && !matches!(request, Request::ClaimDue(_) | Request::Renew(..) | Request::TakeInterrupt(_))
}

#[async_trait]
impl Layer for Dying {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let at = if counts(&request) { self.writes.fetch_add(1, Ordering::SeqCst) + 1 } else { 0 };
        if self.died.is_cancelled() {
            return pending().await;
        }
        if let Some(fault) = self.fault_at(at) {
            return self.fault(fault.what, request, &store).await;
        }
        let answer = request.perform(&store).await;
        if self.died.is_cancelled() { pending().await } else { answer }
    }
}
