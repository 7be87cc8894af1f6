//! A layer that makes chosen calls of a store fail, for tests.

use std::collections::VecDeque;
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::{Answer, Layer, Layered, Request, Retry, StateStore, StoreError, StoreErrorKind};
use tokio::sync::Notify;

/// A store that fails in the calls for which its [`Faults`] plan a fault. All other calls reach the store
/// unchanged.
pub type Faulty<S> = Layered<S, Faults>;

/// A fault of one call. The data of the wrapped store stays consistent in every case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The call does not reach the store. The error is `Unavailable`, with the retry `Later`.
    Refuse,
    /// The call does not reach the store. The error is `Backend`, with the retry `Never`.
    Fail,
    /// The call reaches the store, and its answer is lost. The error is `Unavailable`, with the retry
    /// `OutcomeUnknown`.
    LoseAnswer,
    /// The call does not reach the store, and its future never completes. The caller must give up.
    HangBefore,
    /// The call reaches the store, and its future never completes.
    HangAfter,
    /// The call reaches the store after this delay.
    DelayBefore(Duration),
    /// The call reaches the store at once, and its answer comes after this delay.
    DelayAfter(Duration),
    /// The call is held back and fails with `Unavailable` and the retry `OutcomeUnknown`. It reaches the
    /// store when the test calls [`Planned::arrive`].
    ArriveLate,
    /// The call reaches the store and is answered. It reaches the store a second time when the test calls
    /// [`Planned::arrive`].
    ArriveTwice,
    /// This call and every later call through this layer until `Faults::clear` neither reach the store nor are
    /// answered. This simulates a process that died before it sent the call.
    DieBefore,
    /// The call reaches the store. It is not answered. Every later call until `Faults::clear` neither reaches the store
    /// nor is answered.
    DieAfter,
}

/// The faults of a [`Faulty`] store. Clones share one plan.
#[derive(Clone, Default)]
pub struct Faults {
    plan: Arc<Mutex<Plan>>,
}

#[derive(Default)]
struct Plan {
    rules: Vec<Rule>,
    dead: bool,
}

struct Rule {
    matches: Box<dyn Fn(&Request) -> bool + Send + Sync>,
    /// The number of matching calls that the fault still spares before it hits one.
    pass: u32,
    /// The number of calls that the fault still hits.
    hit: u32,
    fault: Fault,
    state: Arc<Mutex<State>>,
    fired: Arc<Notify>,
}

#[derive(Default)]
struct State {
    fired: u32,
    held: VecDeque<Request>,
}

/// A handle on a planned fault. It counts the calls that the fault has hit; a test should check that count.
#[derive(Clone)]
pub struct Planned {
    state: Arc<Mutex<State>>,
    fired: Arc<Notify>,
}

impl Faults {
    /// Wraps `store` so that the faults of this plan hit its calls.
    pub fn around<S: StateStore>(&self, store: impl Into<Arc<S>>) -> Faulty<S> {
        Layered::new(store, self.clone())
    }

    /// Plans `fault` for calls for which `matches` returns true. The fault spares the first `pass` of these calls, and
    /// hits the next `hit` calls. If several faults could hit a call, the fault that was planned first hits it.
    pub fn plan(
        &self,
        matches: impl Fn(&Request) -> bool + Send + Sync + 'static,
        pass: u32,
        hit: u32,
        fault: Fault,
    ) -> Planned {
        let planned = Planned { state: Arc::default(), fired: Arc::default() };
        let (state, fired) = (Arc::clone(&planned.state), Arc::clone(&planned.fired));
        lock(&self.plan).rules.push(Rule { matches: Box::new(matches), pass, hit, fault, state, fired });
        planned
    }

    /// Plans `fault` for the next call of `operation`, the name of a method of [`StateStore`].
    pub fn next(&self, operation: &'static str, fault: Fault) -> Planned {
        self.nth(operation, 1, fault)
    }

    /// Plans `fault` for the `nth` call of `operation` from now on, counted from 1.
    pub fn nth(&self, operation: &'static str, nth: u32, fault: Fault) -> Planned {
        self.plan(move |request| request.operation() == operation, nth.saturating_sub(1), 1, fault)
    }

    /// Plans `fault` for every call of `operation` until [`clear`](Self::clear).
    pub fn every(&self, operation: &'static str, fault: Fault) -> Planned {
        self.plan(move |request| request.operation() == operation, 0, u32::MAX, fault)
    }

