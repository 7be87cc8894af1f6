//! A store that fails while a run waits for it: observers are told at once, repeatedly while it lasts, and when it is
//! over.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdover_core::ids::TenantId;
use holdover_core::store::{SessionQuery, StateStore, StoreErrorKind};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::{
    Agents, BREAKER_TENANT, RunObserver, Runtime, RuntimeError, RuntimeOptions, StoreOutage,
};
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use tokio::time::Instant;

use crate::bench::{agent, completes, options, say, store};
use crate::script::{Say, Script, results};
use crate::stub_store::{Stumbling, stumbling};
use crate::tools::Fake;

/// An observer that records each report: `true` while the outage lasts, `false` when it is over.
#[derive(Default)]
struct Told(Mutex<Vec<(bool, StoreOutage)>>);

impl RunObserver for Told {
    fn on_store_outage(&self, outage: &StoreOutage) {
        self.0.lock().unwrap().push((true, outage.clone()));
    }

    fn on_store_outage_over(&self, outage: &StoreOutage) {
        self.0.lock().unwrap().push((false, outage.clone()));
    }
}

/// Runs a session whose one call takes `call_takes` on a failing store; returns the reports to its observer.
async fn told(store: &Stumbling, call_takes: Duration) -> Vec<(bool, StoreOutage)> {
    let model = Script::new(|request| match results(request).len() {
        0 => Say::Calls(vec![("work", "{}")]),
        _ => Say::Text("done"),
    });
    let work = Fake::new("work", move |_| async move {
        tokio::time::sleep(call_takes).await;
        Ok(ToolOutput::text("worked").into())
    });
    let agent = Arc::new(agent(&model).tool(work).build().unwrap());
    let told = Arc::new(Told::default());
    let observer = Some(Arc::clone(&told) as Arc<dyn RunObserver>);
    let agents = Agents::new().with(Arc::clone(&agent));
    let runtime = Runtime::new(Arc::new(store.clone()), Arc::new(agents), options().observer(observer));
    completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert!(store.layer().fired() > 0, "the store failed");
    let told = std::mem::take(&mut *told.0.lock().unwrap());
    assert!(told.iter().all(|(_, outage)| outage.since == told[0].1.since), "one outage: {told:?}");
    told
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_is_waited_for_is_told_at_once_then_now_and_then() {
    let store = stumbling(store());
    store.layer().commits_to_refuse.store(100, Ordering::SeqCst);
    let told = told(&store, Duration::ZERO).await;
    assert_eq!(store.layer().fired(), 100);
    let seconds: Vec<(bool, u64)> =
        told.iter().map(|(lasts, outage)| (*lasts, outage.lasts.as_secs() / 10 * 10)).collect();
    assert_eq!(seconds, [(true, 0), (true, 30), (true, 60), (true, 90), (false, 90)]);
    assert_eq!(told[0].1.lasts, Duration::ZERO, "at once");
    for (_, outage) in &told {
        assert_eq!(outage.kind, StoreErrorKind::Unavailable);
        for words in ["commit", "a test says so"] {
            assert!(outage.error.contains(words), "{words} in {outage:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_cannot_be_renewed_is_told() {
    let store = stumbling(store());
    let until = Instant::now() + Duration::from_secs(25);
    *store.layer().no_renewals_until.lock().unwrap() = Some(until);
    let told = told(&store, Duration::from_secs(40)).await;
    let lasts: Vec<bool> = told.iter().map(|(lasts, _)| *lasts).collect();
    assert_eq!(lasts, [true, false], "{told:?}");
    assert!(told[0].1.error.contains("renew_lease"), "{told:?}");
}

#[tokio::test]
async fn a_store_that_takes_no_writes_is_known_from_one_that_does() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(SqliteOptions::new(folder.path().join("store.db"))).await.unwrap();
    let on = |store: &SqliteStore| Runtime::new(store.clone(), Agents::new(), RuntimeOptions::default());
    on(&store).check_writes().await.unwrap();
    on(&store).check_writes().await.unwrap();
    let left = async || {
        let tenant = TenantId::new(BREAKER_TENANT).unwrap();
        store.list_sessions(&SessionQuery::all(tenant)).await.unwrap().items.len()
    };
    assert_eq!(left().await, 0, "what was written is removed");

    // The check also removes a record that an earlier check left when it failed before the removal.
    let faults = holdover_store_layers::Faults::default();
    let died = faults.nth("delete_session", 2, holdover_store_layers::Fault::Fail);
    let failing = Runtime::new(faults.around(store.clone()), Agents::new(), RuntimeOptions::default());
    failing.check_writes().await.unwrap_err();
    assert_eq!((died.fired(), left().await), (1, 1));
    on(&store).check_writes().await.unwrap();
    assert_eq!(left().await, 0, "whoever looks next removes it");
    store.close().await;

    let small = folder.path().join("small.db");
    SqliteStore::open(SqliteOptions::new(&small)).await.unwrap().close().await;
    let bytes = std::fs::metadata(&small).unwrap().len() + 16 * 1024;
    let full = SqliteStore::open(SqliteOptions::new(&small).file_bytes_max(bytes)).await.unwrap();
    let refused = on(&full).check_writes().await.unwrap_err();
    assert!(
        matches!(&refused, RuntimeError::Store(error) if error.kind == StoreErrorKind::Full),
        "{refused}"
    );
    full.close().await;
}
