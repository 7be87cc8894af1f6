//! A payload that cannot be decoded gives a typed error and affects no other session.

use bytes::Bytes;
use holdover_store::ids::{MessageSeq, SessionKey, TenantId};
use holdover_store::payload::Payload;
use holdover_store::*;
use holdover_store_layers::{
    Compressed, DECODED_BYTES_MAX, Encoded, Encrypted, Faults, PayloadCodec, PayloadContext, PayloadKind,
    Recorder,
};
use holdover_store_memory::{Limits, MemoryStore, SystemClock};

use crate::scene::*;
use crate::support::ring;

type Store = Encoded<MemoryStore, holdover_store_layers::Then<Compressed, Encrypted>>;

fn around(memory: &MemoryStore, keys: &[u8]) -> Store {
    let keys = match *keys {
        [one] => ring([one]),
        [one, two] => ring([one, two]),
        _ => panic!("one key or two"),
    };
    Compressed::new().then(Encrypted::new(keys)).around(memory.clone())
}

fn context(tenant: &TenantId, kind: PayloadKind) -> PayloadContext<'_> {
    PayloadContext { tenant, kind }
}

/// Asserts that the error names a payload that cannot be decoded, in this field of session `s`.
fn corrupt<T: std::fmt::Debug>(answer: Result<T, StoreError>, operation: &str, field: &str) -> String {
    undecoded(answer, StoreErrorKind::Corrupt, operation, field)
}

fn undecoded<T: std::fmt::Debug>(
    answer: Result<T, StoreError>,
    kind: StoreErrorKind,
    operation: &str,
    field: &str,
) -> String {
    let error = answer.unwrap_err();
    assert_eq!((error.kind, error.operation), (kind, operation), "{error}");
    assert_eq!(error.key.as_deref(), Some(&key("s")), "{error}");
    assert!(error.detail.starts_with(field), "{field}: {error}");
    assert_eq!(error.to_string().lines().count(), 1);
    error.to_string()
}

/// Creates a session with one message that is stored as these bytes.
async fn with_message(memory: &MemoryStore, kept: Bytes) -> SessionKey {
    let fence = running(&around(memory, &[1]), "s").await.fence;
    let messages = vec![NewMessage::Inline(Payload::new(kept))];
    committed(memory.commit(&fence, Commit { messages, ..commit("raw") }).await.unwrap());
    fence.key
}

async fn read(store: &dyn StateStore, key: &SessionKey) -> Result<MessagePage, StoreError> {
    store.read_messages(key, &[MessageRange::new(MessageSeq(1), MessageSeq(9))]).await
}

#[tokio::test]
async fn every_changed_or_missing_byte_is_noticed() {
    let codec = Compressed::new().then(Encrypted::new(ring([1])));
    let tenant: TenantId = "acme".parse().unwrap();
    let of = context(&tenant, PayloadKind::Message);
    let kept = codec.encode(&of, Bytes::from("said ".repeat(40)), 0).unwrap();
    for place in 0..kept.len() {
        let mut changed = kept.to_vec();
        changed[place] ^= 1;
        assert!(codec.decode(&of, changed.into(), 1 << 20).is_err(), "byte {place} was changed");
        assert!(codec.decode(&of, kept.slice(..place), 1 << 20).is_err(), "cut at {place}");
    }
    let other: TenantId = "other".parse().unwrap();
    assert!(codec.decode(&context(&other, PayloadKind::Message), kept.clone(), 1 << 20).is_err());
    assert!(codec.decode(&context(&tenant, PayloadKind::State), kept.clone(), 1 << 20).is_err());
    assert!(codec.decode(&of, kept, 1 << 20).is_ok());
}

#[tokio::test]
async fn a_payload_that_does_not_decode_names_where_it_lies() {
    let tenant: TenantId = "acme".parse().unwrap();
    let of = context(&tenant, PayloadKind::Message);
    let by = |id: u8| Encrypted::new(ring([id])).encode(&of, Bytes::from("\u{f8}said"), 0).unwrap();
    let (corrupt, no_key) = (StoreErrorKind::Corrupt, StoreErrorKind::KeyMissing);
    for (kept, kind, why) in [
        (Bytes::from("plain"), corrupt, "it was not written by this codec"),
        (Bytes::new(), corrupt, "it was not written by this codec"),
        (by(7), no_key, "encrypted, key 7 is not here"),
        (by(1).slice(..12), corrupt, "it is not what was encrypted here under key 1"),
        (by(1), corrupt, "it was not written by this codec"),
    ] {
        let memory = MemoryStore::new();
        let key = with_message(&memory, kept).await;
        let said = undecoded(read(&around(&memory, &[1]), &key).await, kind, "read_messages", "message 1: ");
        assert_eq!(said, format!("store: read_messages acme/s: {kind}: message 1: {why}"));
    }
}

