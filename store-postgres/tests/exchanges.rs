//! The number of exchanges with the server in each step, and the plans that the server uses.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::time::Duration;

use holdover_launcher::Launcher;
use holdover_store::ids::{MessageSeq, StateFormat};
use holdover_store::payload::Payload;
use holdover_store::{
    ClaimDue, Commit, CommitOutcome, InboxItem, ItemKind, MessageRange, NewMessage, NewSession, OutcomeKind,
    Queues, Release, RunEnd, SessionQuery, SessionStatus, StageOutcome, StagedResult, Staging, Start,
    StateStore, Wake, Watch,
};
use holdover_store_postgres::PostgresStore;
use support::{Admin, Relay, commit, id, key, new_session, options, running, schema_of, unique};

/// The number of times each counted operation is performed.
const TIMES: u64 = 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_and_a_staging_of_a_claimed_run_are_one_exchange_and_one_statement_each() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[("shared_preload_libraries", "pg_stat_statements")]).unwrap();
    let mut admin = Admin::at(&server.url()).await;
    admin.run("CREATE EXTENSION pg_stat_statements").await;
    let relay = Relay::to(server.port(), true).await;
    // One connection, so that everything is prepared once. No notifications, which are exchanges of their
    // own.
    let alone = options(&relay.url()).change_hints(false);
    let session = format!("'{}.session'::regclass", schema_of(&alone));
    let store = PostgresStore::open(alone).await.unwrap();
    let evaluated = format!(
        "SELECT ((SELECT count(*) FROM pg_constraint WHERE contype = 'c' AND conrelid = {session}) \
         + (SELECT count(*) FROM pg_attribute WHERE attgenerated <> '' AND attrelid = {session}))::text"
    );
    assert_eq!(
        admin.text(&evaluated).await,
        "0",
        "the server reads the text of each anew for every statement"
    );
    let claim = running(&store, "s").await;
    let stage = |nth: u64| Staging {
        results: vec![StagedResult { call: id(&format!("call-{nth}")), payload: Payload::new("{}") }],
        starts: Vec::new(),
    };
    let promoting =
        |nth: u64| Commit { messages: vec![NewMessage::Promote(id(&format!("call-{nth}")))], ..commit(nth) };
    for nth in 1..=2 {
        assert!(matches!(
            store.stage_result(&claim.fence, stage(nth)).await.unwrap(),
            StageOutcome::Staged(_)
        ));
        let saved = store.commit(&claim.fence, promoting(nth)).await.unwrap();
        assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    }
    admin.run("SELECT pg_stat_statements_reset()").await;
    let before = relay.exchanges();
    for nth in 3..3 + TIMES {
        assert!(matches!(
            store.stage_result(&claim.fence, stage(nth)).await.unwrap(),
            StageOutcome::Staged(_)
        ));
    }
    assert_eq!(relay.exchanges() - before, TIMES, "a staging is one exchange");
    let before = relay.exchanges();
    for nth in 3..3 + TIMES {
        let saved = store.commit(&claim.fence, promoting(nth)).await.unwrap();
        assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    }
    assert_eq!(relay.exchanges() - before, TIMES, "a commit is one exchange");
    let own = "FROM pg_stat_statements WHERE query LIKE '%own\\_%'";
    assert_eq!(admin.number(&format!("SELECT sum(calls)::bigint {own}")).await as u64, 2 * TIMES);
    assert_eq!(admin.number(&format!("SELECT count(*) {own}")).await, 2, "one text for each");
    store.close().await;
}

/// A notification holds a lock of the whole server until its transaction is on disk.
#[tokio::test(flavor = "multi_thread")]
async fn the_steps_of_a_run_notify_nobody_in_their_own_transactions_and_news_does() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[("shared_preload_libraries", "pg_stat_statements")]).unwrap();
    let mut admin = Admin::at(&server.url()).await;
    admin.run("CREATE EXTENSION pg_stat_statements").await;
    let options = options(&server.url());
    let store = PostgresStore::open(options.clone()).await.unwrap();
    let other = PostgresStore::open(options).await.unwrap();
    let claim = running(&store, "s").await;
    // Once the first wait returns, the store listens.
    let watch = Watch::Session(key("s"));
    other.wait_for_change(watch.clone(), Duration::from_secs(60)).await.unwrap();
    admin.run("SELECT pg_stat_statements_reset()").await;
    let heard = tokio::spawn(async move {
        let began = std::time::Instant::now();
        other.wait_for_change(watch, Duration::from_secs(60)).await.unwrap();
        began.elapsed()
    });
    let writes = "FROM pg_stat_statements WHERE query LIKE '%UPDATE%session%'";
    let mut nth = 0;
    while !heard.is_finished() {
        nth += 1;
        let saved = store.commit(&claim.fence, commit(nth)).await.unwrap();
        assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    }
    assert!(heard.await.unwrap() < Duration::from_secs(60), "it was told");
    let notifies = format!("SELECT count(*) {writes} AND query LIKE '%pg_notify%'");
    assert_eq!(admin.number(&notifies).await, 0);
    assert!(admin.number(&format!("SELECT count(*) {writes}")).await > 0);
    let wake = ItemKind::Message { wake: Wake::Now };
    let item =
        InboxItem { key: id("message"), kind: wake, incarnation: None, payload: Payload::new("hello") };
    assert!(store.deliver(&key("s"), item).await.unwrap().is_in());
    assert_eq!(admin.number(&notifies).await, 1);
    // The end of a turn also notifies in its own transaction, because the process may end right after it.
    let ends = RunEnd { outcome: OutcomeKind::SuspendedClientTool, detail: Payload::new("waits") };
    let release = Release::To { status: SessionStatus::Suspended, deadline: None, wake_on: 0 };
    let parks = Commit { run: Some(ends), release: Some(release), ..commit(nth + 1) };
    let saved = store.commit(&claim.fence, parks).await.unwrap();
    assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    assert_eq!(admin.number(&notifies).await, 2);
    store.close().await;
}

