//! Keeps sessions below the limit on deaths: a session whose run dies five times in a row without a commit is
//! ended as one that kills its workers. This test kills workers for another reason, so it gives such sessions
//! time to commit first.

use std::time::{Duration, Instant};

use holdover_core::ids::{SessionId, SessionKey, TenantId};
use holdover_core::store::StateStore;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use tokio::runtime::Runtime;

use crate::PATIENCE;
use crate::scene::{ASKERS, SESSIONS, acting, asking};
use crate::support::Fixture;

/// The maximum number of deaths of a session before the next kill. One takeover may be in progress and also die, and
/// the session still stays below the limit of five.
const DEATHS_MAX: u32 = 2;

/// Reads the numbers of deaths from the store.
pub(crate) struct Deaths {
    runtime: Runtime,
    store: SqliteStore,
}

impl Deaths {
    pub(crate) fn of(fixture: &Fixture) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let options = SqliteOptions::new(fixture.path("holdover.db"));
        let store = runtime.block_on(SqliteStore::open(options)).expect("the store opens");
        Self { runtime, store }
    }

    /// Returns once no session has more than `DEATHS_MAX` deaths since its last commit. Panics if that takes
    /// too long.
    pub(crate) fn are_few(&self, report: &str) {
        let began = Instant::now();
        while self.runtime.block_on(self.most()) > DEATHS_MAX {
            assert!(began.elapsed() < PATIENCE, "a session makes no progress:\n{report}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    async fn most(&self) -> u32 {
        let names = (0..SESSIONS).map(acting).chain((0..ASKERS).map(asking));
        let mut most = 0;
        for name in names {
            let key = SessionKey::new(TenantId::new("default").unwrap(), SessionId::new(name).unwrap());
            let session = self.store.load_session(&key).await.expect("it is read").expect("it is there");
            most = most.max(session.attempts);
        }
        most
    }
}
