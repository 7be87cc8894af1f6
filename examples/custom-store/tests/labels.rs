//! Tests that sessions are found by the labels of their current life.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use custom_store::{Options, RedbStore};
use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::*;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

/// The entries of all indexes, each with its session.
const ENTRIES: TableDefinition<(u8, &[u8]), (&str, &str)> = TableDefinition::new("entries");
/// The number of the index by label.
const LABELS: u8 = holdover_store::rows::Index::Labels as u8;

fn key(id: &str) -> SessionKey {
    SessionKey::new("acme".parse().unwrap(), id.parse().unwrap())
}

async fn put(store: &RedbStore, id: &str, life: u32, labels: &[(&str, &str)]) {
    let incarnation = serde_json::from_value(format!("00000000-0000-0000-0000-{life:012}").into()).unwrap();
    let new = NewSession {
        key: key(id),
        incarnation,
        operation: format!("create-{life}").parse().unwrap(),
        queue: "queue".parse().unwrap(),
        labels: labels.iter().copied().collect(),
        definition: Payload::new("definition"),
        format: StateFormat(1),
        items: vec![],
        start: Start::WithItems,
    };
    let created = store.create_session(new).await.unwrap();
    assert!(matches!(created, CreateOutcome::Created { .. }), "{created:?}");
}

async fn listed(store: &RedbStore, labels: &[(&str, &str)]) -> Vec<String> {
    let labels = labels.iter().copied().collect();
    let query = SessionQuery { labels, ..SessionQuery::all(key("s").tenant) };
    let mut ids: Vec<_> = store
        .list_sessions(&query)
        .await
        .unwrap()
        .items
        .iter()
        .map(|summary| summary.key.id.to_string())
        .collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn what_is_deleted_is_not_listed_by_its_labels_and_its_next_life_is_by_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.redb");
    let store = RedbStore::open(&file, Options::default()).await.unwrap();
    put(&store, "a", 1, &[("agent", "x"), ("user", "kim")]).await;
    put(&store, "b", 2, &[("agent", "x"), ("user", "lee")]).await;
    assert_eq!(listed(&store, &[("agent", "x")]).await, ["a", "b"]);
    assert_eq!(listed(&store, &[("agent", "x"), ("user", "kim")]).await, ["a"]);
    store.delete_session(&key("a"), Deletion::FORCE).await.unwrap();
    assert_eq!(listed(&store, &[("user", "kim")]).await, Vec::<String>::new());
    put(&store, "a", 3, &[("user", "lee")]).await;
    assert_eq!(listed(&store, &[("user", "lee")]).await, ["a", "b"]);
    assert_eq!(listed(&store, &[("agent", "x")]).await, ["b"]);
    for id in ["a", "b"] {
        store.delete_session(&key(id), Deletion::FORCE).await.unwrap();
    }
    drop(store);
    let database = Database::open(&file).unwrap();
    let entries = database.begin_read().unwrap().open_table(ENTRIES).unwrap();
    let left = entries.iter().unwrap().filter(|entry| entry.as_ref().unwrap().0.value().0 == LABELS);
    assert_eq!(left.count(), 0, "nothing is left");
}
