//! Every call is recorded with its outcome.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::time::Duration;

use holdover_store::ids::SessionKey;
use holdover_store::*;
use holdover_store_layers::{Fault, Faults, Recorder, Said};
use holdover_store_memory::MemoryStore;
use tokio::time::timeout;

fn key(name: &str) -> SessionKey {
    SessionKey::new("acme".parse().unwrap(), name.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn every_end_of_a_call_is_kept() {
    let faults = Faults::default();
    let recorder = Recorder::new(10);
    let store = recorder.around(faults.around(MemoryStore::new()));
    faults.nth("load_session", 2, Fault::Refuse);
    faults.nth("load_session", 3, Fault::HangBefore);
    assert_eq!(store.load_session(&key("a")).await.unwrap(), None);
    store.load_session(&key("b")).await.unwrap_err();
    timeout(Duration::from_secs(5), store.load_session(&key("c"))).await.unwrap_err();

    let entries = recorder.entries();
    let asked: Vec<&Request> = entries.iter().map(|entry| &entry.request).collect();
    assert_eq!(asked, ["a", "b", "c"].map(|name| Request::Load(key(name))).iter().collect::<Vec<_>>());
    assert_eq!(entries[0].said, Some(Said::Answer(Box::new(Answer::Session(None)))));
    let refused = &entries[1].said;
    assert!(
        matches!(refused, Some(Said::Error { kind: StoreErrorKind::Unavailable, retry: Retry::Later, .. })),
        "{refused:?}"
    );
    assert_eq!(entries[2].said, Some(Said::GivenUp));
}

#[tokio::test]
async fn the_newest_calls_are_kept_and_all_are_counted() {
    let recorder = Recorder::new(2);
    let store = recorder.around(MemoryStore::new());
    for name in ["a", "b", "c"] {
        store.load_session(&key(name)).await.unwrap();
    }
    let numbers: Vec<u64> = recorder.entries().iter().map(|entry| entry.number).collect();
    assert_eq!((numbers, recorder.asked(), recorder.count("load_session")), (vec![2, 3], 3, 2));
    assert_eq!(recorder.take().len(), 2);
    assert!(recorder.entries().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_out_has_not_ended() {
    let faults = Faults::default();
    let recorder = Recorder::new(10);
    let store = recorder.around(faults.around(MemoryStore::new()));
    let held = faults.next("load_session", Fault::HangBefore);
    let out = tokio::spawn(async move { store.load_session(&key("a")).await });
    held.wait().await;
    assert_eq!(recorder.entries()[0].said, None);
    out.abort();
    assert!(out.await.unwrap_err().is_cancelled());
    assert_eq!(recorder.entries()[0].said, Some(Said::GivenUp));
}
