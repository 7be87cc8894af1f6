//! Four connections to a Postgres server are enough for a worker that runs as many sessions at once as it may by
//! default.
//!
//! Requirements: U13.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use holdover::model::{Script, ScriptedModel};
use holdover::prelude::*;
use holdover::session::OutcomeKind;
use holdover_launcher::Launcher;
use holdover_store_postgres::{PostgresOptions, PostgresStore};
use sqlx::{Connection, PgConnection};
use tokio::sync::Barrier;

const SESSIONS: usize = 16;
const CONNECTIONS: u32 = 4;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

const SCRIPT: &str = r#"
[[turns]]
when = { user_contains = "go", nth = 1 }
calls = [{ tool = "meet", arguments = {} }]

[[turns]]
when = { result_of = "meet" }
say = "We met."
"#;

/// Returns an agent whose tool returns only once sixteen of its calls are running.
fn meeting() -> Arc<Agent> {
    let all = Arc::new(Barrier::new(SESSIONS));
    let meet = FunctionTool::new(ToolName::new("meet").unwrap(), "Meets", move |_: Nothing, _| {
        let all = Arc::clone(&all);
        async move {
            all.wait().await;
            Ok(ToolOutput::text("met"))
        }
    });
    let model = ScriptedModel::new("meeting", Script::from_toml(SCRIPT).unwrap());
    Arc::new(Agent::builder("guest").model(model).tool(meet).build().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u13_sixteen_sessions_at_once_need_no_more_than_four_connections() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    let options = PostgresOptions::from_url(&server.url()).unwrap();
    let options = options.connections_max(CONNECTIONS).application("four");
    let store = Arc::new(PostgresStore::open(options).await.unwrap());
    let agent = meeting();
    let runtime = Runtime::new(store, Agents::new().with(Arc::clone(&agent)), RuntimeOptions::default());

    // Meanwhile, the server's count of connections is polled.
    let (most, over) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicBool::new(false)));
    let counting = tokio::spawn({
        let (most, over, url) = (Arc::clone(&most), Arc::clone(&over), server.url());
        async move {
            let mut admin = PgConnection::connect(&url).await.unwrap();
            while !over.load(Ordering::SeqCst) {
                let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'four'";
                let open: i64 = sqlx::query_scalar(count).fetch_one(&mut admin).await.unwrap();
                most.fetch_max(open, Ordering::SeqCst);
            }
        }
    });
    let stop = CancellationToken::new();
    let worker = Worker::new(runtime.clone(), WorkerOptions::default()).spawn(stop.clone());
    let starts = (0..SESSIONS)
        .map(|_| runtime.start(Execute::new(TenantId::new("acme").unwrap(), Arc::clone(&agent), "go")));
    let started = futures::future::join_all(starts).await;
    // All waits use the same handle of the store.
    let waits = started.iter().map(|started| runtime.wait(&started.as_ref().unwrap().key));
    for outcome in futures::future::join_all(waits).await {
        assert_eq!(outcome.unwrap().kind(), OutcomeKind::Completed);
    }
    over.store(true, Ordering::SeqCst);
    counting.await.unwrap();
    stop.cancel();
    assert_eq!(worker.await.unwrap(), 0);
    let most = most.load(Ordering::SeqCst);
    assert!((2..=i64::from(CONNECTIONS)).contains(&most), "{most} connections");
}
