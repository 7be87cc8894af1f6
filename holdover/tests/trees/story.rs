//! One story: a process works on a tree and dies, a person answers, another process goes on.

use std::sync::Arc;
use std::time::Duration;

use holdover::prelude::*;
use holdover::session::{Message, OutcomeKind, ResultStatus, RunOutcome, SessionQuery, SessionStatus, Usage};
use holdover::store::{Retry, StateStore};
use holdover_core::store::Layered;
use tokio::time::timeout;

use crate::agent::{World, chief};
use crate::dying::{Death, Dying};

/// Whoever died is succeeded soon.
const LEASE: Duration = Duration::from_secs(2);

const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Story {
    store: Arc<dyn StateStore>,
    root: SessionKey,
    death: Option<Death>,
    world: World,
}

/// What is left when a story is over.
pub(crate) struct Told {
    death: Option<Death>,
    pub(crate) died: bool,
    pub(crate) writes: usize,
    pub(crate) usage: Usage,
    outcome: RunOutcome,
    results: Vec<(ResultStatus, String)>,
    below: Vec<SessionStatus>,
    sessions: usize,
    counted: Vec<usize>,
    written: Vec<usize>,
    write_ended: ResultStatus,
}

impl Story {
    pub(crate) fn new(store: &Arc<dyn StateStore>, name: &str, death: Option<Death>) -> Self {
        let root = SessionKey::new(TenantId::new(name).unwrap(), SessionId::new("root").unwrap());
        Self { store: Arc::clone(store), root, death, world: World::default() }
    }

    fn process(&self, store: Arc<dyn StateStore>) -> Runtime {
        let options = RuntimeOptions::default().lease(LEASE).effects_override(Some("memory".into()));
        Runtime::new(store, Agents::new().with(chief(&self.world)), options)
    }

    /// A worker of this tenant.
    fn work(&self, store: Arc<dyn StateStore>, stop: &CancellationToken) -> tokio::task::JoinHandle<usize> {
        let options = WorkerOptions::default().tenant(Some(self.root.tenant.clone()));
        let poll = options.poll(Duration::from_millis(200));
        Worker::new(self.process(store), poll).spawn(stop.clone())
    }

    pub(crate) async fn tell(self) -> Told {
        timeout(PATIENCE, self.told()).await.unwrap_or_else(|_| panic!("{:?}: no end", self.death))
    }

    async fn told(&self) -> Told {
        let person = self.process(Arc::clone(&self.store));
        let request = Execute::new(self.root.tenant.clone(), chief(&self.world), "go");
        let request = request.in_session(self.root.id.clone());
        patiently(async || person.start(request.clone()).await).await;

        let dying = Dying::of(self.death);
        let stop = CancellationToken::new();
        let mortal: Layered<Arc<dyn StateStore>, Dying> =
            Layered::new(Arc::clone(&self.store), dying.clone());
        let first = self.work(Arc::new(mortal), &stop);
        let ends = self.answered(&person);
        tokio::pin!(ends);
        let mut second = None;
        let outcome = tokio::select! {
            outcome = &mut ends => outcome,
            () = dying.dies() => {
                // Its tasks end with it.
                first.abort();
                second = Some(self.work(Arc::clone(&self.store), &stop));
                ends.await
            }
        };
        // It may have died at the last writes, when the root had been told.
        if dying.has_died() && second.is_none() {
            second = Some(self.work(Arc::clone(&self.store), &stop));
        }
        for entry in patiently(async || person.tree(&self.root, true).await).await.entries {
            patiently(async || person.wait_at_most(&entry.session.key, PATIENCE).await).await;
        }
        stop.cancel();
        drop(second);
        self.look(&person, &dying, outcome).await
    }

    /// A person, who answers at the root as soon as somebody asks, and waits for the end.
    async fn answered(&self, person: &Runtime) -> RunOutcome {
        loop {
            let rests =
                patiently(async || person.wait_at_most(&self.root, Duration::from_secs(1)).await).await;
            match rests {
                Some(outcome @ RunOutcome::Ended(_)) => return outcome,
                Some(_) | None => {}
            }
            for asked in patiently(async || person.pending(&self.root).await).await {
                if asked.call.key != self.root
                    && asked.answered.is_none()
                    && asked.body.tool.as_str() == "write"
                {
                    // It may have been taken in between.
                    let _ = person.approve(&self.root, asked.id(), "ann").await;
                }
            }
        }
    }

    async fn look(&self, person: &Runtime, dying: &Dying, outcome: RunOutcome) -> Told {
        let tree = patiently(async || person.tree(&self.root, true).await).await;
        let all = SessionQuery::all(self.root.tenant.clone());
        let page = tree
            .entries
            .iter()
            .find(|entry| entry.depth == 2)
            .unwrap_or_else(|| panic!("{:?}: no page, {outcome:?}", self.death));
        let of_page = results(person, &page.session.key).await;
        Told {
            death: self.death,
            died: dying.has_died(),
            writes: dying.writes(),
            usage: tree.usage,
            outcome,
            results: results(person, &self.root).await,
            below: tree.entries.iter().skip(1).map(|entry| entry.session.status).collect(),
            sessions: patiently(async || person.list(&all).await).await.items.len(),
            counted: self.world.times("count"),
            written: self.world.times("write"),
            write_ended: of_page[0].0,
        }
    }
}

impl Told {
    /// Whether nobody can say if the page wrote.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.write_ended == ResultStatus::InDoubt
    }

    /// All is as if nobody had died, but for what a death may do to effects.
    pub(crate) fn check(&self) {
        let death = &self.death;
        assert_eq!(self.outcome.kind(), OutcomeKind::Completed, "{death:?}");
        let joined = "[1] done: clerk did: alone\n[2] done: clerk did: with the page";
        assert_eq!(self.results, [(ResultStatus::Done, joined.to_owned())], "{death:?}");
        assert_eq!(self.below, [SessionStatus::Idle; 3], "{death:?}");
        assert_eq!(self.sessions, 4, "{death:?}: no child is there twice");
        // An idempotent call is sent again after a death, under the same key.
        let again = usize::from(self.died);
        assert!(
            matches!(self.counted[..], [times] if times >= 1 && times <= 1 + again),
            "{death:?}: {:?}",
            self.counted
        );
        match self.write_ended {
            ResultStatus::Done => assert_eq!(self.written, [1], "{death:?}"),
            ResultStatus::InDoubt => {
                assert!(self.died && self.written.iter().sum::<usize>() <= 1, "{death:?}: {:?}", self.written)
            }
            other => panic!("{death:?}: the call ended {other:?}"),
        }
    }
}

async fn results(person: &Runtime, key: &SessionKey) -> Vec<(ResultStatus, String)> {
    let messages = patiently(async || person.messages(key).await).await.into_iter();
    let results = messages.filter_map(|entry| match entry.message {
        Message::Tool(result) => Some((result.status, result.content)),
        _ => None,
    });
    results.collect()
}

/// Asks again where the store says that it has too much to do.
async fn patiently<T>(ask: impl AsyncFn() -> Result<T, RuntimeError>) -> T {
    loop {
        match ask().await {
            Ok(said) => return said,
            Err(RuntimeError::Store(error)) if error.retry == Retry::Later => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}
