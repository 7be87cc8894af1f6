//! The server dies or stops answering under load.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use holdover_launcher::Launcher;
use holdover_store::ids::{Fence, MessageSeq};
use holdover_store::payload::Payload;
use holdover_store::{
    CommitOutcome, EventCursor, EventPage, MessageRange, Retry, StateStore, StoreErrorKind,
};
use holdover_store_postgres::{PostgresOptions, PostgresStore};
use support::{Admin, Relay, commit, key, options, running, schema_of};
use tokio::task::JoinSet;

/// The number of times the server is killed, unless `HOLDOVER_SERVER_KILLS` sets another number.
const KILLS: u64 = 8;
const WRITERS: usize = 4;
/// The writer whose answer is held back when the server dies: its commit was applied.
const HELD: usize = 0;
/// The writer whose row is locked when the server dies: its commit was not applied.
const BLOCKED: usize = 1;

/// The observations of one writer.
#[derive(Default)]
struct Seen {
    in_flight: AtomicBool,
    acknowledged: AtomicU64,
    /// The number of commits with an unknown outcome that had been applied.
    applied: AtomicU64,
    /// The number of commits with an unknown outcome that had not been applied.
    not_applied: AtomicU64,
}

impl Seen {
    fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    fn fates(&self) -> (u64, u64) {
        (self.applied.load(Ordering::SeqCst), self.not_applied.load(Ordering::SeqCst))
    }
}

