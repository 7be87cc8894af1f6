//! A store whose process meets a fault at one of its writes: it dies there, or somebody gives an order there.

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
    /// The write, from 1. Without a meaning if the kind says itself when.
    pub(crate) at: usize,
    pub(crate) what: What,
}

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The process dies, and the write is lost.
    DiesBefore,
    /// The process dies, and only the answer is lost.
    DiesAfter,
    /// The process dies at its first write after the page has written, and that write is lost.
    DiesOnceItHasActed,
    /// Somebody gives an order before the write.
    Meets(Order, Then),
}

/// How a process goes on that is at a write when somebody gives an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// It writes, and goes on.
    GoesOn,
    /// It dies, and the write is lost.
    Dies,
    /// It dies, and its write comes when all is over.
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

    /// A name of its own for each.
    pub(crate) fn name(self) -> String {
        match self.what {
            What::Meets(order, then) => format!("{}-{order:?}-{then:?}", self.at),
            death @ (What::DiesBefore | What::DiesAfter | What::DiesOnceItHasActed) => {
                format!("{}-{death:?}", self.at)
            }
        }
    }
}

/// Counts the writes of a process, and has a fault at one of them. Each token is cancelled when that has happened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dying {
    fault: Option<Fault>,
    world: World,
    writes: Arc<AtomicUsize>,
    /// The process is at the write of its fault.
    pub(crate) reached: CancellationToken,
    /// The order has reached somebody who was at work.
    pub(crate) struck: CancellationToken,
    /// The process may go on.
    pub(crate) ordered: CancellationToken,
    /// The process is dead.
    pub(crate) died: CancellationToken,
    /// All is over, so that a late write may come.
    pub(crate) over: CancellationToken,
    /// The late write has come.
    pub(crate) came: CancellationToken,
}

impl Dying {
    pub(crate) fn of(fault: Option<Fault>, world: World) -> Self {
        Self { fault, world, ..Self::default() }
    }

    /// The fault of this write, if it is the one.
    fn fault_at(&self, at: usize) -> Option<Fault> {
        self.fault.filter(|fault| match fault.what {
            What::DiesOnceItHasActed => at > 0 && !self.world.times("write").is_empty(),
            What::DiesBefore | What::DiesAfter | What::Meets(..) => fault.at == at,
        })
    }

    /// The number of writes so far.
    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    /// The fault happens also where the run gives its write up meanwhile: a request may be on its way by then.
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

    /// None: the process is dead.
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

/// Whether a request is a step of the story. Claims of due sessions and renewals are not, because their number depends on
/// timing alone.
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
