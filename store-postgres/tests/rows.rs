//! Sessions that cannot be read, that are large, or that are many.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use holdover_core::ids::*;
use holdover_core::payload::Payload;
use holdover_core::store::{
    ClaimDue, ClaimOutcome, CreateOutcome, DeleteOutcome, Deletion, ForkOutcome, InboxItem, ItemKind, Labels,
    NewFork, NewPending, NewSession, NewState, PageRequest, PendingKind, PendingQuery, Queues, Release,
    Remove, RetentionRule, Retry, SessionQuery, SessionStatus, Start, StateStore, StoreErrorKind, Wake,
};
use holdover_core::time::Timestamp;
use holdover_store_postgres::PostgresStore;
use holdover_store_postgres::conformance::Server;
use support::{Admin, claim_one, commit, id, key, new_session, options, running, schema_of, unique};

fn due(runs: usize) -> ClaimDue {
    ClaimDue {
        runs: (0..runs).map(|_| id(&format!("due-{}", unique()))).collect(),
        worker: id("worker"),
        lease: Duration::from_secs(600),
        queues: Queues::All,
        newest_format: StateFormat(1),
        tenant: None,
    }
}

fn item(key: &str) -> InboxItem {
    InboxItem {
        key: id(key),
        kind: ItemKind::Message { wake: Wake::Now },
        incarnation: None,
        payload: Payload::new("{}"),
    }
}

/// A session that is due, with something in every table that a claim reads.
async fn whole(store: &PostgresStore, name: &str) {
    let labels = Labels([("name".to_owned(), "value".to_owned())].into());
    let operation = id(&format!("create-{}", unique()));
    let new = NewSession { operation, items: vec![item("item")], labels, ..new_session(name) };
    let CreateOutcome::Created { claim: Some(claim), .. } = store.create_session(new).await.unwrap() else {
        panic!("{name}: it is claimed")
    };
    let open = NewPending {
        id: id("pending"),
        call: id("call"),
        kind: PendingKind::Approval,
        needed: 1,
        deadline: None,
        body: Payload::new("{}"),
    };
    let staged = holdover_core::store::StagedResult { call: id("staged"), payload: Payload::new("{}") };
    let release =
        Release::To { status: SessionStatus::Suspended, deadline: Some(Timestamp::EPOCH), wake_on: 0 };
    let whole = holdover_core::store::Commit {
        open: vec![open],
        stage: vec![staged],
        release: Some(release),
        ..commit(1)
    };
    store.save_state_and_promote_staging(&claim.fence, whole).await.unwrap();
}

/// Each is a way in which a session cannot be read: what is changed, and what is said of it.
const DAMAGES: [(&str, &str, &str); 24] = [
    ("session", "status = 'asleep'", "status"),
    ("session", "found = 'asleep'", "found"),
    ("session", "created_by = E'a\\u0001'", "an id"),
    ("session", "created_by = E'a\\u0085'", "an id"),
    ("session", "created_by = repeat('x', 129)", "an id"),
    ("session", "queue = ''", "an id"),
    ("session", "incarnation = '\\x00'", "incarnation"),
    ("session", "lease_worker = 'somebody'", "lease"),
    ("session", "last_claim = ''", "lease"),
    ("session", "attempts = 4294967296", "a number"),
    ("session", "unread = -1", "a number"),
    (
        "session",
        "interrupt_id = 'i', interrupt_kind = 'hard', interrupt_reason = '', interrupt_at = 0",
        "interrupt",
    ),
    (
        "session",
        "interrupt_id = 'i', interrupt_kind = 'soft', interrupt_reason = '\\x61ff', interrupt_at = 0",
        "interrupt",
    ),
    ("label", "value = '\\xeda080'", "label"),
    ("definition", "payload = 'another'", "definition"),
    ("state", "payload = 'another'", "state"),
    ("staged", "payload = 'another'", "staged"),
    ("staged", "call = E'\\n'", "staged"),
    ("pending", "kind = 'somebody'", "pending"),
    ("pending", "needed = -1", "pending"),
    ("pending", "digest = ''", "pending"),
    ("item", "wake = 'never'", "inbox"),
    ("item", "kind = 'answer'", "inbox"),
    ("item", "payload = 'another'", "inbox"),
];

/// Everything of a session that a claim would change.
fn row(schema: &str) -> String {
    format!(
        "SELECT concat_ws(' ', (SELECT s::text FROM {schema}.session s WHERE id = 'bad'), \
         (SELECT count(*) FROM {schema}.run), (SELECT count(*) FROM {schema}.item))"
    )
}

