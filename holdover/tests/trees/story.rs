//! One story: a process works on a tree and meets its fault, a person answers, and another process goes on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use holdover::prelude::*;
use holdover::runtime::Timestamp;
use holdover::session::{ChildPlace, RunOutcome, Session, SessionQuery, SessionStatus, SessionSummary};
use holdover::store::{Retry, StateStore};

use holdover_core::store::{Layered, PendingKind, PendingQuery};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::agent::{World, chief};
use crate::dying::{Dying, Fault, Then};
use crate::orders::Order;
use crate::told::{Seen, Told};

/// A short lease, so that a dead process is soon replaced.
const LEASE: Duration = Duration::from_secs(3);

/// The time for which the person waits for an outcome before answering questions again.
const LOOK: Duration = Duration::from_secs(1);

/// An alarm later than this is the hourly look of a session at its successor, and does not count as work.
const LOOKS_AGAIN: Duration = Duration::from_secs(30);

pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Story {
    store: Arc<dyn StateStore>,
    pub(crate) root: SessionKey,
    pub(crate) fault: Option<Fault>,
    world: World,
    pub(crate) dying: Dying,
}

impl Story {
    pub(crate) fn new(store: &Arc<dyn StateStore>, fault: Option<Fault>) -> Self {
        let name = fault.map_or("calm".to_owned(), Fault::name);
        let root = SessionKey::new(TenantId::new(name).unwrap(), SessionId::new("root").unwrap());
        let world = World::default();
        let dying = Dying::of(fault, world.clone());
        Self { store: Arc::clone(store), root, fault, world, dying }
    }

    fn process(&self, store: Arc<dyn StateStore>) -> Runtime {
        let options = RuntimeOptions::default().lease(LEASE).effects_override(Some("memory".into()));
        Runtime::new(store, Agents::new().with(chief(&self.world)), options)
    }

    /// Starts a worker for this story's tenant, which runs until `stop` is cancelled.
    fn work(&self, store: Arc<dyn StateStore>, stop: &CancellationToken) -> JoinHandle<usize> {
        let options = WorkerOptions::default().tenant(Some(self.root.tenant.clone()));
        let poll = options.poll(Duration::from_millis(200));
        Worker::new(self.process(store), poll).spawn(stop.clone())
    }

    pub(crate) async fn tell(self) -> Told {
        if let Ok(told) = timeout(PATIENCE, self.told()).await {
            return told;
        }
        let left = self.sessions(&self.process(Arc::clone(&self.store))).await;
        let owed = self.store.list_pending(&PendingQuery::all(self.root.tenant.clone())).await;
        panic!("{:?}: no end: {:?}; {left:#?}; {owed:#?}", self.fault, self.dying)
    }

    async fn told(&self) -> Told {
        let person = self.process(Arc::clone(&self.store));
        let request = Execute::new(self.root.tenant.clone(), chief(&self.world), "go");
        let request = request.in_session(self.root.id.clone());
        patiently(async || person.start(request.clone()).await).await;

        let stop = CancellationToken::new();
        let mortal: Layered<Arc<dyn StateStore>, Dying> =
            Layered::new(Arc::clone(&self.store), self.dying.clone());
        let first = self.work(Arc::new(mortal), &stop);
        let (ends, orders, dies) = (self.ends(&person), self.orders(&person), self.dies(first, &stop));
        let ends = async {
            ends.await;
            self.dying.over.cancel();
            let comes_late = self.order().is_some_and(|(_, then)| then == Then::ComesLate);
            if comes_late && self.dying.reached.is_cancelled() {
                self.dying.came.cancelled().await;
            }
        };
        let all = async {
            tokio::join!(orders, ends);
            // An order may stop a session that already rests. A worker then carries that out.
            self.rest(&person).await;
            stop.cancel();
        };
        tokio::join!(dies, all);
        self.look(&person).await
    }

    pub(crate) fn order(&self) -> Option<(Order, Then)> {
        self.fault.and_then(Fault::order)
    }

    /// Returns true if the death has happened, or if the order has reached a session at work.
    fn fired(&self) -> bool {
        if self.order().is_some() { &self.dying.struck } else { &self.dying.reached }.is_cancelled()
    }

    /// Replaces the first process by another when the first is dead.
    async fn dies(&self, first: JoinHandle<usize>, stop: &CancellationToken) {
        if self.before_the_end(&self.dying.died).await {
            first.abort();
            self.work(Arc::clone(&self.store), stop).await.unwrap();
        }
    }