    /// Removes every planned fault, and revives the layer after a fault that simulated a death. Calls that
    /// were held back can still arrive.
    pub fn clear(&self) {
        *lock(&self.plan) = Plan::default();
    }

    /// Returns the fault that hits this call, if any, and its handle.
    fn hit(&self, request: &Request) -> Option<(Fault, Planned)> {
        let mut plan = lock(&self.plan);
        if plan.dead {
            return Some((Fault::HangBefore, Planned::nobody()));
        }
        let mut hit = None;
        for rule in &mut plan.rules {
            if !(rule.matches)(request) {
                continue;
            }
            if rule.pass > 0 {
                rule.pass -= 1;
            } else if rule.hit > 0 && hit.is_none() {
                rule.hit -= 1;
                hit = Some((
                    rule.fault,
                    Planned { state: Arc::clone(&rule.state), fired: Arc::clone(&rule.fired) },
                ));
            }
        }
        let (fault, planned) = hit?;
        plan.dead = matches!(fault, Fault::DieBefore | Fault::DieAfter);
        drop(plan);
        Some((fault, planned))
    }
}

impl Planned {
    fn nobody() -> Self {
        Self { state: Arc::default(), fired: Arc::default() }
    }

    /// Returns the number of calls that the fault has hit.
    pub fn fired(&self) -> u32 {
        lock(&self.state).fired
    }

    /// Waits until the fault has hit at least one call.
    pub async fn wait(&self) {
        loop {
            let fired = self.fired.notified();
            if self.fired() > 0 {
                return;
            }
            fired.await;
        }
    }

    /// Sends the oldest held-back call to `store` and returns its answer. Returns none if no call is held
    /// back.
    pub async fn arrive(&self, store: &Arc<dyn StateStore>) -> Option<Result<Answer, StoreError>> {
        let request = lock(&self.state).held.pop_front()?;
        Some(request.perform(store).await)
    }

    fn fire(&self) {
        lock(&self.state).fired += 1;
        self.fired.notify_waiters();
    }

    fn hold(&self, request: Request) {
        lock(&self.state).held.push_back(request);
    }
}

#[async_trait]
impl Layer for Faults {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let Some((fault, planned)) = self.hit(&request) else { return request.perform(&store).await };
        let (operation, key) = (request.operation(), request.key().cloned());
        let error = |kind, retry, detail: &str| {
            let error = StoreError::new(kind, operation, detail).retry(retry);
            StoreError { key: key.clone().map(Box::new), ..error }
        };
        let unknown = |detail| error(StoreErrorKind::Unavailable, Retry::OutcomeUnknown, detail);
        match fault {
            Fault::Refuse => {
                planned.fire();
                Err(error(StoreErrorKind::Unavailable, Retry::Later, "refused by a planned fault"))
            }
            Fault::Fail => {
                planned.fire();
                Err(error(StoreErrorKind::Backend, Retry::Never, "failed by a planned fault"))
            }
            Fault::LoseAnswer => {
                let answer = request.perform(&store).await;
                planned.fire();
                drop(answer);
                Err(unknown("the answer was lost by a planned fault"))
            }
            Fault::HangBefore | Fault::DieBefore => {
                planned.fire();
                pending().await
            }
            Fault::HangAfter | Fault::DieAfter => {
                let answer = request.perform(&store).await;
                planned.fire();
                drop(answer);
                pending().await
            }
            Fault::DelayBefore(by) => {
                planned.fire();
                tokio::time::sleep(by).await;
                request.perform(&store).await
            }
            Fault::DelayAfter(by) => {
                let answer = request.perform(&store).await;
                planned.fire();
                tokio::time::sleep(by).await;
                answer
            }
            Fault::ArriveLate => {
                planned.hold(request);
                planned.fire();
                Err(unknown("the call was lost on its way by a planned fault"))
            }
            Fault::ArriveTwice => {
                planned.hold(request.clone());
                let answer = request.perform(&store).await;
                planned.fire();
                answer
            }
        }
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = lock(&self.plan);
        let waiting = plan.rules.iter().filter(|rule| rule.hit > 0).map(|rule| rule.fault);
        f.debug_struct("Faults")
            .field("dead", &plan.dead)
            .field("waiting", &waiting.collect::<Vec<_>>())
            .finish()
    }
}

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned").field("fired", &self.fired()).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
