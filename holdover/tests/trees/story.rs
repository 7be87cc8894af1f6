//! One story: a process works on a tree and dies, a person answers, another process goes on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use holdover::prelude::*;
use holdover::session::{
    Message, ResultStatus, RunOutcome, SessionQuery, SessionStatus, SessionSummary, Usage,
};
use holdover::store::{Retry, StateStore};
use holdover_core::store::{Layered, PendingKind, PendingQuery};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::agent::{World, chief};
use crate::dying::{Dying, Fault, What};

/// Whoever died is succeeded soon.
const LEASE: Duration = Duration::from_secs(3);

/// How long the person looks before the next answer.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Story {
    store: Arc<dyn StateStore>,
    root: SessionKey,
    fault: Option<Fault>,
    world: World,
    dying: Dying,
}

/// The state of the world and of the store when a story is over.
pub(crate) struct Told {
    pub(crate) fault: Option<Fault>,
    pub(crate) fired: bool,
    pub(crate) writes: usize,
    pub(crate) usage: Usage,
    root: SessionStatus,
    /// The results of the root, and those of the page.
    results: [Vec<(ResultStatus, String)>; 2],
    /// Every session, by the number of sessions above it in the tree; none for one that is in no tree.
    sessions: Vec<(Option<u32>, SessionSummary)>,
    /// How often the root was told of the end of the runner's heir, by a result or a message.
    told_of_runner: usize,
    owed: usize,
    counted: Vec<usize>,
    written: Vec<usize>,
}

impl Story {
    pub(crate) fn new(store: &Arc<dyn StateStore>, fault: Option<Fault>) -> Self {
        let name = fault.map_or("calm".to_owned(), |Fault { at, what }| format!("{at}-{what:?}"));
        let root = SessionKey::new(TenantId::new(name).unwrap(), SessionId::new("root").unwrap());
        let world = World::default();
        let dying = Dying::of(fault, world.clone());
        Self { store: Arc::clone(store), root, fault, world, dying }
    }

    fn process(&self, store: Arc<dyn StateStore>) -> Runtime {
        let options = RuntimeOptions::default().lease(LEASE).effects_override(Some("memory".into()));
        Runtime::new(store, Agents::new().with(chief(&self.world)), options)
    }

