//! Payloads up to the limits in the capabilities are accepted. One byte more is refused with the field's
//! name.

use holdover_store::ids::MessageSeq;
use holdover_store::payload::Payload;
use holdover_store::*;
use holdover_store_layers::{Compressed, Encoded, Encrypted, PayloadCodec, PayloadContext};
use holdover_store_memory::{Limits, MemoryStore};

use crate::scene::*;
use crate::support::ring;

const LIMITS: Limits = Limits { payload_bytes_max: 4096, commit_bytes_max: 16384 };

fn memory() -> MemoryStore {
    MemoryStore::with(holdover_store_memory::SystemClock, LIMITS)
}

/// Returns bytes that cannot be compressed.
fn noise(bytes: usize) -> Payload {
    let digests = (0_u64..).flat_map(|number| holdover_store::payload::Digest::of(&number.to_le_bytes()).0);
    Payload::new(digests.take(bytes).collect::<Vec<u8>>())
}

/// Asserts that the call was refused because of this field.
fn refused<T: std::fmt::Debug>(answer: Result<T, StoreError>, operation: &str, field: &str) {
    let error = answer.unwrap_err();
    assert_eq!((error.kind, error.operation), (StoreErrorKind::TooLarge, operation), "{error}");
    assert_eq!(error.retry, Retry::Never);
    assert!(error.detail.starts_with(field), "{field}: {error}");
    assert_eq!(error.key.as_deref(), Some(&key("s")), "{error}");
}

async fn are_exact<C: PayloadCodec>(codec: C) {
    let overhead = codec.overhead_bytes_max();
    let store: Encoded<MemoryStore, C> = codec.around(memory());
    let most = store.capabilities().payload_bytes_max;
    assert_eq!(most + overhead, LIMITS.payload_bytes_max);
    let fence = running(&store, "s").await.fence;
    let key = &fence.key;
    let item = |payload| InboxItem { payload, ..item("i", "") };
    let staging =
        |payload| Staging { results: vec![StagedResult { payload, ..result("c", "") }], starts: vec![] };
    let batch = |payload| DeltaBatch { stream: 1, first: 1, deltas: vec![payload] };
    let messages = |payload| Commit { messages: vec![NewMessage::Inline(payload)], ..commit("m") };

    refused(store.deliver(key, item(noise(most + 1))).await, "deliver", "payload");
    refused(store.stage_result(&fence, staging(noise(most + 1))).await, "stage_result", "results");
    refused(store.append_deltas(&fence, batch(noise(most + 1))).await, "append_deltas", "deltas");
    let commit = store.commit(&fence, messages(noise(most + 1))).await;
    refused(commit, "commit", "messages");

    assert!(store.deliver(key, item(noise(most))).await.unwrap().is_in());
    assert!(matches!(store.stage_result(&fence, staging(noise(most))).await, Ok(StageOutcome::Staged(_))));
    assert!(matches!(store.append_deltas(&fence, batch(noise(most))).await, Ok(DeltaOutcome::Appended(_))));
    committed(store.commit(&fence, messages(noise(most))).await.unwrap());
    let read = store.read_messages(key, &[MessageRange::new(MessageSeq(1), MessageSeq(9))]).await.unwrap();
    assert_eq!(read.messages[0].payload, noise(most));
}

#[tokio::test]
async fn of_one_payload_are_exact() {
    are_exact(Compressed::new()).await;
    are_exact(Encrypted::new(ring([1]))).await;
    are_exact(Compressed::new().then(Encrypted::new(ring([2, 1])))).await;
}

#[tokio::test]
async fn of_a_commit_hold_for_many_payloads() {
    let store: Encoded<MemoryStore, _> = Encrypted::new(ring([1])).around(memory());
    let most = store.capabilities().commit_bytes_max;
    let fence = running(&store, "s").await.fence;
    let of = |payloads: usize, bytes: usize| {
        let parts = (0..payloads).map(|place| bytes / payloads + usize::from(place < bytes % payloads));
        let messages = parts.map(|bytes| NewMessage::Inline(noise(bytes))).collect();
        Commit { messages, ..commit(&format!("{payloads} of {bytes}")) }
    };
    for payloads in [8, 100, 300] {
        let refusal = store.commit(&fence, of(payloads, most + 1)).await;
        refused(refusal, "commit", "its payloads");
        committed(store.commit(&fence, of(payloads, most)).await.unwrap());
    }
    // With more payloads than the reserved overhead covers, the refusal is still about the sum of the payloads.
    let refusal = store.commit(&fence, of(600, most)).await;
    refused(refusal, "commit", "its payloads");
}

#[tokio::test]
async fn of_a_reason_leave_room_for_its_text() {
    let store: Encoded<MemoryStore, _> = Encrypted::new(ring([1])).around(memory());
    let fence = running(&store, "s").await.fence;
    let reason = |bytes| soft(&"r".repeat(bytes));
    let fits = (1..4096).rev().find(|bytes| encoded_len(*bytes) <= LIMITS.payload_bytes_max).unwrap();
    refused(store.request_interrupt(&fence.key, reason(fits + 1)).await, "request_interrupt", "reason");
    assert!(store.request_interrupt(&fence.key, reason(fits)).await.unwrap().is_waiting());
    let check = store.take_interrupt(&fence).await.unwrap();
    assert_eq!(check, InterruptCheck::Waiting(reason(fits)));
}

/// Returns the length of an interrupt reason in encoded form.
fn encoded_len(bytes: usize) -> usize {
    "encoded:".len() + ((bytes + 21) * 4).div_ceil(3)
}

#[test]
fn no_codec_adds_more_than_it_says() {
    let codec = Compressed::new().then(Encrypted::new(ring([1])));
    let tenant = "acme".parse().unwrap();
    let of = PayloadContext { tenant: &tenant, kind: holdover_store_layers::PayloadKind::State };
    for bytes in [0, 1, 15, 16, 31, 32, 33, 1000, 100_000] {
        for plain in [noise(bytes), Payload::new(vec![b'x'; bytes])] {
            for way in 0..codec.ways() {
                let kept = codec.encode(&of, plain.bytes().clone(), way).unwrap();
                assert!(kept.len() <= bytes + codec.overhead_bytes_max(), "{bytes} bytes, way {way}");
                assert_eq!(codec.decode(&of, kept, bytes).as_ref(), Ok(plain.bytes()));
            }
        }
    }
}
