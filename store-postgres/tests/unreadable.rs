//! Sessions that cannot be read because their rows are damaged.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::num::NonZeroU32;

use holdover_launcher::shared;
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::{
    ClaimOne, ClaimOutcome, Commit, CreateOutcome, DeleteOutcome, Deletion, InboxItem, ItemKind, Labels,
    NewPending, NewSession, PendingKind, PendingQuery, Release, Remove, RetentionRule, Retry, SessionQuery,
    SessionStatus, StagedResult, Start, StateStore, StoreErrorKind, Wake,
};
use holdover_store_postgres::PostgresStore;
use support::{
    Admin, claim_one, commit, due, id, insert_waiting, key, new_session, options, schema_of, unique,
};

fn item(key: &str) -> InboxItem {
    InboxItem {
        key: id(key),
        kind: ItemKind::Message { wake: Wake::Now },
        incarnation: None,
        payload: Payload::new("{}"),
    }
}

/// Creates a due session with a row in every table that a claim reads.
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
    let staged = StagedResult { call: id("staged"), payload: Payload::new("{}") };
    let release =
        Release::To { status: SessionStatus::Suspended, deadline: Some(Timestamp::EPOCH), wake_on: 0 };
    let whole = Commit { open: vec![open], stage: vec![staged], release: Some(release), ..commit(1) };
    store.commit(&claim.fence, whole).await.unwrap();
}

/// Damages that make a session unreadable: the table, the change, and the beginning of the error's detail.
const DAMAGES: [(&str, &str, &str); 25] = [
    ("session", "status = 'asleep'", "status"),
    ("session", "found = 'asleep'", "found"),
    ("session", "created_by = E'a\\u0001'", "created_by"),
    ("session", "created_by = E'a\\u0085'", "created_by"),
    ("session", "created_by = repeat('x', 129)", "created_by"),
    ("session", "queue = ''", "queue"),
    ("session", "incarnation = '\\x00'", "incarnation"),
    ("session", "lease_worker = 'somebody'", "lease"),
    ("session", "last_claim = ''", "last_claim"),
    ("session", "attempts = 4294967296", "attempts"),
    ("session", "unread = -1", "unread"),
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
    ("session", "lives = '{}'", "lives"),
    ("label", "value = '\\xeda080'", "label"),
    ("definition", "payload = 'another'", "definition"),
    ("state", "payload = 'another'", "state"),
    ("staged", "payload = 'another'", "staged"),
    ("staged", "call = E'\\n'", "staged"),
    ("pending", "kind = 'some body'", "pending"),
    ("pending", "needed = -1", "pending"),
    ("pending", "digest = ''", "pending"),
    ("item", "wake = 'never'", "item: wake"),
    ("item", "kind = 'answer'", "item: kind"),
    ("item", "payload = 'another'", "item: payload"),
];

/// Returns SQL that selects everything of a session that a claim would change.
fn row(schema: &str) -> String {
    format!(
        "SELECT concat_ws(' ', (SELECT s::text FROM {schema}.session s WHERE id = 'bad'), \
         (SELECT count(*) FROM {schema}.run), (SELECT count(*) FROM {schema}.item))"
    )
}

#[tokio::test]
async fn what_cannot_be_read_is_not_claimed_and_costs_no_other_its_claim() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
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

        let claim = ClaimOne { items: vec![item("late")], ..claim_one("run-2") };
        let error = store.claim_session(&key("bad"), claim).await.unwrap_err();
        assert_eq!((error.kind, error.retry), (StoreErrorKind::Corrupt, Retry::Never), "{damage}: {error}");
        assert_eq!(error.key.as_deref(), Some(&key("bad")), "{damage}");
        assert!(error.detail.starts_with(said), "{damage}: {error}");
        assert_eq!(admin.text(&row(&schema)).await, after, "{damage}: claimed by name");

        // A session that cannot be claimed cannot be loaded either, so nothing is refused without need.
        // Loading does not read the inbox and the pending calls.
        if !["item", "pending"].contains(&table) {
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

#[tokio::test]
async fn a_pending_call_that_cannot_be_read_costs_no_other_its_place_in_the_list() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let names = ["a", "b", "c", "d"];
    for name in names {
        whole(&store, name).await;
    }
    for (bad, damage) in [("b", "incarnation = '\\x00'"), ("c", "digest = ''")] {
        admin.run(&format!("UPDATE {schema}.pending SET {damage} WHERE session = '{bad}'")).await;
    }
    for kind in [None, Some(PendingKind::Approval)] {
        for limit in 1..=5 {
            let mut query = PendingQuery { kind: kind.clone(), ..PendingQuery::all(key("a").tenant) };
            query.page.limit = NonZeroU32::new(limit);
            let mut listed = Vec::new();
            loop {
                let page = store.list_pending(&query).await.unwrap();
                listed.extend(page.items.into_iter().map(|call| call.key.id.to_string()));
                query.page.after = page.next;
                if query.page.after.is_none() {
                    break;
                }
            }
            assert_eq!(listed, ["a", "d"], "{limit} a page, {kind:?}");
        }
    }
    for name in names {
        let removed = store.delete_session(&key(name), Deletion::FORCE).await.unwrap();
        assert_eq!(removed, DeleteOutcome::Deleted);
    }
    store.close().await;
}