/// Commits until `stop` is set, repeating each commit until it is acknowledged. After an unknown outcome, reads
/// whether the commit was applied.
async fn write(store: PostgresStore, fence: Fence, seen: Arc<Seen>, stop: Arc<AtomicBool>) {
    let mut nth = 1;
    while !stop.load(Ordering::SeqCst) {
        seen.in_flight.store(true, Ordering::SeqCst);
        let saved = store.commit(&fence, commit(nth)).await;
        seen.in_flight.store(false, Ordering::SeqCst);
        match saved {
            Ok(CommitOutcome::Committed(receipt)) => {
                assert_eq!(receipt.version.0, 2 + nth);
                seen.acknowledged.store(nth, Ordering::SeqCst);
                nth += 1;
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => match error.retry {
                Retry::OutcomeUnknown => match version(&store, &fence).await - 2 {
                    commits if commits == nth => drop(seen.applied.fetch_add(1, Ordering::SeqCst)),
                    commits if commits == nth - 1 => drop(seen.not_applied.fetch_add(1, Ordering::SeqCst)),
                    commits => panic!("{commits} commits after number {nth}"),
                },
                Retry::Later => {}
                Retry::Never => panic!("{error}"),
            },
        }
    }
}

async fn version(store: &PostgresStore, fence: &Fence) -> u64 {
    loop {
        match store.load_session(&fence.key).await {
            Ok(session) => return session.unwrap().version.0,
            Err(error) => assert_eq!(error.retry, Retry::Later, "{error}"),
        }
    }
}

/// Asserts that the session holds exactly its commits, each once and in order. Returns their number.
async fn check(store: &PostgresStore, name: &str, acknowledged: u64) -> u64 {
    let session = store.load_session(&key(name)).await.unwrap().unwrap();
    let commits = session.version.0 - 2;
    assert!(
        commits == acknowledged || commits == acknowledged + 1,
        "{acknowledged} were acknowledged, {commits} are there"
    );
    assert_eq!(session.state, Some(commit(commits).state.unwrap().payload));
    assert_eq!((session.last_message.0, session.last_event.0), (commits, 2 * commits));
    let mut messages = Vec::new();
    let mut rest = vec![MessageRange::new(MessageSeq(1), MessageSeq(commits + 1))];
    while !rest.is_empty() {
        let page = store.read_messages(&key(name), &rest).await.unwrap();
        messages.extend(page.messages.into_iter().map(|message| (message.seq.0, message.payload)));
        rest = page.rest;
    }
    let message = |nth: u64| (nth, Payload::new(format!("{{\"message\":{nth}}}")));
    assert_eq!(messages, (1..=commits).map(message).collect::<Vec<_>>());
    let (mut cursor, mut events) = (EventCursor::START, Vec::new());
    loop {
        let page = store.read_events(&key(name), &cursor, 200).await.unwrap();
        let EventPage::Events { events: found, next, more, .. } = page else { panic!("{page:?}") };
        events.extend(found.into_iter().map(|event| event.payload));
        cursor = next;
        if !more {
            break;
        }
    }
    assert_eq!(events, (1..=commits).flat_map(|nth| commit(nth).events).collect::<Vec<_>>());
    commits
}

/// Returns once every writer has made three more commits.
async fn all_go_on(seen: &[Arc<Seen>]) {
    let before: Vec<u64> = seen.iter().map(|seen| seen.acknowledged()).collect();
    while seen.iter().zip(&before).any(|(seen, before)| seen.acknowledged() < before + 3) {
        tokio::task::yield_now().await;
    }
}

/// Returns once a commit is applied whose answer the relay holds back.
async fn until_held(admin: &mut Admin, relay: &Relay, schema: &str, seen: &Seen) {
    loop {
        relay.hold();
        while !relay.holds() {
            tokio::task::yield_now().await;
        }
        let version = format!("SELECT version FROM {schema}.session WHERE id = 's{HELD}'");
        if admin.number(&version).await == 3 + seen.acknowledged() as i64 {
            return;
        }
        // The relay held the answer to another request. A new connection starts with requests of its own, so
        // it must first be ready.
        let before = seen.acknowledged();
        relay.lose();
        while seen.acknowledged() == before {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_the_server_and_nothing_is_half_there() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.postgres(&[]).unwrap();
    let relay = Relay::to(server.port(), true).await;
    let direct =
        options(&server.url()).operation_timeout(Duration::from_secs(30)).wait_max(Duration::from_secs(30));
    let schema = schema_of(&direct);
    let held = PostgresOptions::from_url(&relay.url()).unwrap().schema(&schema).unwrap();
    let store = PostgresStore::open(direct.clone()).await.unwrap();
    let held = PostgresStore::open(
        held.operation_timeout(Duration::from_secs(30)).wait_max(Duration::from_secs(30)),
    )
    .await
    .unwrap();
    let blocked = PostgresStore::open(direct.application("blocked")).await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let seen: Vec<Arc<Seen>> = (0..WRITERS).map(|_| Arc::default()).collect();
    let mut writers = JoinSet::new();
    for (nth, seen) in seen.iter().enumerate() {
        let claim = running(&store, &format!("s{nth}")).await;
        let by = match nth {
            HELD => &held,
            BLOCKED => &blocked,
            _ => &store,
        };
        writers.spawn(write(by.clone(), claim.fence, Arc::clone(seen), Arc::clone(&stop)));
    }
    let kills = std::env::var("HOLDOVER_SERVER_KILLS").ok().and_then(|kills| kills.parse().ok());
    let killing = async {
        for kill in 1..=kills.unwrap_or(KILLS) {
            all_go_on(&seen).await;
            let (mut admin, mut holder) = (Admin::at(&server.url()).await, Admin::at(&server.url()).await);
            let row = format!("SELECT FROM {schema}.session WHERE id = 's{BLOCKED}' FOR UPDATE");
            holder.run(&format!("BEGIN; {row}")).await;
            admin.until_waiting("blocked", 1).await;
            until_held(&mut admin, &relay, &schema, &seen[HELD]).await;
            let (applied, not_applied) = (seen[HELD].fates(), seen[BLOCKED].fates());
            let in_flight = seen.iter().filter(|seen| seen.in_flight.load(Ordering::SeqCst)).count();
            assert!(in_flight >= 2, "kill {kill}: {in_flight} commits in flight");
            tokio::task::block_in_place(|| server.process().kill());
            relay.lose();
            tokio::task::block_in_place(|| server.start().unwrap());
            all_go_on(&seen).await;
            assert_eq!(seen[HELD].fates(), (applied.0 + 1, applied.1), "kill {kill}: applied, not answered");
            assert_eq!(seen[BLOCKED].fates(), (not_applied.0, not_applied.1 + 1), "kill {kill}: not applied");
        }
    };
    tokio::select! {
        () = killing => {}
        ended = writers.join_next() => panic!("a writer gave up: {ended:?}"),
    }
    stop.store(true, Ordering::SeqCst);
    while let Some(ended) = writers.join_next().await {
        ended.unwrap();
    }
    for (nth, seen) in seen.iter().enumerate() {
        check(&store, &format!("s{nth}"), seen.acknowledged()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_falls_silent_leaves_a_write_unknown_and_a_read_for_later() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.postgres(&[]).unwrap();
    let options = options(&server.url()).statement_timeout(Duration::from_secs(3)).application("writes");
    let schema = schema_of(&options);
    let store = PostgresStore::open(options.wait_max(Duration::from_secs(3))).await.unwrap();
    let claim = running(&store, "s").await;
    // The write has reached the server, which then stops answering.
    let (mut admin, mut holder) = (Admin::at(&server.url()).await, Admin::at(&server.url()).await);
    holder.run(&format!("BEGIN; SELECT FROM {schema}.session FOR UPDATE")).await;
    let writes = tokio::spawn({
        let (store, fence) = (store.clone(), claim.fence.clone());
        async move { store.commit(&fence, commit(1)).await }
    });
    admin.until_waiting("writes", 1).await;
    server.process().pause();
    let wrote = writes.await.unwrap();
    let read = store.load_session(&key("s")).await;
    server.process().resume();
    holder.run("ROLLBACK").await;
    let error = wrote.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::OutcomeUnknown), "{error}");
    assert_eq!(error.key.as_deref(), Some(&claim.fence.key));
    let error = read.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
    // The same commit again is applied once, whether or not the first attempt was applied.
    let again = store.commit(&claim.fence, commit(1)).await.unwrap();
    assert!(matches!(again, CommitOutcome::Committed(receipt) if receipt.version.0 == 3), "{again:?}");
    check(&store, "s", 1).await;
}

/// If the server dies during a commit, the commit may be on disk, whatever the error code says.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_the_server_dies_over_is_unknown() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    let relay = Relay::to(server.port(), true).await;
    // Without change hints, the server can die only during the commit itself.
    let silent = options(&relay.url()).change_hints(false);
    let store = PostgresStore::open(silent).await.unwrap();
    let claim = running(&store, "s").await;
    assert!(matches!(store.commit(&claim.fence, commit(1)).await.unwrap(), CommitOutcome::Committed(_)));
    for (nth, code) in [(2, "58030"), (3, "53100"), (4, "XX000")] {
        relay.panic_next(code);
        let error = store.commit(&claim.fence, commit(nth)).await.unwrap_err();
        let found = (error.kind, error.retry);
        assert_eq!(found, (StoreErrorKind::Unavailable, Retry::OutcomeUnknown), "{error}");
        let again = store.commit(&claim.fence, commit(nth)).await.unwrap();
        assert!(
            matches!(again, CommitOutcome::Committed(receipt) if receipt.version.0 == nth + 2),
            "{again:?}"
        );
    }
    check(&store, "s", 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_without_a_free_connection_answers_later() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    let options = options(&server.url()).connections_max(2).wait_max(Duration::from_millis(300));
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let (claim, beside) = (running(&store, "s").await, running(&store, "beside").await);
    // Another connection locks the rows, so the store's only connection waits for one of them.
    let mut other = <sqlx::PgConnection as sqlx::Connection>::connect(&server.url()).await.unwrap();
    let held = sqlx::AssertSqlSafe(format!("BEGIN; SELECT 1 FROM {schema}.session FOR UPDATE"));
    sqlx::raw_sql(held).execute(&mut other).await.unwrap();
    let waits = tokio::spawn({
        let (store, fence) = (store.clone(), claim.fence.clone());
        async move { store.commit(&fence, commit(1)).await }
    });
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut other).await.unwrap() == 0 {}
    let error = store.commit(&beside.fence, commit(1)).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
    assert!(error.to_string().contains("no connection was free"), "{error}");
    sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    assert!(matches!(waits.await.unwrap().unwrap(), CommitOutcome::Committed(_)));
}