#[tokio::test]
async fn what_cannot_be_read_is_not_claimed_and_costs_no_other_its_claim() {
    let url = Server::shared().url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let anything = ["session_status", "session_found", "session_lease", "session_interrupt"];
    for constraint in anything {
        admin.run(&format!("ALTER TABLE {schema}.session DROP CONSTRAINT {constraint}")).await;
    }
    for (table, damage, said) in DAMAGES {
        for name in ["before", "bad", "good"] {
            whole(&store, name).await;
        }
        let bad = format!("sid = (SELECT sid FROM {schema}.session WHERE id = 'bad')");
        admin.run(&format!("UPDATE {schema}.{table} SET {damage} WHERE {bad}")).await;
        let before = admin.text(&row(&schema)).await;

        let claims = store.claim_due(due(3)).await.unwrap();
        let claimed: Vec<_> = claims.iter().map(|claim| claim.fence.key.id.as_str()).collect();
        assert_eq!(claimed, ["before", "good"], "{damage}");
        let after = admin.text(&row(&schema)).await;
        let session = |text: &str| text.rsplit_once(' ').unwrap().0.rsplit_once(' ').unwrap().0.to_owned();
        assert_eq!(session(&after), session(&before), "{damage}: the row that was not claimed");

        let claim = holdover_core::store::ClaimOne { items: vec![item("late")], ..claim_one("run-2") };
        let error = store.claim_session(&key("bad"), claim).await.unwrap_err();
        assert_eq!((error.kind, error.retry), (StoreErrorKind::Corrupt, Retry::Never), "{damage}: {error}");
        assert_eq!(error.key.as_deref(), Some(&key("bad")), "{damage}");
        assert!(error.detail.starts_with(said), "{damage}: {error}");
        assert_eq!(admin.text(&row(&schema)).await, after, "{damage}: claimed by name");

        // What is refused cannot be read either: nothing is refused without need.
        if table != "item" {
            let error = store.load_session(&key("bad")).await.unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Corrupt, "{damage}: {error}");
        }
        for name in ["before", "bad", "good"] {
            let removed = store.delete_session(&key(name), Deletion::FORCE).await.unwrap();
            assert_eq!(removed, DeleteOutcome::Deleted);
        }
    }
    store.close().await;
}

/// Should the database ever find readable what the program does not: the others keep their claims.
#[tokio::test]
async fn each_claim_of_a_batch_is_read_by_itself() {
    let url = Server::shared().url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    for name in ["before", "bad", "good"] {
        whole(&store, name).await;
    }
    let own = format!("pronamespace = '{schema}'::regnamespace");
    let unreadable =
        format!("SELECT oid::regprocedure::text FROM pg_proc WHERE {own} AND proname LIKE 'unreadable%'");
    let unreadable = admin.text(&unreadable).await;
    let (name, types) = unreadable.split_once('(').unwrap();
    let (session, extras) = types.trim_end_matches(')').split_once(',').unwrap();
    let blind = format!(
        "CREATE OR REPLACE FUNCTION {name}(session {session}, extras {extras}) RETURNS text LANGUAGE sql AS \
         'SELECT NULL::text'"
    );
    admin.run(&blind).await;
    admin.run(&format!("UPDATE {schema}.session SET created_by = '' WHERE id = 'bad'")).await;
    let claims = store.claim_due(due(3)).await.unwrap();
    let claimed: Vec<_> = claims.iter().map(|claim| claim.fence.key.id.as_str()).collect();
    assert_eq!(claimed, ["before", "good"]);
    assert_eq!(admin.number(&format!("SELECT epoch FROM {schema}.session WHERE id = 'bad'")).await, 2);
    store.close().await;
}

#[tokio::test]
async fn of_many_that_cannot_be_read_a_few_are_told_without_their_payloads() {
    let url = Server::shared().url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    for nth in 0..20 {
        whole(&store, &format!("bad-{nth:02}")).await;
    }
    whole(&store, "good").await;
    admin.run(&format!("UPDATE {schema}.session SET created_by = '' WHERE id <> 'good'")).await;
    let own = format!("pronamespace = '{schema}'::regnamespace");
    let claim_due = format!("SELECT proname::text FROM pg_proc WHERE {own} AND proname LIKE 'claim_due%'");
    let claim_due = admin.text(&claim_due).await;
    let told = format!(
        "SELECT concat_ws(' ', count(*), count(unreadable), count(extras)) \
         FROM {schema}.{claim_due}(ARRAY['a', 'b'], 'worker', 600000, NULL, 1, NULL, NULL)"
    );
    assert_eq!(admin.text(&told).await, "9 8 1");
    store.close().await;
}

/// Makes the removal of a session, and a copy's first row, take so long.
async fn slow(admin: &mut Admin, schema: &str, table: &str, seconds: f64) {
    let slow = format!(
        "CREATE OR REPLACE FUNCTION {schema}.slow() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN PERFORM pg_sleep({seconds}); RETURN NEW; END $$; \
         CREATE TRIGGER slow BEFORE INSERT ON {schema}.{table} FOR EACH ROW EXECUTE FUNCTION {schema}.slow()"
    );
    admin.run(&slow).await;
}

