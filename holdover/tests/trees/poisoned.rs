//! A page that kills every process that runs it, until the page is given up. In most of the stories, one more process
//! dies: when it gives the page up, when it tells the clerk, or at the next such write.
//!
//! Requirements: C48, C52, INV-30.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use holdover::pending::LetterCause;
use holdover::prelude::*;
use holdover::session::{
    Labels, PageRequest, ResultStatus, SessionQuery, SessionStatus, SessionSummary, Tree, TreeEntry,
};
use holdover::store::{StateStore, StoreError};
use holdover_core::store::{Answer, Layer, Layered, Request};
use tokio::time::timeout;

use crate::agent::{World, chief};
use crate::story::{PATIENCE, goes_on, patiently};
use crate::told::results;

/// A short lease, so that a dead process is soon replaced.
const LEASE: Duration = Duration::from_secs(2);

/// The interval at which the test checks whether sessions have ended.
const LOOK: Duration = Duration::from_millis(200);

/// The number of processes that die before a session is given up.
const DEATHS: usize = 5;

/// Counts the writes about the page in all processes: commits of the page's runs, and deliveries to the clerk.
#[derive(Debug, Default)]
struct Writes {
    page: Mutex<Option<[SessionKey; 2]>>,
    count: AtomicUsize,
}

impl Writes {
    /// Returns true if the request is one of these writes.
    fn has(&self, request: &Request) -> bool {
        let mut page = self.page.lock().unwrap();
        if let Request::Create(new) = request
            && new.labels.0.get(Labels::AGENT).is_some_and(|agent| agent == "chief>clerk>page")
        {
            let clerk = SessionId::new(&new.labels.0[Labels::PARENT]).unwrap();
            *page = Some([new.key.clone(), SessionKey::new(new.key.tenant.clone(), clerk)]);
        }
        let Some([page, clerk]) = page.as_ref() else { return false };
        let commits = matches!(request, Request::Commit(..)) && request.key() == Some(page);
        let tells = matches!(request, Request::Deliver(..)) && request.key() == Some(clerk);
        commits || tells
    }

    /// Counts a write, and returns its number, from 1.
    fn next(&self) -> usize {
        self.count.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Waits until only the page is active. A session that died together with the page each time would be given up too.
    async fn others_have_parked(&self, store: &Arc<dyn StateStore>) {
        let [page, _] = self.page.lock().unwrap().clone().unwrap();
        let all = SessionQuery::all(page.tenant.clone());
        let is_at_work =
            |session: &SessionSummary| session.key != page && session.status == SessionStatus::Active;
        while store.list_sessions(&all).await.is_ok_and(|sessions| sessions.items.iter().any(is_at_work)) {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// A store layer. A process dies at each of the first `DEATHS` writes about the page, and at the write with the number
/// `later`.
#[derive(Debug, Clone)]
struct Deadly {
    writes: Arc<Writes>,
    later: usize,
    /// Cancelled once the process has reached the write at which it dies. It does no other write about the page.
    struck: CancellationToken,
    /// Cancelled once the process is dead.
    died: CancellationToken,
}

impl Deadly {
    /// Returns true if the process does not survive this request. A separate task ends the process, because the run may
    /// give up the write: it loses its lease while the other sessions park.
    fn is_deadly(&self, request: &Request, store: &Arc<dyn StateStore>) -> bool {
        if !self.writes.has(request) {
            return false;
        }
        if self.struck.is_cancelled() {
            return true;
        }
        let at = self.writes.next();
        let is_deadly = at <= DEATHS || at == self.later;
        if is_deadly {
            self.struck.cancel();
            let (deadly, store) = (self.clone(), Arc::clone(store));
            tokio::spawn(async move {
                deadly.writes.others_have_parked(&store).await;
                deadly.died.cancel();
            });
        }
        is_deadly
    }
}

#[async_trait]
impl Layer for Deadly {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if self.is_deadly(&request, &store) || self.died.is_cancelled() {
            return pending().await;
        }
        let answer = request.perform(&store).await;
        if self.died.is_cancelled() { pending().await } else { answer }
    }
}

/// Runs four stories. In three of them one more process dies: when the page is given up, when the clerk is told, or at
/// the write after that.
pub(crate) async fn tell(store: &Arc<dyn StateStore>) {
    join_all((DEATHS..=DEATHS + 3).map(|later| story(store, later))).await;
}

async fn story(store: &Arc<dyn StateStore>, later: usize) {
    let world = World::default();
    let process = |store: Arc<dyn StateStore>| {
        let options = RuntimeOptions::default().lease(LEASE).effects_override(Some("memory".into()));
        Runtime::new(store, Agents::new().with(chief(&world)), options)
    };
    let person = process(Arc::clone(store));
    let tenant = TenantId::new(format!("poisoned-{later}")).unwrap();
    let request = Execute::new(tenant.clone(), chief(&world), "go");
    let root = patiently(async || person.start(request.clone()).await).await.key;

    let (writes, mut deaths) = (Arc::<Writes>::default(), 0);
    let ended = async {
        loop {
            let writes = Arc::clone(&writes);
            let (struck, died) = (CancellationToken::new(), CancellationToken::new());
            let deadly = Deadly { writes, later, struck, died };
            let mortal: Layered<Arc<dyn StateStore>, Deadly> =
                Layered::new(Arc::clone(store), deadly.clone());
            let options = WorkerOptions::default().tenant(Some(tenant.clone()));
            let worker = Worker::new(process(Arc::new(mortal)), options.poll(Duration::from_millis(200)));
            let worker = worker.spawn(CancellationToken::new());
            let ended = tokio::select! {
                () = deadly.died.cancelled() => None,
                tree = rests(&person, &root) => Some(tree),
            };
            worker.abort();
            match ended {
                None => deaths += 1,
                Some(tree) => return tree,
            }
        }
    };
    let tree = timeout(PATIENCE, ended).await.unwrap();
    assert_eq!(tree.entries[0].session.status, SessionStatus::Idle, "{later}");
    assert_eq!(deaths, DEATHS + usize::from(later > DEATHS), "{later}: each death happened");

    let page = tree.entries.iter().find(|entry| entry.depth == 2).unwrap();
    assert_eq!(page.session.status, SessionStatus::Failed, "{later}");
    assert_eq!(world.times("write").len(), 0, "{later}");
    // The child leaves its letter, wherever the processes die.
    let letters = patiently(async || person.dead_letters(&tenant, PageRequest::default()).await).await.items;
    let [letter] = &letters[..] else { panic!("{later}: {letters:?}") };
    assert_eq!((letter.key(), letter.letter.cause), (&page.session.key, LetterCause::Poisoned), "{later}");
    let clerk = SessionKey::new(tenant, page.place.as_ref().unwrap().parent.clone());
    let messages = patiently(async || person.messages(&clerk).await).await;
    let messages: Vec<_> = messages.into_iter().map(|entry| entry.message).collect();
    let [(status, told)] = &results(&messages)[..] else { panic!("{later}: {messages:?}") };
    assert_eq!(*status, ResultStatus::Error, "{later}");
    assert!(told.starts_with("engine.poisoned: "), "{later}: {told}");
}

/// Waits until every session of the tree has ended, and returns the tree.
async fn rests(person: &Runtime, root: &SessionKey) -> Tree {
    loop {
        let tree = patiently(async || person.tree(root, true).await).await;
        let goes_on =
            |TreeEntry { session, .. }: &TreeEntry| goes_on(session.status, session.alarm, person.now());
        if !tree.entries.iter().any(goes_on) {
            return tree;
        }
        tokio::time::sleep(LOOK).await;
    }
}
