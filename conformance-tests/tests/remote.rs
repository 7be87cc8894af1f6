//! Tests of the suite with a harness whose store and clock look remote. The suite asks it to dispose of every instance,
//! however the case ended, and opens no more peers than it allows.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_conformance_tests::{
    ClockControl, Instance, Report, Status, StoreHarness, StoreInfo, Suite, TestClock, VirtualClock,
};
use holdover_store::time::{Clock, Timestamp};
use holdover_store_memory::{Limits, MemoryStore};

/// The time limit of a case.
const TIME_MAX: Duration = Duration::from_secs(6);

/// The fault that the harness shows during a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    None,
    /// The store panics when it asks for the time.
    Panics,
    /// No peer opens except the first, which the suite uses to probe the harness.
    NoPeer,
    /// Disposing of an instance never returns.
    DisposeHangs,
}

/// The state of the server that all harnesses of a run share: the free namespaces, and counters. `peers` counts the
/// peers of the newest instance. The other counters are never reset.
#[derive(Default)]
struct Server {
    namespaces: Mutex<Vec<usize>>,
    made: AtomicUsize,
    asked: AtomicUsize,
    peers: AtomicUsize,
    peers_most: AtomicUsize,
}

/// The number of the namespace that one instance uses on the server.
struct Namespace(usize);

#[derive(Clone)]
struct Harness {
    server: Arc<Server>,
    clock: VirtualClock,
    trouble: Trouble,
}

/// A clock that is read over a network.
struct Far(VirtualClock);

#[async_trait]
impl TestClock for Far {
    async fn now(&self) -> Timestamp {
        tokio::task::yield_now().await;
        Clock::now(&self.0)
    }

    async fn advance(&self, by: Duration) {
        tokio::task::yield_now().await;
        self.0.advance(by);
    }
}

struct Torn;

impl Clock for Torn {
    fn now(&self) -> Timestamp {
        panic!("the page is torn")
    }
}

impl Harness {
    fn new(trouble: Trouble) -> Self {
        Self { server: Arc::default(), clock: VirtualClock::new(), trouble }
    }

    fn run(self, case: &str) -> Report {
        let suite = Suite::new(move || Self { clock: VirtualClock::new(), ..self.clone() }).jobs(1);
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(suite.filter(case).run())
    }
}

#[async_trait]
impl StoreHarness for Harness {
    type Store = MemoryStore;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("remote", "1")
    }

    async fn fresh(&self) -> Instance<MemoryStore> {
        let free = self.server.namespaces.lock().unwrap().pop();
        let place = free.unwrap_or_else(|| self.server.made.fetch_add(1, Ordering::SeqCst));
        self.server.peers.store(0, Ordering::SeqCst);
        let limits = Limits { payload_bytes_max: 9 << 20, commit_bytes_max: 16 << 20 };
        let store = match self.trouble {
            Trouble::Panics => MemoryStore::with(Torn, limits),
            Trouble::None | Trouble::NoPeer | Trouble::DisposeHangs => {
                MemoryStore::with(self.clock.clone(), limits)
            }
        };
        Instance::guarded(store, Namespace(place))
    }

    async fn peer(&self, of: &Instance<MemoryStore>) -> MemoryStore {
        let asked = self.server.asked.fetch_add(1, Ordering::SeqCst);
        if self.trouble == Trouble::NoPeer && asked > 0 {
            std::future::pending::<()>().await;
        }
        let open = self.server.peers.fetch_add(1, Ordering::SeqCst) + 1;
        self.server.peers_most.fetch_max(open, Ordering::SeqCst);
        MemoryStore::clone(of.store())
    }

    async fn reopen(&self, of: Instance<MemoryStore>) -> Instance<MemoryStore> {
        let (store, place) = of.into_parts::<Namespace>();
        Instance::guarded(MemoryStore::clone(&store), place.unwrap())
    }

    async fn dispose(&self, of: Instance<MemoryStore>) {
        if self.trouble == Trouble::DisposeHangs {
            std::future::pending::<()>().await;
        }
        tokio::task::yield_now().await;
        self.server.namespaces.lock().unwrap().push(of.guard::<Namespace>().unwrap().0);
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(Far(self.clock.clone()))
    }

    fn case_time_max(&self) -> Duration {
        TIME_MAX
    }

    fn peers_max(&self) -> usize {
        3
    }
}

/// Runs the case. Returns its status, the number of namespaces that were made, and the number that are free
/// again.
fn namespaces(trouble: Trouble, case: &str) -> (Status, usize, usize) {
    let harness = Harness::new(trouble);
    let server = Arc::clone(&harness.server);
    let report = harness.run(case);
    assert_eq!(report.cases.len(), 1, "{}", report.console());
    let free = server.namespaces.lock().unwrap().len();
    (report.cases[0].status, server.made.load(Ordering::SeqCst), free)
}

#[test]
fn one_namespace_serves_a_case_with_many_stores() {
    assert_eq!(namespaces(Trouble::None, "prop.regression_scripts"), (Status::Passed, 2, 2));
}

#[test]
fn an_instance_is_disposed_of_also_when_its_case_panics_or_hangs() {
    let failed = (Status::Failed, 1, 1);
    assert_eq!(namespaces(Trouble::Panics, "session.create_then_get_roundtrip"), failed);
    assert_eq!(namespaces(Trouble::NoPeer, "session.concurrent_create_one_winner"), failed);
}

#[test]
fn a_dispose_that_hangs_delays_the_next_case_and_changes_no_verdict() {
    let began = std::time::Instant::now();
    let went = namespaces(Trouble::DisposeHangs, "session.create_then_get_roundtrip");
    assert_eq!(went, (Status::Passed, 2, 0), "that of the probe hangs too");
    assert!(began.elapsed() >= 2 * TIME_MAX, "it was asked to");
}

#[test]
fn tasks_share_the_peers_that_a_harness_can_have() {
    let harness = Harness::new(Trouble::None);
    let server = Arc::clone(&harness.server);
    let report = harness.run("submit.concurrent_same_key_one_row");
    assert_eq!(report.cases[0].status, Status::Passed, "{}", report.console());
    assert_eq!(server.peers_most.load(Ordering::SeqCst), 3);
}