    /// A worker of this tenant, until `stop`.
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
        let (ends, stops, dies) = (self.ends(&person), self.stops(&person), self.dies(first, &stop));
        tokio::join!(stops, dies, async {
            ends.await;
            self.dying.over.cancel();
            if self.fault.is_some_and(|fault| fault.what == What::IsStoppedAndComesLate) && self.fired() {
                self.dying.came.cancelled().await;
                self.rest(&person).await;
            }
            stop.cancel();
        });
        self.look(&person).await
    }

    fn fired(&self) -> bool {
        self.dying.reached.is_cancelled()
    }

    /// Somebody aborts the root when the process is at the write of its fault.
    async fn stops(&self, person: &Runtime) {
        if self.fault.is_some_and(|fault| fault.what.stops())
            && self.before_the_end(&self.dying.reached).await
        {
            patiently(async || person.abort(&self.root, "enough").await).await;
            self.dying.stopped.cancel();
        }
    }

    /// Another process takes over when the first is dead.
    async fn dies(&self, first: JoinHandle<usize>, stop: &CancellationToken) {
        if self.before_the_end(&self.dying.died).await {
            first.abort();
            self.work(Arc::clone(&self.store), stop).await.unwrap();
        }
    }

    /// Whether this happens before all is over.
    async fn before_the_end(&self, token: &CancellationToken) -> bool {
        tokio::select! {
            biased;
            () = token.cancelled() => true,
            () = self.dying.over.cancelled() => false,
        }
    }

    /// A person answers at the root as soon as somebody asks, until the root has ended and all below it rests.
    async fn ends(&self, person: &Runtime) {
        loop {
            let rests = patiently(async || person.wait_at_most(&self.root, LOOK).await).await;
            if let Some(RunOutcome::Ended(_)) = rests {
                return self.rest(person).await;
            }
            for asked in patiently(async || person.pending(&self.root).await).await {
                if asked.answered.is_none() && asked.call.kind == PendingKind::Approval {
                    // It may have been taken in between.
                    let _ = person.approve(&self.root, asked.id(), "ann").await;
                }
            }
        }
    }

    /// Waits until every session has ended: nobody may be left waiting.
    async fn rest(&self, person: &Runtime) {
        let goes_on = |session: &SessionSummary| {
            matches!(session.status, SessionStatus::Active | SessionStatus::Suspended)
                || session.alarm.is_some()
        };
        while let Some(open) = self.sessions(person).await.into_iter().find(goes_on) {
            patiently(async || person.wait_at_most(&open.key, LOOK).await).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn sessions(&self, person: &Runtime) -> Vec<SessionSummary> {
        let all = SessionQuery::all(self.root.tenant.clone());
        patiently(async || person.list(&all).await).await.items
    }

    async fn look(&self, person: &Runtime) -> Told {
        let tree = patiently(async || person.tree(&self.root, true).await).await;
        let depths: BTreeMap<&SessionKey, u32> =
            tree.entries.iter().map(|entry| (&entry.session.key, entry.depth)).collect();
        let sessions = self.sessions(person).await.into_iter();
        let sessions: Vec<_> = sessions.map(|session| (depths.get(&session.key).copied(), session)).collect();
        let page = tree.entries.iter().find(|entry| entry.depth == 2).map(|entry| &entry.session.key);
        let of_page = match page {
            Some(page) => results(person, page).await,
            None => Vec::new(),
        };
        let owed = PendingQuery::all(self.root.tenant.clone());
        Told {
            fault: self.fault,
            fired: self.fired(),
            writes: self.dying.writes(),
            usage: tree.usage,
            root: tree.entries[0].session.status,
            results: [results(person, &self.root).await, of_page],
            sessions,
            told_of_runner: texts(person, &self.root).await.matches("heir did: errand").count(),
            owed: patiently(async || person.list_pending(&owed).await).await.items.len(),
            counted: self.world.times("count"),
            written: self.world.times("write"),
        }
    }
}

impl Told {
    /// Whether nobody can say if the page wrote.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.results[1].first().is_some_and(|(status, _)| *status == ResultStatus::InDoubt)
    }

    fn epoch_of_page(&self) -> u64 {
        let page = self.sessions.iter().find(|(depth, _)| *depth == Some(2));
        page.map(|(_, session)| session.epoch.0).unwrap_or_default()
    }

    /// All is as if nobody had died, but for what a death may do to effects.
    pub(crate) fn check(&self) {
        let fault = &self.fault;
        assert_eq!(self.root, SessionStatus::Idle, "{fault:?}");
        let joined = "[1] done: clerk did: alone\n[2] done: clerk did: with the page";
        let statuses: Vec<ResultStatus> = self.results[0].iter().map(|(status, _)| *status).collect();
        assert_eq!(statuses, [ResultStatus::Done; 3], "{fault:?}: {:?}", self.results[0]);
        assert!(self.results[0][0].1.starts_with("begun in the background: child-"), "{fault:?}");
        assert_eq!(self.results[0][1].1, joined, "{fault:?}");
        assert_eq!(self.told_of_runner, 1, "{fault:?}: the root is told of the heir's end once");
        let mut depths: Vec<_> = self.sessions.iter().map(|(depth, _)| *depth).collect();
        depths.sort_unstable();
        assert_eq!(
            depths,
            [Some(0), Some(1), Some(1), Some(1), Some(1), Some(2)],
            "{fault:?}: no child is there twice"
        );
        assert_eq!(self.counted.len(), 1, "{fault:?}: {:?}", self.counted);
        match self.results[1][..] {
            [(ResultStatus::Done, _)] => assert_eq!(self.written, [1], "{fault:?}"),
            // One run asked, one was answered: a third has taken over.
            [(ResultStatus::InDoubt, _)] => {
                assert!(self.epoch_of_page() >= 3, "{fault:?}: {:?}", self.written);
            }
            ref other => panic!("{fault:?}: the call ended {other:?}"),
        }
        self.check_rest();
    }

    /// The root was stopped: nothing of its tree goes on, and nothing begins.
    pub(crate) fn check_stopped(&self) {
        let fault = &self.fault;
        assert!(matches!(self.root, SessionStatus::Aborted), "{fault:?}: {:?}", self.root);
        for (depth, session) in self.sessions.iter().filter(|(depth, _)| *depth != Some(0)) {
            let ended = match session.status {
                SessionStatus::Aborted => true,
                // Its outcome was told before.
                SessionStatus::Idle => session.epoch.0 > 0,
                SessionStatus::Active
                | SessionStatus::Suspended
                | SessionStatus::Interrupted
                | SessionStatus::Failed => false,
            };
            assert!(ended, "{fault:?}: at depth {depth:?} {session:?}");
        }
        self.check_rest();
    }

    /// Nobody waits, nobody is waited for, and effects came no more often than was promised.
    fn check_rest(&self) {
        let fault = &self.fault;
        assert_eq!(self.owed, 0, "{fault:?}: an answer is owed");
        for (_, session) in &self.sessions {
            // What is said to a session that was aborted is never read.
            let is_read = session.unread == 0 || session.status == SessionStatus::Aborted;
            assert!(session.alarm.is_none() && is_read, "{fault:?}: {session:?}");
        }
        // An idempotent call is sent again by the run that takes over, under the same key.
        let runs = self.sessions.iter().map(|(_, session)| session.epoch.0).max().unwrap_or_default();
        assert!(self.counted.iter().all(|times| *times as u64 <= runs), "{fault:?}: {:?}", self.counted);
        assert!(self.written.iter().sum::<usize>() <= 1, "{fault:?}: {:?}", self.written);
    }
}

/// The results of the calls of a session, in order.
pub(crate) async fn results(person: &Runtime, key: &SessionKey) -> Vec<(ResultStatus, String)> {
    let messages = patiently(async || person.messages(key).await).await.into_iter();
    let results = messages.filter_map(|entry| match entry.message {
        Message::Tool(result) => Some((result.status, result.content)),
        Message::User(_)
        | Message::Assistant(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    });
    results.collect()
}

/// All that a session was told, by people, by results and by ends of children.
async fn texts(person: &Runtime, key: &SessionKey) -> String {
    let messages = patiently(async || person.messages(key).await).await.into_iter();
    let told = messages.filter_map(|entry| match entry.message {
        Message::Tool(result) => Some(result.content),
        Message::User(said) => Some(said.text),
        Message::Assistant(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => None,
    });
    told.collect::<Vec<_>>().join("\n")
}

/// Asks again where the store says that it has too much to do.
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