#[tokio::test]
async fn a_session_that_cannot_be_read_costs_no_other_its_place_in_a_list_or_its_purge() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let labels = Labels([("name".to_owned(), "value".to_owned())].into());
    for name in ["a", "b", "c", "d", "e"] {
        let start = Start::WithItems;
        store
            .create_session(NewSession { labels: labels.clone(), start, ..new_session(name) })
            .await
            .unwrap();
    }
    for (table, damage, bad) in
        [("session", "status = 'asleep'", "b"), ("session", "incarnation = '\\x00'", "d")]
    {
        let whose = format!("sid = (SELECT sid FROM {schema}.session WHERE id = '{bad}')");
        admin.run(&format!("UPDATE {schema}.{table} SET {damage} WHERE {whose}")).await;
    }
    for labels in [Labels::default(), labels] {
        for limit in 1..=5 {
            let query = SessionQuery { labels: labels.clone(), ..SessionQuery::all(key("a").tenant) };
            assert_eq!(listed(&store, query, limit).await, ["a", "c", "e"], "{limit} a page, {labels:?}");
        }
    }
    let mut rule = RetentionRule {
        tenant: Some(key("a").tenant),
        status: vec![],
        unchanged_since: Timestamp::from_ms(i64::MAX),
        remove: Remove::Sessions,
        limit: NonZeroU32::MIN,
        after: None,
    };
    let mut removed = 0;
    loop {
        let report = store.purge(&rule).await.unwrap();
        removed += report.sessions;
        rule.after = report.next;
        if rule.after.is_none() {
            break;
        }
    }
    assert_eq!(removed, 3);
    let left =
        format!("SELECT string_agg(id, ' ' ORDER BY id) FROM {schema}.session WHERE dead_since IS NULL");
    assert_eq!(admin.text(&left).await, "b d", "what cannot be read stays");
    store.close().await;
}

/// A label that cannot be read makes its session unreadable.
#[tokio::test]
async fn a_session_with_a_broken_label_costs_no_other_its_place_in_a_list() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    for name in ["a", "b", "c"] {
        whole(&store, name).await;
    }
    let whose = format!("sid = (SELECT sid FROM {schema}.session WHERE id = 'b')");
    admin.run(&format!("UPDATE {schema}.label SET value = '\\xeda080' WHERE {whose}")).await;
    for limit in 1..=3 {
        let all = listed(&store, SessionQuery::all(key("a").tenant), limit).await;
        assert_eq!(all, ["a", "c"], "{limit} a page");
    }
    store.close().await;
}

/// Lists all sessions of a query in pages, and returns their ids in order.
async fn listed(store: &PostgresStore, mut query: SessionQuery, limit: u32) -> Vec<String> {
    query.page.limit = NonZeroU32::new(limit);
    let mut listed = Vec::new();
    loop {
        let page = store.list_sessions(&query).await.unwrap();
        listed.extend(page.items.into_iter().map(|session| session.key.id.to_string()));
        query.page.after = page.next;
        if query.page.after.is_none() {
            listed.sort();
            return listed;
        }
    }
}

#[tokio::test]
async fn many_that_cannot_be_read_cost_no_other_its_claim() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    for nth in 0..20 {
        whole(&store, &format!("bad-{nth:02}")).await;
    }
    whole(&store, "good").await;
    admin.run(&format!("UPDATE {schema}.session SET created_by = '' WHERE id <> 'good'")).await;
    for runs in [1, 2] {
        let claims = store.claim_due(due(runs)).await.unwrap();
        let claimed: Vec<_> = claims.iter().map(|claim| claim.fence.key.id.as_str()).collect();
        assert_eq!(claimed, ["good"], "for {runs} runs");
        let removed = store.delete_session(&key("good"), Deletion::FORCE).await.unwrap();
        assert_eq!(removed, DeleteOutcome::Deleted);
        whole(&store, "good").await;
    }
    store.close().await;
}

/// Unreadable sessions at the front of a tenant's queue, however many, delay neither the tenant's next
/// session nor other tenants.
#[tokio::test]
async fn what_cannot_be_read_takes_nobodys_turn() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let waiting = "SELECT t, t || nth, 'queue', 1, 1000 * nth, NULL \
         FROM unnest(ARRAY['a', 'b', 'c']) AS t, generate_series(1, 40) AS nth";
    admin.run(&insert_waiting(&schema, waiting)).await;
    let broken = [("a", 1), ("b", 35), ("c", 0)];
    for (tenant, soonest) in broken {
        let bad = format!("tenant = '{tenant}' AND alarm <= 1000 * {soonest}");
        admin.run(&format!("UPDATE {schema}.session SET created_by = '' WHERE {bad}")).await;
    }
    let mut claimed = Vec::new();
    for runs in [1, 1, 1, 1, 3, 4, 1] {
        let claims = store.claim_due(due(runs)).await.unwrap();
        assert_eq!(claims.len(), runs);
        claimed.extend(claims.into_iter().map(|claim| claim.fence.key.id.to_string()));
    }
    let by_turns = ["a2", "b36", "c1", "a3", "b37", "c2", "a4", "b38", "c3", "a5", "c4", "b39"];
    assert_eq!(claimed, by_turns);
    // The remaining readable sessions are claimed at once; the unreadable ones stay.
    let rest = store.claim_due(due(200)).await.unwrap();
    assert_eq!(rest.len(), 120 - 36 - by_turns.len());
    assert!(store.claim_due(due(1)).await.unwrap().is_empty());
    store.close().await;
}

#[tokio::test]
async fn a_claim_by_name_of_what_can_be_read_still_brings_its_items() {
    let store = PostgresStore::open(options(shared::postgres_url())).await.unwrap();
    whole(&store, "s").await;
    let claim = ClaimOne { items: vec![item("late")], ..claim_one("run-2") };
    let claimed = store.claim_session(&key("s"), claim).await.unwrap();
    let ClaimOutcome::Claimed(claim) = claimed else { panic!("{claimed:?}") };
    let keys: Vec<_> = claim.inbox.iter().map(|item| item.key.as_str()).collect();
    assert_eq!((keys, claim.pending.len()), (vec!["item", "late"], 1));
    store.close().await;
}
