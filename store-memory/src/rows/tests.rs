//! Tests of lists, and of their cost in a store with many sessions, counted in index entries that are read.

use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::rows::RowStore;
use holdover_store::*;
use uuid::Uuid;

use super::*;
use crate::SystemClock;

/// The number of sessions besides those that a list looks for.
const MANY: u32 = 5_000;
/// The most index entries that a list of few sessions may read.
const ENTRIES_MAX: usize = 30;

fn store() -> RowStore<MemoryRows> {
    RowStore::new(MemoryRows::new(SystemClock, Limits::default()))
}

fn tenant() -> TenantId {
    "t".parse().unwrap()
}

fn key(id: &str) -> SessionKey {
    SessionKey::new(tenant(), id.parse().unwrap())
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().copied().collect()
}

/// Creates a session that a run holds, with an event and an open approval.
async fn put(store: &RowStore<MemoryRows>, id: &str, labels: Labels) {
    put_asking(store, id, labels, PendingKind::Approval).await;
}

/// Creates a session that a run holds, with an event and an open pending call of this kind.
async fn put_asking(store: &RowStore<MemoryRows>, id: &str, labels: Labels, kind: PendingKind) -> Fence {
    let run = ClaimOne {
        run: "run".parse().unwrap(),
        worker: "worker".parse().unwrap(),
        lease: Duration::from_secs(600),
        expected_version: None,
        items: Vec::new(),
    };
    let new = NewSession {
        key: key(id),
        incarnation: Incarnation(Uuid::new_v4()),
        operation: format!("create-{}", Uuid::new_v4()).parse().unwrap(),
        queue: "q".parse().unwrap(),
        labels,
        definition: Payload::new("{}"),
        format: StateFormat(1),
        items: Vec::new(),
        start: Start::Claimed(run),
    };
    let created = store.create_session(new).await.unwrap();
    let CreateOutcome::Created { claim: Some(claim), .. } = created else { panic!("{created:?}") };
    let call = NewPending {
        id: "p".parse().unwrap(),
        call: "call".parse().unwrap(),
        kind,
        needed: 1,
        deadline: None,
        body: Payload::new("{}"),
    };
    let events = vec![Payload::new("{}")];
    let commit = Commit { open: vec![call], events, ..Commit::new("c".parse().unwrap()) };
    let saved = store.commit(&claim.fence, commit).await.unwrap();
    assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    claim.fence
}

/// Returns the sessions of the open calls of a kind, in pages of `limit`.
async fn asking(store: &RowStore<MemoryRows>, kind: PendingKind, limit: u32) -> Vec<String> {
    let mut query = PendingQuery { kind: Some(kind), ..PendingQuery::all(tenant()) };
    query.page.limit = std::num::NonZeroU32::new(limit);
    let mut found = Vec::new();
    loop {
        let page = store.list_pending(&query).await.unwrap();
        found.extend(page.items.iter().map(|call| call.key.id.to_string()));
        query.page.after = page.next;
        if query.page.after.is_none() {
            return found;
        }
    }
}

async fn listed(store: &RowStore<MemoryRows>, wanted: &[(&str, &str)]) -> Vec<String> {
    let query = SessionQuery { labels: labels(wanted), ..SessionQuery::all(tenant()) };
    let page = store.list_sessions(&query).await.unwrap();
    assert_eq!(page.next, None);
    page.items.iter().map(|summary| summary.key.id.to_string()).collect()
}

#[tokio::test]
async fn what_is_deleted_is_not_listed_by_its_labels_and_its_next_life_is_by_its_own() {
    let store = store();
    put(&store, "s", labels(&[("user", "kim"), ("tag", "")])).await;
    put(&store, "other", labels(&[("user", "kim")])).await;
    assert_eq!(listed(&store, &[("tag", ""), ("user", "kim")]).await, ["s"]);
    store.delete_session(&key("s"), Deletion::FORCE).await.unwrap();
    assert_eq!(listed(&store, &[("user", "kim")]).await, ["other"]);
    put(&store, "s", labels(&[("user", "lee")])).await;
    assert_eq!(listed(&store, &[("user", "kim")]).await, ["other"]);
    assert_eq!(listed(&store, &[("tag", "")]).await, Vec::<String>::new());
    assert_eq!(listed(&store, &[("user", "lee")]).await, ["s"]);
    for id in ["s", "other"] {
        store.delete_session(&key(id), Deletion::FORCE).await.unwrap();
    }
    let data = store.rows().lock();
    assert_eq!(data.indexes.of(Index::Labels, Vec::new()..vec![u8::MAX]).count(), 0, "nothing is left");
}

