//! Large sessions, and large numbers of sessions.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use holdover_launcher::shared;
use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::{
    CheckpointQuery, DeleteOutcome, Deletion, ForkOutcome, Labels, NewFork, NewSession, NewState,
    PageRequest, PendingKind, PendingQuery, Remove, RetentionRule, SessionQuery, SessionStatus, Start,
    StateStore, StoreErrorKind, TimeRange,
};
use holdover_store_postgres::PostgresStore;
use support::{Admin, commit, id, key, new_session, options, running, schema_of};

/// Makes every operation of kind `what` on a table's row take `seconds`.
async fn slow(admin: &mut Admin, schema: &str, table: &str, what: &str, seconds: f64) {
    let slow = format!(
        "CREATE OR REPLACE FUNCTION {schema}.slow() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN PERFORM pg_sleep({seconds}); RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END; END $$; \
         CREATE TRIGGER slow_{what} BEFORE {what} ON {schema}.{table} FOR EACH ROW EXECUTE FUNCTION {schema}.slow()"
    );
    admin.run(&slow).await;
}

#[tokio::test]
async fn what_is_large_takes_longer_than_a_statement_may() {
    let url = shared::postgres_url();
    let (options, mut admin) =
        (options(url).statement_timeout(Duration::from_millis(300)), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let claim = running(&store, "s").await;
    store.commit(&claim.fence, commit(1)).await.unwrap();
    let checkpoints = CheckpointQuery { key: key("s"), id: None, page: PageRequest::default() };
    let checkpoint = store.list_checkpoints(&checkpoints).await.unwrap().items[0].id;
    slow(&mut admin, &schema, "definition", "INSERT", 0.8).await;
    slow(&mut admin, &schema, "definition", "DELETE", 0.8).await;

    let error = store.create_session(new_session("new")).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "the fault fires: {error}");
    let fork = NewFork {
        source: claim.fence.incarnation,
        key: key("fork"),
        incarnation: Incarnation(uuid::Uuid::from_u128(77)),
        operation: id("fork"),
        queue: id("queue"),
        labels: Labels::default(),
        definition: Payload::new("{}"),
        status: SessionStatus::Idle,
        state: NewState { format: StateFormat(1), payload: Payload::new("{}") },
        messages: Vec::new(),
        events: Vec::new(),
    };
    let forked = store.fork_session(&key("s"), checkpoint, fork).await.unwrap();
    assert!(matches!(forked, ForkOutcome::Forked { .. }), "{forked:?}");
    let removed = store.delete_session(&key("s"), Deletion::FORCE).await.unwrap();
    assert_eq!(removed, DeleteOutcome::Deleted);
    store.close().await;
}

fn older(tenant: Option<TenantId>, limit: u32) -> RetentionRule {
    RetentionRule {
        tenant,
        status: Vec::new(),
        unchanged_since: Timestamp::from_ms(i64::MAX),
        remove: Remove::Sessions,
        limit: NonZeroU32::new(limit).unwrap(),
        after: None,
    }
}

/// Purges until the walk has ended. Returns the number of calls, and the number of sessions that were
/// removed.
async fn walk(store: &PostgresStore, mut rule: RetentionRule) -> (u64, u64) {
    let (mut steps, mut sessions) = (0, 0);
    loop {
        let report = store.purge(&rule).await.unwrap();
        (steps, sessions) = (steps + 1, sessions + report.sessions);
        rule.after = report.next;
        if rule.after.is_none() {
            return (steps, sessions);
        }
    }
}