#[tokio::test]
async fn what_is_large_takes_longer_than_a_statement_may() {
    let url = Server::shared().url();
    let (options, mut admin) =
        (options(url).statement_timeout(Duration::from_millis(300)), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let claim = running(&store, "s").await;
    store.save_state_and_promote_staging(&claim.fence, commit(1)).await.unwrap();
    let checkpoints =
        holdover_core::store::CheckpointQuery { key: key("s"), id: None, page: PageRequest::default() };
    let checkpoint = store.list_checkpoints(&checkpoints).await.unwrap().items[0].id;
    slow(&mut admin, &schema, "definition", 0.8).await;
    slow(&mut admin, &schema, "tombstone", 0.8).await;

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

/// Walks to the end: how many steps it took, and how many sessions were removed.
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
    let url = Server::shared().url();
    let (options, mut admin) =
        (options(url).statement_timeout(Duration::from_millis(400)), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    for nth in 0..SESSIONS {
        let new = NewSession { start: Start::WithItems, ..new_session(&format!("s{nth}")) };
        store.create_session(new).await.unwrap();
    }
    slow(&mut admin, &schema, "tombstone", 0.15).await;
    let began = Instant::now();
    let report = store.purge(&older(None, 100)).await.unwrap();
    assert!((1..SESSIONS).contains(&report.sessions), "{report:?}");
    assert!(began.elapsed() < Duration::from_millis(1100), "{:?}", began.elapsed());
    let rest = RetentionRule { after: report.next, ..older(None, 100) };
    let (steps, sessions) = walk(&store, rest).await;
    assert_eq!(sessions + report.sessions, SESSIONS);
    assert!(steps > 1, "{steps}");
    store.close().await;
}

/// More sessions, or pending calls, than one call looks at.
const MANY: i64 = 10_050;

#[tokio::test]
async fn a_walk_past_many_others_ends_each_page_in_time_and_finds_the_last() {
    let url = Server::shared().url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let labels = Labels([("name".to_owned(), "value".to_owned())].into());
    let new = NewSession { queue: id("wanted"), labels, start: Start::WithItems, ..new_session("wanted") };
    store.create_session(new).await.unwrap();
    // Newer for a list, and unchanged for longer than it for a purge.
    let others = format!(
        "INSERT INTO {schema}.session (tenant, id, incarnation, created_by, queue, created_at, status, version, \
             epoch, format, found, updated_at) \
         SELECT tenant, 'other-' || n, incarnation, created_by, 'queue', created_at + 1, 'failed', version, epoch, \
             format, found, 1 FROM {schema}.session, generate_series(1, {MANY}) n; \
         INSERT INTO {schema}.pending (sid, tenant, session, incarnation, id, call, kind, needed, endless, deadline, \
             opened_at, digest, payload) \
         SELECT sid, tenant, id, incarnation, id, 'call', CASE id WHEN 'wanted' THEN 'client_tool' ELSE 'approval' END, \
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
    ];
    for mut query in queries {
        let first = store.list_sessions(&query).await.unwrap();
        assert!(first.items.is_empty() && first.next.is_some(), "{first:?}");
        query.page.after = first.next;
        let last = store.list_sessions(&query).await.unwrap();
        assert_eq!((last.items.len(), last.next), (1, None), "{query:?}");
    }
    let page = store.list_sessions(&all).await.unwrap();
    assert!(page.items.len() == PageRequest::default().rows() as usize && page.next.is_some());

    let of_kind =
        PendingQuery { kind: Some(PendingKind::ClientTool), ..PendingQuery::all(key("wanted").tenant) };
    let first = store.list_pending(&of_kind).await.unwrap();
    assert!(first.items.is_empty() && first.next.is_some(), "{first:?}");
    let rest = PendingQuery { page: PageRequest { after: first.next, limit: None }, ..of_kind };
    let last = store.list_pending(&rest).await.unwrap();
    assert_eq!((last.items.len(), last.next), (1, None));
    let of_session = PendingQuery { session: Some(id("wanted")), ..PendingQuery::all(key("wanted").tenant) };
    let found = store.list_pending(&of_session).await.unwrap();
    assert_eq!((found.items.len(), found.next), (1, None), "by the session nothing else is looked at");

    let rule = RetentionRule { status: vec![SessionStatus::Idle], ..older(Some(key("wanted").tenant), 100) };
    assert_eq!(walk(&store, rule).await, (2, 1));
    assert!(store.load_session(&key("wanted")).await.unwrap().is_none());
    store.close().await;
}

#[tokio::test]
async fn a_claim_by_name_of_what_can_be_read_still_brings_its_items() {
    let store = PostgresStore::open(options(Server::shared().url())).await.unwrap();
    whole(&store, "s").await;
    let claim = holdover_core::store::ClaimOne { items: vec![item("late")], ..claim_one("run-2") };
    let claimed = store.claim_session(&key("s"), claim).await.unwrap();
    let ClaimOutcome::Claimed(claim) = claimed else { panic!("{claimed:?}") };
    let keys: Vec<_> = claim.inbox.iter().map(|item| item.key.as_str()).collect();
    assert_eq!((keys, claim.pending.len()), (vec!["item", "late"], 1));
    store.close().await;
}
