//! Each fault acts as documented, and reports that it did.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;
use std::time::Duration;

use holdover_store::ids::{Incarnation, SessionKey, StateFormat};
use holdover_store::payload::Payload;
use holdover_store::*;
use holdover_store_layers::{Fault, Faults, Faulty};
use holdover_store_memory::MemoryStore;
use tokio::time::{Instant, timeout};

struct Scene {
    memory: MemoryStore,
    store: Faulty<MemoryStore>,
    faults: Faults,
    key: SessionKey,
}

/// Creates a session `s` before any fault is planned.
async fn scene() -> Scene {
    let memory = MemoryStore::new();
    let faults = Faults::default();
    let store = faults.around(memory.clone());
    let key = SessionKey::new("acme".parse().unwrap(), "s".parse().unwrap());
    let new = NewSession {
        key: key.clone(),
        incarnation: Incarnation(uuid::Uuid::new_v4()),
        operation: "create".parse().unwrap(),
        queue: "queue".parse().unwrap(),
        labels: Labels::default(),
        definition: Payload::new("definition"),
        format: StateFormat(1),
        items: Vec::new(),
        start: Start::WithItems,
    };
    store.create_session(new).await.unwrap();
    Scene { memory, store, faults, key }
}

fn item(name: &str) -> InboxItem {
    InboxItem {
        key: name.parse().unwrap(),
        kind: ItemKind::Message { wake: Wake::Now },
        incarnation: None,
        payload: Payload::new(name.to_owned()),
    }
}

impl Scene {
    async fn unread(&self) -> u64 {
        self.memory.load_session(&self.key).await.unwrap().unwrap().unread
    }

    async fn deliver(&self, name: &str) -> Result<Delivery, StoreError> {
        self.store.deliver(&self.key, item(name)).await
    }
}

#[tokio::test]
async fn a_refused_call_does_not_reach_the_store_and_may_be_tried_again() {
    let scene = scene().await;
    let planned = scene.faults.next("deliver", Fault::Refuse);
    let error = scene.deliver("a").await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later));
    assert_eq!((error.operation, error.key.as_deref()), ("deliver", Some(&scene.key)));
    assert_eq!((planned.fired(), scene.unread().await), (1, 0));
    assert!(matches!(scene.deliver("a").await.unwrap(), Delivery::Accepted { .. }));
}

#[tokio::test]
async fn a_failed_call_is_not_to_be_tried_again() {
    let scene = scene().await;
    let planned = scene.faults.next("deliver", Fault::Fail);
    let error = scene.deliver("a").await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Backend, Retry::Never));
    assert_eq!((planned.fired(), scene.unread().await), (1, 0));
}

#[tokio::test]
async fn a_lost_answer_leaves_the_outcome_unknown_and_the_call_applied() {
    let scene = scene().await;
    let planned = scene.faults.next("deliver", Fault::LoseAnswer);
    assert_eq!(scene.deliver("a").await.unwrap_err().retry, Retry::OutcomeUnknown);
    assert_eq!((planned.fired(), scene.unread().await), (1, 1));
    assert!(matches!(scene.deliver("a").await.unwrap(), Delivery::Duplicate { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_call_is_applied_or_not_and_never_answers() {
    for (fault, applied) in [(Fault::HangBefore, 0), (Fault::HangAfter, 1)] {
        let scene = scene().await;
        let planned = scene.faults.next("deliver", fault);
        timeout(Duration::from_secs(3600), scene.deliver("a")).await.unwrap_err();
        assert_eq!((planned.fired(), scene.unread().await), (1, applied), "{fault:?}");
        scene.deliver("b").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_as_long_as_it_says_on_the_side_it_says() {
    let by = Duration::from_secs(7);
    for (fault, before) in [(Fault::DelayBefore(by), 0), (Fault::DelayAfter(by), 1)] {
        let scene = Arc::new(scene().await);
        let planned = scene.faults.next("deliver", fault);
        let began = Instant::now();
        let deliver = tokio::spawn({
            let scene = Arc::clone(&scene);
            async move { scene.deliver("a").await }
        });
        planned.wait().await;
        assert_eq!((began.elapsed(), scene.unread().await), (Duration::ZERO, before), "{fault:?}");
        deliver.await.unwrap().unwrap();
        assert_eq!((began.elapsed(), scene.unread().await), (by, 1), "{fault:?}");
    }
}

#[tokio::test]
async fn an_old_call_arrives_when_it_is_told_to() {
    let scene = scene().await;
    let planned = scene.faults.next("deliver", Fault::ArriveLate);
    assert_eq!(scene.deliver("a").await.unwrap_err().retry, Retry::OutcomeUnknown);
    assert_eq!(scene.unread().await, 0);
    let behind: Arc<dyn StateStore> = Arc::new(scene.memory.clone());
    let answer = planned.arrive(&behind).await.unwrap().unwrap();
    assert!(matches!(answer, Answer::Delivered(Delivery::Accepted { .. })), "{answer:?}");
    assert_eq!((planned.fired(), scene.unread().await), (1, 1));
    assert!(planned.arrive(&behind).await.is_none(), "it arrives once");
}

#[tokio::test]
async fn a_call_that_arrives_twice_is_answered_the_first_time() {
    let scene = scene().await;
    let planned = scene.faults.next("deliver", Fault::ArriveTwice);
    assert!(matches!(scene.deliver("a").await.unwrap(), Delivery::Accepted { .. }));
    let behind: Arc<dyn StateStore> = Arc::new(scene.memory.clone());
    let answer = planned.arrive(&behind).await.unwrap().unwrap();
    assert!(matches!(answer, Answer::Delivered(Delivery::Duplicate { .. })), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn a_dead_handle_answers_nothing_until_the_plan_is_cleared() {
    for (fault, applied) in [(Fault::DieBefore, 0), (Fault::DieAfter, 1)] {
        let scene = scene().await;
        let planned = scene.faults.next("deliver", fault);
        timeout(Duration::from_secs(60), scene.deliver("a")).await.unwrap_err();
        timeout(Duration::from_secs(60), scene.store.load_session(&scene.key)).await.unwrap_err();
        assert_eq!((planned.fired(), scene.unread().await), (1, applied), "{fault:?}");
        scene.faults.clear();
        assert!(scene.store.load_session(&scene.key).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_fault_hits_the_call_it_was_planned_for_and_no_other() {
    let scene = scene().await;
    let third = scene.faults.nth("deliver", 3, Fault::Refuse);
    let named = scene.faults.plan(
        |request| matches!(request, Request::Deliver(_, item) if item.key.as_str() == "z"),
        0,
        2,
        Fault::Fail,
    );
    assert!(scene.store.load_session(&scene.key).await.is_ok());
    assert!(scene.deliver("a").await.is_ok() && scene.deliver("b").await.is_ok());
    assert_eq!(third.fired(), 0);
    assert!(scene.deliver("c").await.is_err());
    assert!(scene.deliver("c").await.is_ok());
    assert_eq!((third.fired(), named.fired()), (1, 0));
    assert!(scene.deliver("z").await.is_err() && scene.deliver("z").await.is_err());
    assert!(scene.deliver("z").await.is_ok());
    assert_eq!(named.fired(), 2);
}