#[tokio::test]
async fn a_step_of_a_purge_ends_in_time_and_the_walk_goes_on() {
    const SESSIONS: u64 = 8;
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    for nth in 0..SESSIONS {
        let new = NewSession { start: Start::WithItems, ..new_session(&format!("s{nth}")) };
        store.create_session(new).await.unwrap();
    }
    slow(&mut admin, &schema, "definition", "DELETE", 1.0).await;
    let began = Instant::now();
    let report = store.purge(&older(None, 100)).await.unwrap();
    assert!((1..SESSIONS).contains(&report.sessions), "{report:?}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    admin.run(&format!("DROP TRIGGER slow_delete ON {schema}.definition")).await;
    let rest = RetentionRule { after: report.next, ..older(None, 1) };
    let (steps, sessions) = walk(&store, rest).await;
    assert_eq!(sessions + report.sessions, SESSIONS);
    assert_eq!(steps, sessions, "one a step, and none is left");
    store.close().await;
}

/// A number of sessions or pending calls that is greater than the number that one call examines.
const MANY: i64 = 10_050;

#[tokio::test]
async fn a_walk_past_many_others_finds_the_last() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let labels = Labels([("name".to_owned(), "value".to_owned())].into());
    let new = NewSession { queue: id("wanted"), labels, start: Start::WithItems, ..new_session("wanted") };
    store.create_session(new).await.unwrap();
    // The others are newer in a list, and have been unchanged for longer in a purge: both meet them first.
    let others = format!(
        "INSERT INTO {schema}.session (tenant, id, incarnation, created_by, queue, created_at, status, version, \
             epoch, format, found, updated_at, resting_since, token) \
         SELECT tenant, 'other-' || n, incarnation, created_by, 'queue', created_at + 1, 'failed', version, epoch, \
             format, found, 1, 1, n FROM {schema}.session, generate_series(1, {MANY}) n; \
         INSERT INTO {schema}.pending (place, sid, tenant, session, incarnation, id, call, kind, needed, endless, deadline, \
             opened_at, digest, payload) \
         SELECT 1, sid, tenant, id, incarnation, id, 'call', CASE id WHEN 'wanted' THEN 'client_tool' ELSE 'approval' END, \
             1, id = 'wanted', 0, 0, sha256(''), '' FROM {schema}.session"
    );
    admin.run(&others).await;
    let all = SessionQuery::all(key("wanted").tenant);
    let by = |change: fn(&mut SessionQuery)| {
        let mut query = all.clone();
        change(&mut query);
        query
    };
    let queries = [
        by(|query| query.queue = Some(id("wanted"))),
        by(|query| query.status = vec![SessionStatus::Idle]),
        by(|query| query.labels = Labels([("name".to_owned(), "value".to_owned())].into())),
        by(|query| query.changed = TimeRange::since(Timestamp::from_ms(2))),
    ];
    for query in queries {
        let found = store.list_sessions(&query).await.unwrap();
        assert_eq!((found.items.len(), found.next), (1, None), "{query:?}");
    }
    let page = store.list_sessions(&all).await.unwrap();
    assert!(page.items.len() == PageRequest::default().rows() as usize && page.next.is_some());

    let of_kind =
        PendingQuery { kind: Some(PendingKind::ClientTool), ..PendingQuery::all(key("wanted").tenant) };
    let found = store.list_pending(&of_kind).await.unwrap();
    assert_eq!((found.items.len(), found.next), (1, None));
    let of_session = PendingQuery { session: Some(id("wanted")), ..PendingQuery::all(key("wanted").tenant) };
    let found = store.list_pending(&of_session).await.unwrap();
    assert_eq!((found.items.len(), found.next), (1, None), "by the session nothing else is looked at");

    let rule = RetentionRule { status: vec![SessionStatus::Idle], ..older(Some(key("wanted").tenant), 100) };
    assert_eq!(walk(&store, rule).await, (2, 1));
    assert!(store.load_session(&key("wanted")).await.unwrap().is_none());
    store.close().await;
}

/// The server plans a statement by its statistics. The order of the rows must not depend on the plan.
#[tokio::test]
async fn whatever_the_server_has_counted_checkpoints_come_in_their_order() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options.clone()).await.unwrap();
    let analyze = format!("ANALYZE {schema}.session; ANALYZE {schema}.checkpoint");
    let claim = running(&store, "s").await;
    let mut nth = 0;
    for commits in [1, 1, 1, 10, 200] {
        for _ in 0..commits {
            nth += 1;
            store.commit(&claim.fence, commit(nth)).await.unwrap();
        }
        for counts in ["SELECT 1", &analyze] {
            admin.run(counts).await;
            let reader = PostgresStore::open(options.clone()).await.unwrap();
            let checkpoints = CheckpointQuery { key: key("s"), id: None, page: PageRequest::default() };
            let found = reader.list_checkpoints(&checkpoints).await.unwrap().items;
            let found: Vec<u64> = found.iter().map(|checkpoint| checkpoint.id.0).collect();
            let newest: Vec<u64> = (3..=nth + 2).rev().take(found.len()).collect();
            assert_eq!(found, newest, "after {nth} commits, {counts}");
            reader.close().await;
        }
    }
    store.close().await;
}