/// Returns a store with small limits, and a session in it. A short stored message of that session
/// decompresses to this many bytes.
async fn with_growing(bytes: usize) -> (Encoded<MemoryStore, Compressed>, SessionKey) {
    let limits = Limits { payload_bytes_max: 1 << 20, commit_bytes_max: 4 << 20 };
    let memory = MemoryStore::with(SystemClock, limits);
    let small = zstd::bulk::compress(&vec![0; bytes], 3).unwrap();
    assert!(small.len() < 10_000);
    let store = Compressed::new().around(memory.clone());
    let fence = running(&store, "s").await.fence;
    let kept = Payload::new([&[0xF9], small.as_slice()].concat());
    let raw = Commit { messages: vec![NewMessage::Inline(kept)], ..commit("raw") };
    committed(memory.commit(&fence, raw).await.unwrap());
    (store, fence.key)
}

#[tokio::test]
async fn a_small_payload_never_takes_more_memory_than_is_said() {
    let (store, key) = with_growing(DECODED_BYTES_MAX + 1).await;
    let said = corrupt(read(&store, &key).await, "read_messages", "message 1: ");
    assert!(said.ends_with("it would grow to more than 67108864 bytes"), "{said}");
}

#[tokio::test]
async fn what_was_written_under_larger_limits_is_read() {
    let (store, key) = with_growing(3 << 20).await;
    assert_eq!(read(&store, &key).await.unwrap().messages[0].payload.len(), 3 << 20);
}

#[tokio::test]
async fn a_reason_that_does_not_decode_is_named() {
    for reason in ["plain", "encoded:", "encoded:+", "encoded:é", "encoded:+gAAAAEAAAA"] {
        let memory = MemoryStore::new();
        let store = around(&memory, &[1]);
        let fence = running(&store, "s").await.fence;
        memory.request_interrupt(&fence.key, soft(reason)).await.unwrap();
        corrupt(store.take_interrupt(&fence).await, "take_interrupt", "reason: ");
        corrupt(store.load_session(&fence.key).await, "load_session", "reason: ");
    }
}

#[tokio::test]
async fn a_worker_that_lacks_a_key_neither_holds_a_session_nor_harms_it() {
    let memory = MemoryStore::new();
    let (old, new) = (around(&memory, &[1]), around(&memory, &[2, 1]));
    for (store, name) in [(&new, "s"), (&old, "readable")] {
        let due = NewSession { items: vec![item("i", "said")], ..new_session(name) };
        store.create_session(due).await.unwrap();
    }
    let recorder = Recorder::new(9);
    let lacks = Compressed::new().then(Encrypted::new(ring([1])));
    let lacks = lacks.around(recorder.around(memory.clone()));
    let claims = lacks.claim_due(claim_due(&["a", "b"])).await.unwrap();
    let names: Vec<&str> = claims.iter().map(|claim| claim.fence.key.id.as_str()).collect();
    assert_eq!(names, ["readable"]);
    assert_eq!(recorder.count("commit"), 1, "the other was given back");

    let left = new.load_session(&key("s")).await.unwrap().unwrap();
    assert_eq!((left.status, left.lease, left.attempts), (SessionStatus::Idle, None, 0));
    assert!(left.alarm.is_some(), "it wants a worker still");
    let refused = lacks.claim_session(&key("s"), claim_one("c", Vec::new())).await;
    undecoded(refused, StoreErrorKind::KeyMissing, "claim_session", "definition: ");
    let brings = claim_one("d", vec![item("j", "more")]);
    let error = lacks.claim_session(&key("s"), brings).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::KeyMissing, Retry::OutcomeUnknown), "it was said");
    let claim = claimed(new.claim_session(&key("s"), claim_one("e", Vec::new())).await.unwrap());
    let said: Vec<_> = claim.inbox.iter().map(|item| item.payload.clone()).collect();
    assert_eq!((claim.found, said), (SessionStatus::Idle, vec![bytes("said"), bytes("more")]));
    let runs = lacks.list_runs(&key("s"), PageRequest::default()).await.unwrap().items;
    let end = runs[0].end.as_ref().expect("an end");
    let detail = String::from_utf8_lossy(end.detail.as_ref().expect("a detail").bytes()).into_owned();
    assert_eq!(end.outcome, OutcomeKind::Released);
    assert!(detail.contains("definition: encrypted, key 2 is not here"), "{detail}");
}

#[tokio::test]
async fn a_claim_that_cannot_be_given_back_may_stand() {
    let memory = MemoryStore::new();
    create(&around(&memory, &[2]), "s").await;
    let faults = Faults::default();
    let lost = faults.next("commit", holdover_store_layers::Fault::Refuse);
    let store = Encrypted::new(ring([1])).around(faults.around(memory));
    let error = store.claim_session(&key("s"), claim_one("a", Vec::new())).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::KeyMissing, Retry::OutcomeUnknown));
    assert_eq!(lost.fired(), 1);
}