    /// Waits until the token is cancelled or the story is over. Returns true if the token is cancelled.
    pub(crate) async fn before_the_end(&self, token: &CancellationToken) -> bool {
        tokio::select! {
            biased;
            () = token.cancelled() => true,
            () = self.dying.over.cancelled() => false,
        }
    }

    /// Answers approvals at the root as they are asked for, until the root has ended and every session rests.
    async fn ends(&self, person: &Runtime) {
        loop {
            let rests = patiently(async || if_there(person.wait_at_most(&self.root, LOOK).await)).await;
            match rests {
                Some(Some(RunOutcome::Ended(ending))) if ending.status() == SessionStatus::Interrupted => {
                    self.resumes(person).await;
                }
                None | Some(Some(RunOutcome::Ended(_))) => return self.rest(person).await,
                Some(_) => {}
            }
            let asks = patiently(async || if_there(person.pending(&self.root).await)).await;
            for asked in asks.into_iter().flatten() {
                if asked.answered.is_none() && asked.call.kind == PendingKind::Approval {
                    // The call may have ended in between.
                    let _ = person.approve(&self.root, asked.id(), "ann").await;
                }
            }
        }
    }

    /// Waits until every session has ended; none may be left waiting.
    async fn rest(&self, person: &Runtime) {
        while let Some(open) = self
            .sessions(person)
            .await
            .into_iter()
            .find(|open| goes_on(open.status, open.alarm, person.now()))
        {
            patiently(async || if_there(person.wait_at_most(&open.key, LOOK).await)).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn sessions(&self, person: &Runtime) -> Vec<SessionSummary> {
        let all = SessionQuery::all(self.root.tenant.clone());
        patiently(async || person.list(&all).await).await.items
    }

    async fn look(&self, person: &Runtime) -> Told {
        let tree = patiently(async || if_there(person.tree(&self.root, true).await)).await;
        let (entries, usage) = tree.map(|tree| (tree.entries, tree.usage)).unwrap_or_default();
        let mut seen = Vec::new();
        for entry in entries {
            seen.push(self.see(person, Some((entry.depth, entry.place)), entry.session).await);
        }
        let in_tree: BTreeSet<SessionKey> = seen.iter().map(|seen| seen.session.key.clone()).collect();
        for SessionSummary { key, .. } in self.sessions(person).await {
            if !in_tree.contains(&key) {
                let session = patiently(async || person.session(&key).await).await.unwrap();
                seen.push(self.see(person, None, session).await);
            }
        }
        let owed = PendingQuery::all(self.root.tenant.clone());
        Told {
            fault: self.fault,
            fired: self.fired(),
            too_soon: self.dying.too_soon.is_cancelled(),
            writes: self.dying.writes(),
            usage,
            seen,
            owed: patiently(async || person.list_pending(&owed).await).await.items.len(),
            counted: self.world.times("count"),
        }
    }

    async fn see(
        &self,
        person: &Runtime,
        place: Option<(u32, Option<ChildPlace>)>,
        session: Session,
    ) -> Seen {
        let messages = patiently(async || person.messages(&session.key).await).await;
        let messages = messages.into_iter().map(|entry| entry.message).collect();
        let written = self.world.times_in("write", &session.key);
        let (depth, place) = place.unzip();
        Seen { depth, call: place.flatten().map(|place| place.call), session, messages, written }
    }
}

/// Returns true if a session runs, waits or is due soon. The hourly look of a session at its successor does not count.
pub(crate) fn goes_on(status: SessionStatus, alarm: Option<Timestamp>, now: Timestamp) -> bool {
    matches!(status, SessionStatus::Active | SessionStatus::Suspended)
        || alarm.is_some_and(|at| at < now.after(LOOKS_AGAIN))
}

/// Returns `None` if the session does not exist any more.
pub(crate) fn if_there<T>(said: Result<T, RuntimeError>) -> Result<Option<T>, RuntimeError> {
    match said {
        Err(RuntimeError::NotFound { .. }) => Ok(None),
        said => said.map(Some),
    }
}

/// Repeats a request as long as the store says to retry it later.
pub(crate) async fn patiently<T>(ask: impl AsyncFn() -> Result<T, RuntimeError>) -> T {
    loop {
        match ask().await {
            Ok(said) => return said,
            Err(RuntimeError::Store(error)) if error.retry == Retry::Later => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}