/// The number of other sessions.
const MANY: i64 = 10_000;

/// Every statement uses indexes, even though the server planned it while its tables were empty.
#[tokio::test(flavor = "multi_thread")]
async fn with_many_sessions_beside_every_statement_goes_along_indexes() {
    let launcher = Launcher::new().unwrap();
    let log = [
        ("shared_preload_libraries", "auto_explain"),
        ("auto_explain.log_min_duration", "0"),
        ("auto_explain.log_nested_statements", "off"),
    ];
    let server = launcher.postgres(&log).unwrap();
    let mut admin = Admin::at(&server.url()).await;
    let options = options(&server.url()).application("planned").connections_max(2);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let claim = running(&store, "s").await;
    let work = async |nth: u64| {
        let staged = StagedResult { call: id(&format!("call-{nth}")), payload: Payload::new("{}") };
        let staging = Staging { results: vec![staged], starts: vec![id("started")] };
        assert!(matches!(store.stage_result(&claim.fence, staging).await.unwrap(), StageOutcome::Staged(_)));
        let promote = NewMessage::Promote(id(&format!("call-{nth}")));
        let saved =
            store.commit(&claim.fence, Commit { messages: vec![promote], ..commit(nth) }).await.unwrap();
        assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
        let item = InboxItem {
            key: id(&format!("item-{nth}")),
            kind: ItemKind::Message { wake: Wake::Now },
            incarnation: None,
            payload: Payload::new("{}"),
        };
        store.deliver(&key("s"), item).await.unwrap();
        store.load_session(&key("s")).await.unwrap();
        let range = MessageRange::new(MessageSeq(1), MessageSeq(10));
        store.read_messages(&key("s"), &[range]).await.unwrap();
        store.list_sessions(&SessionQuery::all(key("s").tenant)).await.unwrap();
        let due = NewSession {
            start: Start::At(holdover_store::time::Timestamp::EPOCH),
            ..new_session(&format!("due-{nth}"))
        };
        store.create_session(due).await.unwrap();
        let due = ClaimDue {
            runs: vec![id(&format!("run-{}", unique()))],
            worker: id("worker"),
            lease: Duration::from_secs(600),
            queues: Queues::Named(vec![id("queue")]),
            newest_format: StateFormat(1),
            tenant: None,
        };
        assert_eq!(store.claim_due(due.clone()).await.unwrap().len(), 1);
        assert!(store.claim_due(ClaimDue { queues: Queues::All, ..due }).await.unwrap().is_empty());
    };
    work(1).await;
    let sids = "FROM generate_series(1000001, 1000000 + ";
    let beside = format!(
        "INSERT INTO {schema}.session (sid, tenant, id, incarnation, created_by, queue, created_at, status, version, epoch, \
             format, found, updated_at, token, alarm) OVERRIDING SYSTEM VALUE \
         SELECT n, 'acme', 'beside-' || n, decode(repeat('07', 16), 'hex'), 'create', 'queue', n, 'idle', 1, 0, 1, 'idle', n, n, \
             32503680000000 {sids}{MANY}) n; \
         INSERT INTO {schema}.definition SELECT n, sha256('{{}}'), '{{}}' {sids}{MANY}) n; \
         INSERT INTO {schema}.state SELECT n, sha256('{{}}'), '{{}}' {sids}{MANY}) n; \
         INSERT INTO {schema}.message SELECT n, m, 0, sha256('{{}}'), '{{}}' {sids}{MANY}) n, generate_series(1, 3) m; \
         INSERT INTO {schema}.event SELECT n, 1, 0, sha256('{{}}'), '{{}}' {sids}{MANY}) n; \
         INSERT INTO {schema}.run SELECT n, 1, 'r', 'w', 'idle', NULL, 0 {sids}{MANY}) n; \
         INSERT INTO {schema}.item SELECT n, 1, 'k', sha256(''), 'message', 'now', NULL, false, 0 {sids}{MANY}) n; \
         INSERT INTO {schema}.staged SELECT n, 'c', sha256('{{}}'), '{{}}' {sids}{MANY}) n"
    );
    admin.run(&beside).await;
    let log_file = server.log();
    let seen = std::fs::read_to_string(&log_file).unwrap().len();
    work(2).await;
    admin.run(&format!("ANALYZE {schema}.session; ANALYZE {schema}.message; ANALYZE {schema}.item")).await;
    work(3).await;
    let log = std::fs::read_to_string(&log_file).unwrap();
    let plans: Vec<&str> =
        log[seen..].split("Query Text: ").skip(1).filter(|plan| plan.contains(&schema)).collect();
    let own = plans.iter().filter(|plan| plan.contains("WITH ") && !plan.contains("generate_series"));
    let mut count = 0;
    for plan in own {
        count += 1;
        for (table, way) in ["session", "message", "event", "item", "state", "staged", "run", "definition"]
            .iter()
            .flat_map(|table| [(table, format!("Seq Scan on {table} "))])
        {
            assert!(!plan.contains(&way), "{table} is read as a whole: {plan}");
        }
    }
    assert!(count >= 16, "{count} plans were seen");
    store.close().await;
}
