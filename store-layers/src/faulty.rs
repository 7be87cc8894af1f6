//! A store that fails where a test tells it to.

use std::collections::VecDeque;
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::{Answer, Layer, Layered, Request, Retry, StateStore, StoreError, StoreErrorKind};
use tokio::sync::Notify;

/// A store that fails where its [`Faults`] say so, and is the store itself where they say nothing.
pub type Faulty<S> = Layered<S, Faults>;

/// What happens to a call. Whatever it is, the store behind stays whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The call does not reach the store: unavailable, to be tried again later.
    Refuse,
    /// The call does not reach the store: it fails for good.
    Fail,
    /// The call is applied and its answer is lost: unavailable, the outcome unknown.
    LoseAnswer,
    /// The call does not reach the store, and no answer comes: whoever waits must give up.
    HangBefore,
    /// The call is applied, and no answer comes.
    HangAfter,
    /// The call reaches the store so much later.
    DelayBefore(Duration),
    /// The call is applied, and its answer comes so much later.
    DelayAfter(Duration),
    /// The call is lost on its way, the outcome unknown, and reaches the store when
    /// [`Planned::arrive`] says so, in whatever state that is by then.
    ArriveLate,
    /// The call is applied and answered. Once more it reaches the store when [`Planned::arrive`] says so.
    ArriveTwice,
    /// From this call on nothing that passes this layer reaches the store, as if its process had died before
    /// it sent the call: no call is ever answered.
    DieBefore,
    /// The call is applied. From then on no call is ever answered, this one neither.
    DieAfter,
}

/// The faults of a [`Faulty`] store. A clone is the same plan.
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
    /// So many matching calls pass before the first that is hit.
    pass: u32,
    /// So many are hit.
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

/// A fault that was planned: it tells whether it fired, which every test of a fault must ask.
#[derive(Clone)]
pub struct Planned {
    state: Arc<Mutex<State>>,
    fired: Arc<Notify>,
}

impl Faults {
    /// A store that fails as this plan says.
    pub fn around<S: StateStore>(&self, store: impl Into<Arc<S>>) -> Faulty<S> {
        Layered::new(store, self.clone())
    }

    /// Plans `fault` for calls that `matches`: the first `pass` of them pass, the next `hit` are hit. A call
    /// that several faults wait for is hit by the one that was planned first.
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

    /// Plans `fault` for the next call of `operation`, as the trait calls it.
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

    /// Forgets every fault that has not fired, and brings a dead handle back.
    pub fn clear(&self) {
        *lock(&self.plan) = Plan::default();
    }

    /// What happens to this call; with the rule that says so.
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

    /// How many calls it has hit.
    pub fn fired(&self) -> u32 {
        lock(&self.state).fired
    }

    /// Waits until it has hit a call.
    pub async fn wait(&self) {
        loop {
            let fired = self.fired.notified();
            if self.fired() > 0 {
                return;
            }
            fired.await;
        }
    }

    /// Lets the oldest call that is held back reach `store` now. None if there is none.
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