#[tokio::test]
async fn lists_of_few_cost_the_same_beside_any_number_of_sessions() {
    let store = store();
    for nth in 0..MANY {
        let mut labels = labels(&[("agent", "a")]);
        if nth % 2_000 == 0 {
            labels.0.insert("user".into(), "kim".into());
        }
        put(&store, &format!("s{nth}"), labels).await;
    }
    let cost = || store.rows().lock().indexes.looked_at();
    cost();
    assert_eq!(listed(&store, &[("user", "kim")]).await, ["s4000", "s2000", "s0"]);
    let looked_at = cost();
    assert!(looked_at < ENTRIES_MAX, "by a label: {looked_at}");
    assert_eq!(listed(&store, &[("agent", "a"), ("user", "kim")]).await.len(), 3);
    let looked_at = cost();
    assert!(looked_at < ENTRIES_MAX, "by a label that all have, too: {looked_at}");

    let life = store.load_session(&key("s7")).await.unwrap().unwrap().incarnation;
    let query = SessionQuery { life: Some(life), ..SessionQuery::all(tenant()) };
    assert_eq!(store.list_sessions(&query).await.unwrap().items.len(), 1);
    let looked_at = cost();
    assert!(looked_at < ENTRIES_MAX, "by a life: {looked_at}");

    let query = PendingQuery { session: Some(key("s7").id), ..PendingQuery::all(tenant()) };
    assert_eq!(store.list_pending(&query).await.unwrap().items.len(), 1);
    assert_eq!(store.list_runs(&key("s7"), PageRequest::default()).await.unwrap().items.len(), 1);
    let page = store.read_events(&key("s7"), &EventCursor::START, 10).await.unwrap();
    assert!(matches!(page, EventPage::Events { events, .. } if events.len() == 1));
    let looked_at = cost();
    assert!(looked_at < ENTRIES_MAX, "of one session: {looked_at}");
}

#[tokio::test]
async fn a_list_by_kind_costs_the_same_beside_any_number_of_calls_of_other_kinds() {
    let store = store();
    for id in ["d1", "d2", "d3"] {
        put_asking(&store, id, labels(&[]), PendingKind::DeadLetter).await;
    }
    let cost = || store.rows().lock().indexes.looked_at();
    cost();
    assert_eq!(asking(&store, PendingKind::DeadLetter, 2).await, ["d1", "d2", "d3"]);
    let alone = cost();
    for nth in 0..MANY {
        put(&store, &format!("s{nth}"), labels(&[])).await;
    }
    cost();
    assert_eq!(asking(&store, PendingKind::DeadLetter, 2).await, ["d1", "d2", "d3"]);
    assert_eq!(cost(), alone, "dead letters beside {MANY} approvals");
    assert_eq!(asking(&store, PendingKind::InDoubt, 2).await, Vec::<String>::new());
    assert_eq!(cost(), 0, "calls of a kind that is not there");
    assert_eq!(asking(&store, PendingKind::Approval, 1000).await.len(), MANY as usize);
}

#[tokio::test]
async fn a_closed_call_and_the_calls_of_a_deleted_session_leave_the_index_by_kind() {
    let store = store();
    let fence = put_asking(&store, "closed", labels(&[]), PendingKind::DeadLetter).await;
    put_asking(&store, "gone", labels(&[]), PendingKind::DeadLetter).await;
    put(&store, "other", labels(&[])).await;
    let close = Commit { close: vec!["p".parse().unwrap()], ..Commit::new("close".parse().unwrap()) };
    let saved = store.commit(&fence, close).await.unwrap();
    assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    assert_eq!(asking(&store, PendingKind::DeadLetter, 9).await, ["gone"]);
    store.delete_session(&key("gone"), Deletion::FORCE).await.unwrap();
    assert_eq!(asking(&store, PendingKind::DeadLetter, 9).await, Vec::<String>::new());
    put(&store, "gone", labels(&[])).await;
    assert_eq!(asking(&store, PendingKind::DeadLetter, 9).await, Vec::<String>::new());
    assert_eq!(asking(&store, PendingKind::Approval, 9).await, ["gone", "other"]);
    for id in ["closed", "gone", "other"] {
        store.delete_session(&key(id), Deletion::FORCE).await.unwrap();
    }
    let data = store.rows().lock();
    assert_eq!(data.indexes.of(Index::PendingKinds, Vec::new()..vec![u8::MAX]).count(), 0, "nothing is left");
}
