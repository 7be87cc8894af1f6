//! A session whose run dies five times in a row without a commit is ended: it is taken for what kills its workers.
//! Whoever kills workers for another reason leaves a session that has died often the time to get on.

use std::time::{Duration, Instant};

use holdover_core::ids::{SessionId, SessionKey, TenantId};
use holdover_core::store::StateStore;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use tokio::runtime::Runtime;

use crate::PATIENCE;
use crate::scene::{ASKERS, SESSIONS, acting, asking};
use crate::support::Fixture;

/// A session that died so often may be taken over once more before the next kill, die by it, and still live.
const DEATHS_MAX: u32 = 2;

/// A look into the store.
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

    /// Returns once no session has died more often since its last commit.
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
