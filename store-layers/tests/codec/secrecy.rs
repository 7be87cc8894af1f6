//! The underlying store holds no plain text of any field.

use std::path::Path;

use holdover_store::ids::{CheckpointId, Incarnation};
use holdover_store::payload::Digest;
use holdover_store::*;
use holdover_store_layers::{Encrypted, PayloadCodec};
use holdover_store_memory::MemoryStore;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};

use crate::scene::*;
use crate::support::ring;

/// The texts written into the fields that take a payload, one for each field.
const FIELDS: [&str; 21] = [
    "the definition",
    "the item of a creation",
    "the item of a creation with a claim",
    "the item of a claim",
    "the item of a move",
    "the item of a delivery",
    "the state",
    "the message",
    "the result that a staging stages",
    "the result that a commit stages",
    "the result that is promoted",
    "the event",
    "the pending call",
    "the run",
    "the first delta",
    "the second delta",
    "the reason",
    "the definition of the fork",
    "the state of the fork",
    "the message of the fork",
    "the event of the fork",
];

/// Writes every field through `store`.
async fn write_everything(store: &dyn StateStore) {
    let mut texts = FIELDS.iter().copied();
    let mut next = || texts.next().expect("a field");

    let new =
        NewSession { definition: bytes(next()), items: vec![item("first", next())], ..new_session("source") };
    let start = Start::Claimed(claim_one("run", vec![item("first", next())]));
    store.create_session(new.clone()).await.unwrap();
    store.create_session(NewSession { start, ..new_session("claimed") }).await.unwrap();
    let claim = claim_one("run", vec![item("second", next())]);
    let claim = claimed(store.claim_session(&new.key, claim).await.unwrap());

    let failed = running(store, "failed").await.fence;
    let fails = Commit { release: release(SessionStatus::Failed), ..commit("fails") };
    let version = committed(store.commit(&failed, fails).await.unwrap()).version;
    let items = vec![item("moved", next())];
    let cas = StatusCas { incarnation: None, expected_version: version, to: SessionStatus::Suspended, items };
    let moved = store.compare_and_set_status(&failed.key, cas).await.unwrap();
    assert!(matches!(moved, CasOutcome::Moved { .. }), "{moved:?}");

    assert!(store.deliver(&new.key, item("third", next())).await.unwrap().is_in());
    let (new_state, message) = (state(next()), NewMessage::Inline(bytes(next())));
    let staged = staging([("staged", next())]);
    assert!(matches!(store.stage_result(&claim.fence, staged).await, Ok(StageOutcome::Staged(_))));
    let stage = vec![result("by commit", next()), result("promoted", next())];
    let everything = Commit {
        state: Some(new_state),
        checkpoint: true,
        messages: vec![message, NewMessage::Promote("promoted".parse().unwrap())],
        stage,
        events: vec![bytes(next())],
        open: vec![NewPending {
            id: "pending".parse().unwrap(),
            call: "call".parse().unwrap(),
            kind: PendingKind::Approval,
            needed: 1,
            deadline: None,
            body: bytes(next()),
        }],
        run: Some(RunEnd { outcome: OutcomeKind::Completed, detail: bytes(next()) }),
        ..commit("everything")
    };
    let done = store.commit(&claim.fence, everything).await.unwrap();
    let version = committed(done).version;
    let deltas = vec![bytes(next()), bytes(next())];
    let batch = DeltaBatch { stream: 1, first: 1, deltas };
    assert!(matches!(store.append_deltas(&claim.fence, batch).await, Ok(DeltaOutcome::Appended(_))));
    assert!(store.request_interrupt(&new.key, soft(next())).await.unwrap().is_waiting());

    let fork = NewFork {
        source: new.incarnation,
        key: key("fork"),
        incarnation: Incarnation(uuid::Uuid::new_v4()),
        operation: "fork".parse().unwrap(),
        queue: "queue".parse().unwrap(),
        labels: Labels::default(),
        definition: bytes(next()),
        status: SessionStatus::Idle,
        state: state(next()),
        messages: vec![bytes(next())],
        events: vec![bytes(next())],
    };
    let forked = store.fork_session(&new.key, CheckpointId(version.0), fork).await.unwrap();
    assert!(matches!(forked, ForkOutcome::Forked { .. }), "{forked:?}");
    assert_eq!(texts.next(), None, "a field that was not written");
}

/// Returns the texts that occur in the files of this folder.
fn found_in(folder: &Path) -> Vec<&'static str> {
    let files = std::fs::read_dir(folder).unwrap();
    let contents: Vec<Vec<u8>> = files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    let holds = |text: &str| {
        let mut windows = contents.iter().flat_map(|content| content.windows(text.len()));
        windows.any(|window| window == text.as_bytes())
    };
    FIELDS.into_iter().filter(|text| holds(text)).collect()
}

async fn sqlite(folder: &Path) -> SqliteStore {
    SqliteStore::open(SqliteOptions::new(folder.join("sessions.db"))).await.unwrap()
}

#[tokio::test]
async fn no_plain_text_of_any_field_lies_in_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let raw = sqlite(folder.path()).await;
    let store = Encrypted::new(ring([1])).around(raw.clone());
    write_everything(&store).await;
    assert_eq!(found_in(folder.path()), [""; 0]);
    raw.close().await;
    assert_eq!(found_in(folder.path()), [""; 0]);
}

#[tokio::test]
async fn without_the_layer_each_of_them_would_be_found() {
    let folder = tempfile::tempdir().unwrap();
    write_everything(&sqlite(folder.path()).await).await;
    assert_eq!(found_in(folder.path()), FIELDS);
}

#[test]
fn words_that_can_be_guessed_are_not_found_from_their_digest() {
    let plain = MemoryStore::new();
    let digests = |store: &dyn StateStore, tenant: &str, words: &[u8]| {
        store.digests(&tenant.parse().unwrap(), words).unwrap()
    };
    let first = |store: &dyn StateStore, tenant: &str, words: &[u8]| digests(store, tenant, words)[0];
    assert_eq!(digests(&plain, "t", b"4711"), [Digest::of(b"4711")], "whoever reads it, reads the words");

    let under = |ids: [u8; 2]| Encrypted::new(ring(ids)).around(plain.clone());
    let (one, other) = (under([1, 3]), under([2, 3]));
    let said = first(&one, "t", b"4711");
    let guessed = (0..10_000).map(|code| format!("{code:04}"));
    let guessed: Vec<String> = guessed.collect();
    assert!(!guessed.iter().any(|guess| Digest::of(guess.as_bytes()) == said));
    let by_another_key = |guess: &String| first(&other, "t", guess.as_bytes()) == said;
    assert!(!guessed.iter().any(by_another_key), "without the key it is not found by trying");
    let found = guessed.iter().filter(|guess| first(&one, "t", guess.as_bytes()) == said);
    assert_eq!(found.collect::<Vec<_>>(), ["4711"], "and with it nothing else has it");
    assert_ne!(first(&one, "u", b"4711"), said, "nor by another tenant's");
}
