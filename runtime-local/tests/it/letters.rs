//! Dead letters: sessions that were given up are listed across a tenant, and replayed.
//!
//! Requirements: C52.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdover_core::agent::Retries;
use holdover_core::ids::{PendingId, SessionKey};
use holdover_core::letter::LetterCause;
use holdover_core::message::{Message, ResultStatus};
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{Deletion, OutcomeKind, PageRequest, PendingKind, SessionStatus, StateStore};
use holdover_runtime_local::{
    Agent, DeadLetter, Deliver, Delivered, Retention, Runtime, RuntimeError, SubAgent, WorkerOptions,
};

use crate::bench::{agent, agentless, file_store, finish, only_result, runtime, say, store, tenant, worker};
use crate::script::{Say, Script, results};

/// Returns a model that is down until the returned flag is set.
fn broken() -> (Script, Arc<AtomicBool>) {
    let mended = Arc::new(AtomicBool::new(false));
    let works = Arc::clone(&mended);
    let model = Script::new(move |_| match works.load(Ordering::SeqCst) {
        true => Say::Text("back again"),
        false => Say::Fail(ModelError::new(ModelErrorKind::Provider, "down")),
    });
    (model, mended)
}

fn clerk(model: &Script) -> Arc<Agent> {
    Arc::new(agent(model).retries(Retries::default().model_waits_ms(vec![1])).build().unwrap())
}

async fn letters(runtime: &Runtime) -> Vec<DeadLetter> {
    runtime.dead_letters(&tenant(), PageRequest::default()).await.unwrap().items
}

