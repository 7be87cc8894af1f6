//! A repeat is recognised, even if the first write used an older key or setting.

use std::sync::Arc;

use holdover_store::*;
use holdover_store_layers::{Compressed, Encrypted, PayloadCodec, Recorder};
use holdover_store_memory::MemoryStore;

use crate::scene::*;
use crate::support::ring;

const LONG: &str = "the same words again and again, the same words again and again, the same words again";

type Store = Arc<dyn StateStore>;

/// Returns pairs of stores over the same memory: one writes with an older codec, the other with a newer codec
/// that can read the older form.
fn pairs() -> Vec<(&'static str, Store, Store)> {
    fn pair<A: PayloadCodec, B: PayloadCodec>(
        what: &'static str,
        before: A,
        after: B,
    ) -> (&'static str, Store, Store) {
        let memory = MemoryStore::new();
        let before = before.around(memory.clone());
        (what, Arc::new(before), Arc::new(after.around(memory)))
    }
    let keys = |ids: [u8; 2]| Encrypted::new(ring(ids));
    vec![
        pair("an older key", Encrypted::new(ring([1])), keys([2, 1])),
        pair("the oldest of three keys", Encrypted::new(ring([1])), Encrypted::new(ring([3, 2, 1]))),
        pair("a newer key, not written with yet", keys([2, 1]), keys([1, 2])),
        pair("without compression", Compressed::no_more(), Compressed::new()),
        pair("with compression", Compressed::new(), Compressed::no_more()),
        pair(
            "an older key and another compression",
            Compressed::no_more().then(Encrypted::new(ring([1]))),
            Compressed::new().then(keys([2, 1])),
        ),
        pair("the same", Encrypted::new(ring([1])), Encrypted::new(ring([1]))),
    ]
}

#[tokio::test]
async fn of_a_delivery() {
    for (what, before, after) in pairs() {
        let key = create(&before, "s").await;
        let first = before.deliver(&key, item("i", LONG)).await.unwrap();
        let Delivery::Accepted { seq } = first else { panic!("{first:?}") };
        let again = after.deliver(&key, item("i", LONG)).await.unwrap();
        assert_eq!(again, Delivery::Duplicate { seq }, "{what}");
        let other = after.deliver(&key, item("i", "other words")).await.unwrap();
        assert_eq!(other, Delivery::Conflict { seq }, "{what}");
        assert_eq!(
            after.read_inbox(&key, Default::default(), 9).await.unwrap().items[0].payload,
            bytes(LONG)
        );
    }
}

#[tokio::test]
async fn of_a_staging_whose_results_were_written_in_different_ways() {
    for (what, before, after) in pairs() {
        let fence = running(&before, "s").await.fence;
        let staged = |outcome| matches!(outcome, Ok(StageOutcome::Staged(_)));
        assert!(staged(before.stage_result(&fence, staging([("old", LONG), ("older", LONG)])).await));
        assert!(staged(after.stage_result(&fence, staging([("new", LONG)])).await));
        let all = staging([("new", LONG), ("old", LONG), ("newest", LONG), ("older", LONG)]);
        assert!(staged(after.stage_result(&fence, all).await), "{what}");
        let other = after.stage_result(&fence, staging([("new", LONG), ("old", "other")])).await.unwrap();
        assert_eq!(other, StageOutcome::Conflict { call: "old".parse().unwrap() }, "{what}");

        let staging = |stage| Commit { stage, ..commit("staging") };
        let conflicts = staging(vec![result("old", "other")]);
        let refused = after.commit(&fence, conflicts).await.unwrap();
        assert_eq!(refused, CommitOutcome::StageConflict { call: "old".parse().unwrap() }, "{what}");
        let repeats = staging(vec![result("new", LONG), result("old", LONG)]);
        committed(after.commit(&fence, repeats).await.unwrap());
        let found = after.load_session(&fence.key).await.unwrap().unwrap().staged.results;
        assert_eq!(found, ["new", "newest", "old", "older"].map(|call| result(call, LONG)), "{what}");
    }
}

