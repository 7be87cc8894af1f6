//! Orders that a person gives while a tree works: to stop, abort, delete or fork the root; to stop, abort or delete one
//! of its clerks; or to purge all sessions at rest.

use std::time::Duration;

use holdover::prelude::*;
use holdover::runtime::RunHandle;
use holdover::session::{Deletion, Fork, Forked, InterruptOutcome, Retention};
use holdover::store::Retry;

use crate::dying::Then;
use crate::story::{Story, patiently};

/// An order to the root, or to the clerk that has a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// End the turn of the root, which is then asked to go on.
    StopRoot,
    /// Abort the root.
    AbortRoot,
    /// Delete the root.
    DeleteRoot,
    /// Fork the root, and leave the fork at rest.
    ForkRoot,
    /// Purge all sessions at rest.
    Purge,
    /// End the turn of the clerk.
    StopClerk,
    /// Abort the clerk.
    AbortClerk,
    /// Delete the clerk.
    DeleteClerk,
}

impl Order {
    fn is_to_root(self) -> bool {
        matches!(self, Self::StopRoot | Self::AbortRoot | Self::DeleteRoot | Self::ForkRoot | Self::Purge)
    }
}

/// The interval at which a request or a check is repeated.
const AGAIN: Duration = Duration::from_millis(20);

impl Story {
    /// Gives the order when the process has reached the write of its fault. If the target does not exist yet, no order
    /// is given, and the process still goes on or dies.
    pub(crate) async fn orders(&self, person: &Runtime) {
        let Some((order, then)) = self.fault.and_then(|fault| fault.order()) else { return };
        if !self.before_the_end(&self.dying.reached).await {
            return;
        }
        let to = if order.is_to_root() { Some(self.root.clone()) } else { self.clerk(person).await };
        if let Some(to) = to {
            let is_at_work = match order {
                Order::StopRoot | Order::StopClerk => {
                    let asked = patiently(async || person.interrupt(&to, "enough").await).await;
                    matches!(asked, InterruptOutcome::Requested)
                }
                Order::AbortRoot | Order::AbortClerk => {
                    let asked = patiently(async || person.abort(&to, "enough").await).await;
                    matches!(asked, InterruptOutcome::Requested)
                }
                Order::DeleteRoot | Order::DeleteClerk => {
                    self.deletes(person, &to, then).await;
                    true
                }
                Order::ForkRoot => {
                    let forked = patiently(async || forked(person.fork(&to, Fork::newest()).await)).await;
                    if !forked {
                        self.dying.too_soon.cancel();
                    }
                    forked
                }
                Order::Purge => {
                    let all = Retention::sessions(Duration::ZERO).of_tenant(to.tenant.clone());
                    patiently(async || person.purge(&all).await).await;
                    true
                }
            };
            if is_at_work {
                self.dying.struck.cancel();
            }
        }
        self.dying.ordered.cancel();
    }

    /// Returns the clerk that has the page, if it exists.
    async fn clerk(&self, person: &Runtime) -> Option<SessionKey> {
        let tree = patiently(async || person.tree(&self.root, true).await).await;
        let clerk = tree
            .entries
            .into_iter()
            .find(|entry| entry.depth == 1 && entry.place.as_ref().is_some_and(|place| place.index == 1));
        clerk.map(|clerk| clerk.session.key)
    }

    /// Deletes a session. A process that will go on stays at its write until the session is interrupted. A process that
    /// will die does so first, and the deletion waits until no run holds the session.
    async fn deletes(&self, person: &Runtime, key: &SessionKey, then: Then) {
        let told = async {
            while let Some(session) = patiently(async || person.session(key).await).await
                && session.interrupt.is_none()
            {
                tokio::time::sleep(AGAIN).await;
            }
            self.dying.ordered.cancel();
        };
        let deletion = match then {
            Then::GoesOn => Deletion::FORCE,
            Then::Dies | Then::ComesLate => {
                self.dying.ordered.cancel();
                Deletion::UNLESS_ACTIVE
            }
        };
        let deleted = async {
            loop {
                match person.delete(key, deletion).await {
                    Ok(()) | Err(RuntimeError::NotFound { .. }) => return,
                    Err(RuntimeError::Running { .. }) => {}
                    Err(RuntimeError::Store(error)) if error.retry == Retry::Later => {}
                    Err(error) => panic!("{error}"),
                }
                tokio::time::sleep(AGAIN).await;
            }
        };
        tokio::join!(told, deleted);
    }

    /// Asks a root whose turn was stopped to go on, in this process or in another one. The root may already have begun
    /// a turn, because the runner has ended.
    pub(crate) async fn resumes(&self, person: &Runtime) {
        let Some(fault) = self.fault else { return };
        let asked = if fault.at % 2 == 0 {
            person.requeue(&self.root).await.map(drop)
        } else {
            person.resume(&self.root).await.map(RunHandle::detach)
        };
        match asked {
            Ok(())
            | Err(
                RuntimeError::NotResumable { .. }
                | RuntimeError::Held { .. }
                | RuntimeError::Contended { .. },
            ) => {}
            Err(RuntimeError::Store(error)) if error.retry == Retry::Later => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns false if the session had no checkpoint to fork from yet.
fn forked(forked: Result<Forked, RuntimeError>) -> Result<bool, RuntimeError> {
    match forked {
        Err(RuntimeError::NoCheckpoint { .. }) => Ok(false),
        forked => forked.map(|_| true),
    }
}