async fn fails(runtime: &Runtime, agent: &Arc<Agent>) -> SessionKey {
    let (key, outcome) = finish(runtime.execute(say(agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Failed);
    key
}

#[tokio::test(start_paused = true)]
async fn c52_a_session_whose_processes_die_leaves_a_letter_and_is_replayed_once() {
    let mended = Arc::new(AtomicBool::new(false));
    let works = Arc::clone(&mended);
    let model = Script::new(move |_| match works.load(Ordering::SeqCst) {
        true => Say::Text("back again"),
        false => Say::Nothing,
    });
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let front = agentless(&store);
    let key = front.start(say(&agent, "go").served_elsewhere()).await.unwrap().key;
    // Each process dies while it waits for the model.
    while front.session(&key).await.unwrap().unwrap().status != SessionStatus::Failed {
        let mortal = runtime(&store, &agent);
        let process = holdover_runtime_local::Worker::new(mortal, WorkerOptions::default())
            .spawn(holdover_runtime_local::CancellationToken::new());
        tokio::time::sleep(Duration::from_secs(1)).await;
        process.abort();
        tokio::time::sleep(Duration::from_secs(40)).await;
    }
    let letter = letters(&front).await.remove(0);
    assert_eq!((letter.key(), letter.letter.cause, letter.letter.attempts), (&key, LetterCause::Poisoned, 5));
    assert_eq!(letter.letter.error.code, "engine.poisoned");
    // It is one of the pending calls, and nobody may approve it.
    let pending = front.pending(&key).await.unwrap();
    assert_eq!(
        (&pending[0].call.kind, pending[0].body.tool.as_str()),
        (&PendingKind::DeadLetter, "dead_letter")
    );
    let approved = front.approve(&key, letter.id(), "ada").await;
    assert!(matches!(approved, Err(RuntimeError::OtherAnswer { .. })), "{approved:?}");

    mended.store(true, Ordering::SeqCst);
    assert_eq!(front.replay_letter(&key, letter.id()).await.unwrap(), Delivered::Accepted);
    assert_eq!(front.replay_letter(&key, letter.id()).await.unwrap(), Delivered::Duplicate);
    assert!(letters(&front).await[0].is_replayed());
    let _worker = worker(&runtime(&store, &agent), WorkerOptions::default());
    assert_eq!(front.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(letters(&front).await, []);
    assert_eq!(front.replay_letter(&key, letter.id()).await.unwrap(), Delivered::Duplicate);
    let said = front.messages(&key).await.unwrap();
    assert_eq!(said.iter().filter(|entry| matches!(entry.message, Message::User(_))).count(), 1);
}

#[tokio::test]
async fn c52_letters_in_a_file_are_listed_page_by_page_and_closed_by_whatever_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    pages_and_ends(&file_store(folder.path().join("store.db")).await).await;
}

#[tokio::test(start_paused = true)]
async fn c52_letters_in_memory_are_listed_page_by_page_and_closed_by_whatever_goes_on() {
    pages_and_ends(&store()).await;
}

async fn pages_and_ends(store: &(impl StateStore + Clone)) {
    let (model, mended) = broken();
    let agent = clerk(&model);
    let runtime = runtime(store, &agent);
    let mut keys = Vec::new();
    for _ in 0..5 {
        keys.push(fails(&runtime, &agent).await);
    }
    let (mut found, mut page) = (Vec::new(), PageRequest { after: None, limit: NonZeroU32::new(2) });
    loop {
        let one = runtime.dead_letters(&tenant(), page).await.unwrap();
        assert!(one.items.len() <= 2 && one.unreadable.is_empty());
        found.extend(one.items);
        let Some(after) = one.next else { break };
        page = PageRequest { after: Some(after), limit: NonZeroU32::new(2) };
    }
    let mut expected = keys.clone();
    expected.sort();
    assert_eq!(found.iter().map(|letter| letter.key().clone()).collect::<Vec<_>>(), expected);
    let id = |key: &SessionKey| found.iter().find(|letter| letter.key() == key).unwrap().id().clone();

    // A retention rule leaves them alone; a deletion does not.
    let all = Retention::sessions(Duration::ZERO).of_tenant(tenant());
    assert_eq!(runtime.purge(&all).await.unwrap().sessions, 0);
    mended.store(true, Ordering::SeqCst);
    runtime.retry(&keys[0]).await.unwrap().outcome().await.unwrap();
    runtime.deliver(&keys[1], Deliver::message("again")).await.unwrap();
    runtime.resume(&keys[1]).await.unwrap().outcome().await.unwrap();
    runtime.abort(&keys[2], "enough").await.unwrap();
    let _worker = worker(&runtime, WorkerOptions::default());
    assert_eq!(runtime.wait(&keys[2]).await.unwrap().kind(), OutcomeKind::Aborted);
    runtime.delete(&keys[3], Deletion::UNLESS_ACTIVE).await.unwrap();
    for key in &keys[..3] {
        let refused = runtime.replay_letter(key, &id(key)).await;
        assert!(matches!(refused, Err(RuntimeError::NotPending { .. })), "{key}: {refused:?}");
    }
    let deleted = runtime.replay_letter(&keys[3], &id(&keys[3])).await;
    assert!(matches!(deleted, Err(RuntimeError::NotFound { .. })), "{deleted:?}");
    let stranger = runtime.replay_letter(&keys[4], &id(&keys[0])).await;
    assert!(matches!(stranger, Err(RuntimeError::NotAsked { .. })), "{stranger:?}");
    let nonsense = runtime.replay_letter(&keys[4], &PendingId::new("nonsense").unwrap()).await;
    assert!(matches!(nonsense, Err(RuntimeError::NotAsked { .. })), "{nonsense:?}");
    let left = letters(&runtime).await;
    assert_eq!(left.iter().map(|letter| letter.key().clone()).collect::<Vec<_>>(), [keys[4].clone()]);
    assert_eq!(runtime.session(&keys[4]).await.unwrap().unwrap().status, SessionStatus::Failed);
}

#[tokio::test(start_paused = true)]
async fn c52_a_child_that_is_replayed_goes_on_alone() {
    let mended = Arc::new(AtomicBool::new(false));
    let works = Arc::clone(&mended);
    let model = Script::new(move |request| {
        if request.system.contains("You help.") {
            return match works.load(Ordering::SeqCst) {
                true => Say::Text("done after all"),
                false => Say::Fail(ModelError::new(ModelErrorKind::Provider, "down")),
            };
        }
        match results(request).is_empty() {
            true => Say::Calls(vec![("helper", r#"{"tasks":["count"]}"#)]),
            false => Say::Text("a pity"),
        }
    });
    let helper = SubAgent::new("helper", "Does one thing.").instructions("You help.");
    let retries = Retries::default().model_waits_ms(vec![1]);
    let agent = Arc::new(agent(&model).retries(retries).sub_agent(helper).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (parent, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    let (status, told) = only_result(&runtime, &parent).await;
    assert_eq!(status, ResultStatus::Error);
    assert!(told.contains("down"), "{told}");
    let before = runtime.messages(&parent).await.unwrap();

    let letter = letters(&runtime).await.remove(0);
    assert_ne!(letter.key(), &parent);
    mended.store(true, Ordering::SeqCst);
    assert_eq!(runtime.replay_letter(letter.key(), letter.id()).await.unwrap(), Delivered::Accepted);
    let _worker = worker(&runtime, WorkerOptions::default());
    assert_eq!(runtime.wait(letter.key()).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(runtime.last_text(letter.key()).await.unwrap().as_deref(), Some("done after all"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let parent_now = runtime.session(&parent).await.unwrap().unwrap();
    assert_eq!((parent_now.status, parent_now.unread, parent_now.alarm), (SessionStatus::Idle, 0, None));
    assert_eq!(runtime.messages(&parent).await.unwrap(), before, "the parent hears nothing more");
    assert_eq!(letters(&runtime).await, []);
}