#[tokio::test]
async fn of_an_item_that_comes_with_a_claim_or_a_move() {
    for (what, before, after) in pairs() {
        let fence = running(&before, "s").await.fence;
        let first = before.deliver(&fence.key, item("i", LONG)).await.unwrap();
        let Delivery::Accepted { seq } = first else { panic!("{first:?}") };
        let fails = Commit { release: release(SessionStatus::Failed), ..commit("fails") };
        let receipt = committed(after.commit(&fence, fails).await.unwrap());
        for (text, refusal) in [(LONG, Delivery::Duplicate { seq }), ("other", Delivery::Conflict { seq })] {
            let items = vec![item("fresh", LONG), item("i", text)];
            let cas = StatusCas {
                incarnation: None,
                expected_version: receipt.version,
                to: SessionStatus::Suspended,
                items: items.clone(),
            };
            let moved = after.compare_and_set_status(&fence.key, cas).await.unwrap();
            assert_eq!(moved, CasOutcome::ItemRefused { index: 1, refusal: refusal.clone() }, "{what}");
            let claim = after.claim_session(&fence.key, claim_one("again", items)).await.unwrap();
            assert_eq!(claim, ClaimOutcome::ItemRefused { index: 1, refusal }, "{what}");
        }
    }
}

#[tokio::test]
async fn of_what_was_written_before_there_was_a_codec() {
    let memory = MemoryStore::new();
    let key = create(&memory, "s").await;
    assert!(memory.deliver(&key, item("i", LONG)).await.unwrap().is_in());
    assert!(memory.request_interrupt(&key, soft("at rest")).await.is_ok());
    let codec = Compressed::new().then(Encrypted::new(ring([1]))).or_plain();
    let store = codec.around(memory.clone());
    let again = store.deliver(&key, item("i", LONG)).await.unwrap();
    assert!(matches!(again, Delivery::Duplicate { .. }), "{again:?}");
    assert!(matches!(store.deliver(&key, item("j", LONG)).await, Ok(Delivery::Accepted { .. })));
    let claim = claimed(store.claim_session(&key, claim_one("run", Vec::new())).await.unwrap());
    assert_eq!(claim.session.definition, bytes("definition"));
    assert!(claim.inbox.iter().all(|item| item.payload == bytes(LONG)));
    assert!(memory.request_interrupt(&key, soft("because")).await.unwrap().is_waiting());
    let check = store.take_interrupt(&claim.fence).await.unwrap();
    assert_eq!(check, InterruptCheck::Waiting(soft("because")));
    // Items written since then are encoded.
    let raw = memory.read_inbox(&key, Default::default(), 9).await.unwrap().items;
    assert!(raw[0].payload == bytes(LONG) && raw[1].payload != bytes(LONG));
}

#[tokio::test]
async fn of_none_asks_the_store_once() {
    let recorder = Recorder::new(9);
    let memory = recorder.around(MemoryStore::new());
    let store = Encrypted::new(ring([3, 2, 1])).around(memory);
    let key = create(&store, "s").await;
    for _ in 0..2 {
        assert!(store.deliver(&key, item("i", LONG)).await.unwrap().is_in());
    }
    assert_eq!(recorder.count("deliver"), 2);
    assert!(!store.deliver(&key, item("i", "other")).await.unwrap().is_in());
    assert_eq!(recorder.count("deliver"), 2 + 3, "once for each key");
}

#[test]
fn of_words_by_their_digests() {
    let tenant = "t".parse().unwrap();
    let digests = |store: &Store| store.digests(&tenant, LONG.as_bytes()).unwrap();
    for (what, before, after) in pairs() {
        assert!(digests(&after).contains(&digests(&before)[0]), "{what}");
    }
    let memory: Store = Arc::new(MemoryStore::new());
    let since: Store = Arc::new(Encrypted::new(ring([1])).around(MemoryStore::new()));
    assert!(digests(&since).contains(&digests(&memory)[0]), "before there was a codec");
    assert_ne!(digests(&since)[0], digests(&memory)[0]);
}
