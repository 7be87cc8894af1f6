//! The server dies or falls silent under load.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use holdover_core::ids::{Fence, MessageSeq};
use holdover_core::payload::Payload;
use holdover_core::store::{
    CommitOutcome, EventCursor, EventPage, MessageRange, Retry, StateStore, StoreErrorKind,
};
use holdover_launcher::Launcher;
use holdover_store_postgres::{PostgresOptions, PostgresStore};
use support::{commit, key, options, running};

/// How often the server is killed, unless `HOLDOVER_SERVER_KILLS` says otherwise.
const KILLS: u64 = 8;
const WRITERS: usize = 4;

/// Commits without end, each until it is answered; counts what was acknowledged and what was left unknown.
async fn write(
    store: PostgresStore,
    fence: Fence,
    done: Arc<AtomicU64>,
    unknown: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
) {
    let mut nth = 1;
    while !stop.load(Ordering::SeqCst) {
        match store.save_state_and_promote_staging(&fence, commit(nth)).await {
            Ok(CommitOutcome::Committed(_)) => {
                done.store(nth, Ordering::SeqCst);
                nth += 1;
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => match error.retry {
                Retry::OutcomeUnknown => drop(unknown.fetch_add(1, Ordering::SeqCst)),
                Retry::Later => {}
                Retry::Never => panic!("{error}"),
            },
        }
    }
}

async fn check(store: &PostgresStore, name: &str, acknowledged: u64) -> u64 {
    let session = store.load_session(&key(name)).await.unwrap().unwrap();
    let commits = session.version.0 - 2;
    assert!(
        commits == acknowledged || commits == acknowledged + 1,
        "{acknowledged} were acknowledged, {commits} are there"
    );
    assert_eq!(session.state, Some(commit(commits).state.unwrap().payload));
    assert_eq!((session.last_message.0, session.last_event.0), (commits, 2 * commits));
    let last = [MessageRange::new(MessageSeq(commits), MessageSeq(commits + 1))];
    let messages = store.read_messages(&key(name), &last).await.unwrap().messages;
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].payload, Payload::new(format!("{{\"message\":{commits}}}")));
    commits
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_the_server_and_nothing_is_half_there() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.postgres(&[]).unwrap();
    let store = PostgresStore::open(options(&server.url()).wait_max(Duration::from_secs(30))).await.unwrap();
    let (stop, unknown) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut writers = Vec::new();
    let mut counts = Vec::new();
    for nth in 0..WRITERS {
        let claim = running(&store, &format!("s{nth}")).await;
        let done = Arc::new(AtomicU64::new(0));
        counts.push(Arc::clone(&done));
        writers.push(tokio::spawn(write(
            store.clone(),
            claim.fence,
            done,
            Arc::clone(&unknown),
            Arc::clone(&stop),
        )));
    }
    let kills = std::env::var("HOLDOVER_SERVER_KILLS").ok().and_then(|kills| kills.parse().ok());
    for _ in 0..kills.unwrap_or(KILLS) {
        // Under load: every writer has gone on since it came back.
        let before: Vec<u64> = counts.iter().map(|count| count.load(Ordering::SeqCst)).collect();
        while counts.iter().zip(&before).any(|(count, before)| count.load(Ordering::SeqCst) < before + 3) {
            tokio::task::yield_now().await;
        }
        tokio::task::block_in_place(|| {
            server.process().kill();
            server.start().unwrap();
        });
    }
    let before: Vec<u64> = counts.iter().map(|count| count.load(Ordering::SeqCst)).collect();
    while counts.iter().zip(&before).any(|(count, before)| count.load(Ordering::SeqCst) < before + 3) {
        tokio::task::yield_now().await;
    }
    stop.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(unknown.load(Ordering::SeqCst) > 0, "a commit was in flight when the server died");
    for (nth, count) in counts.iter().enumerate() {
        let name = format!("s{nth}");
        let commits = check(&store, &name, count.load(Ordering::SeqCst)).await;
        let mut cursor = EventCursor::START;
        let mut events = 0;
        loop {
            let page = store.read_events(&key(&name), &cursor, 200).await.unwrap();
            let EventPage::Events { events: found, next, more, .. } = page else { panic!("{page:?}") };
            events += found.len() as u64;
            cursor = next;
            if !more {
                break;
            }
        }
        assert_eq!(events, 2 * commits);
    }
}

fn schema_of(options: &PostgresOptions) -> String {
    format!("{options:?}").split("schema ").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// Holds every session's row until it commits.
async fn hold_sessions(url: &str, schema: &str) -> sqlx::PgConnection {
    let mut other = <sqlx::PgConnection as sqlx::Connection>::connect(url).await.unwrap();
    let held = sqlx::AssertSqlSafe(format!("BEGIN; SELECT 1 FROM {schema}.session FOR UPDATE"));
    sqlx::raw_sql(held).execute(&mut other).await.unwrap();
    other
}

/// Until a write has reached the server and waits for a row.
async fn until_one_waits(other: &mut sqlx::PgConnection) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut *other).await.unwrap() == 0 {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_falls_silent_leaves_a_write_unknown_and_a_read_for_later() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.postgres(&[]).unwrap();
    let options = options(&server.url()).statement_timeout(Duration::from_secs(2));
    let options = options.wait_max(Duration::from_secs(3));
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let claim = running(&store, "s").await;
    let mut other = hold_sessions(&server.url(), &schema).await;
    let writes = tokio::spawn({
        let (store, fence) = (store.clone(), claim.fence.clone());
        async move { store.save_state_and_promote_staging(&fence, commit(1)).await }
    });
    until_one_waits(&mut other).await;
    server.process().pause();
    let wrote = writes.await.unwrap();
    let read = store.load_session(&key("s")).await;
    server.process().resume();
    sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    let error = wrote.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::OutcomeUnknown), "{error}");
    assert_eq!(error.key.as_deref(), Some(&claim.fence.key));
    let error = read.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
    // The same commit again: applied once, whether or not it was before.
    let again = store.save_state_and_promote_staging(&claim.fence, commit(1)).await.unwrap();
    assert!(matches!(again, CommitOutcome::Committed(receipt) if receipt.version.0 == 3), "{again:?}");
    check(&store, "s", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_without_a_free_connection_answers_later() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    let options = options(&server.url()).connections_max(2).wait_max(Duration::from_millis(300));
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let claim = running(&store, "s").await;
    // Somebody holds the row, so that the only connection waits for it.
    let mut other = hold_sessions(&server.url(), &schema).await;
    let waits = tokio::spawn({
        let (store, fence) = (store.clone(), claim.fence.clone());
        async move { store.save_state_and_promote_staging(&fence, commit(1)).await }
    });
    until_one_waits(&mut other).await;
    let error = store.save_state_and_promote_staging(&claim.fence, commit(2)).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
    sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    assert!(matches!(waits.await.unwrap().unwrap(), CommitOutcome::Committed(_)));
}
