//! Leases, takeovers and lost answers.
//!
//! Requirements: B07, C43, H01.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use holdover_core::message::ResultStatus;
use holdover_core::store::OutcomeKind;
use holdover_core::tool::{EffectClass, ToolOutput};
use holdover_runtime_local::{RuntimeError, WorkerOptions};
use tokio::time::Instant;

use crate::bench::{agent, completes, only_result, runtime, say, settle, store, transcript, worker};
use crate::script::{Say, Script};
use crate::stopping::Rooms;
use crate::stub_store::{LATE, stumbling};
use crate::tools::Fake;

/// Returns a tool whose first call never returns; later calls do.
fn stuck_once(name: &str) -> Fake {
    let calls = std::sync::atomic::AtomicU32::new(0);
    Fake::new(name, move |_| {
        let first = calls.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if first {
                futures::future::pending::<()>().await;
            }
            Ok(ToolOutput::text("done").into())
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_worker_takes_over_what_a_dropped_runtime_left_in_the_middle_of_a_call() {
    for (effect, sends, expect) in [
        (EffectClass::Idempotent, 2, ResultStatus::Done),
        (EffectClass::AtMostOnce, 1, ResultStatus::InDoubt),
    ] {
        let tool = stuck_once("act").effect(effect);
        let model = Script::calling(vec![("act", "{}")]);
        let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
        let store = store();
        let first = runtime(&store, &agent);
        let run = first.execute(say(&agent, "go")).await.unwrap();
        let key = run.key().clone();
        while tool.calls().is_empty() {
            settle().await;
        }
        drop(run);
        let dropped = Instant::now();
        let second = runtime(&store, &agent);
        let _worker = worker(&second, WorkerOptions::default());
        assert_eq!(first.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
        assert!(dropped.elapsed() < Duration::from_secs(32), "within lease + 2 s (INV-34)");
        assert_eq!(tool.calls().len(), sends, "{effect:?}");
        assert_eq!(only_result(&second, &key).await.0, expect);
        let keys: Vec<_> = tool.calls().into_iter().map(|call| call.idempotency_key).collect();
        assert!(keys.iter().all(|key| *key == keys[0]), "every send carries one key (INV-14)");
    }
}

/// Requirements: B07, H01.
#[tokio::test(start_paused = true)]
async fn a_session_that_runs_is_held_and_its_lease_is_kept() {
    let tool = stuck_once("act").effect(EffectClass::ReadOnly);
    let model = Script::calling(vec![("act", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let (first, second) = (runtime(&store, &agent), runtime(&store, &agent));
    let run = first.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    while tool.calls().is_empty() {
        settle().await;
    }
    // The call has a time limit of 30 s, as long as the lease.
    tokio::time::sleep(Duration::from_secs(29)).await;
    let refused = second.execute(say(&agent, "me too").in_session(key.id.clone())).await;
    match refused {
        Err(RuntimeError::Held { worker, .. }) => assert_eq!(&worker, first.worker_id()),
        other => panic!("{other:?}"),
    }
    completes(run).await;
}

#[tokio::test(start_paused = true)]
async fn a_commit_whose_answer_is_lost_is_repeated_and_lands_once() {
    let tool = Fake::echo("act");
    let model = Script::calling(vec![("act", r#"{"n":1}"#)]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = stumbling(store());
    store.layer().commit_answers_to_lose.store(2, Ordering::SeqCst);
    store.layer().commits_to_refuse.store(1, Ordering::SeqCst);
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(store.layer().fired(), 3);
    assert_eq!(transcript(&runtime, &key).await.len(), 4, "user, call, result, answer: each once");
    assert_eq!(tool.calls().len(), 1);
}

/// The number of the commit that carries the intents of the first step. The commit before it begins the turn.
const INTENTS: u32 = 2;

#[tokio::test(start_paused = true)]
async fn an_effect_is_not_sent_when_the_lease_has_ended_before_it() {
    let tool = Fake::echo("act").effect(EffectClass::AtMostOnce);
    let model = Script::calling(vec![("act", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = stumbling(store());
    // The intent is stored, but its answer comes after the lease has ended, and no renewal gets through.
    store.layer().late_commit.store(INTENTS, Ordering::SeqCst);
    *store.layer().no_renewals_until.lock().unwrap() = Some(Instant::now() + 10 * LATE);
    let first = runtime(&store, &agent);
    let began = Instant::now();
    let mut run = first.execute(say(&agent, "go")).await.unwrap();
    let outcome = run.first_outcome().await.unwrap().unwrap();
    assert_eq!(outcome.kind(), OutcomeKind::Lost);
    assert!(began.elapsed() > LATE, "the answer to the commit was heard: {:?}", began.elapsed());
    assert!(store.layer().fired() >= 2);
    assert_eq!(tool.calls(), []);

    let second = runtime(&store, &agent);
    assert_eq!(second.wait(run.key()).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool.calls(), [], "its start mark is durable: it is never sent (INV-15)");
    assert_eq!(only_result(&second, run.key()).await.0, ResultStatus::InDoubt);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_ended_is_renewed_before_an_effect_is_sent() {
    let sent_at = Arc::new(std::sync::Mutex::new(None));
    let tool = Fake::new("act", {
        let sent_at = Arc::clone(&sent_at);
        move |_| {
            *sent_at.lock().unwrap() = Some(Instant::now());
            async { Ok(ToolOutput::text("acted").into()) }
        }
    });
    let model = Script::calling(vec![("act", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.effect(EffectClass::AtMostOnce)).build().unwrap());
    let store = stumbling(store());
    let renewed_from = Instant::now() + LATE + Duration::from_millis(100);
    store.layer().late_commit.store(INTENTS, Ordering::SeqCst);
    *store.layer().no_renewals_until.lock().unwrap() = Some(renewed_from);
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert!(store.layer().fired() >= 2);
    assert!(sent_at.lock().unwrap().is_some_and(|sent| sent >= renewed_from));
    assert_eq!(only_result(&runtime, &key).await, (ResultStatus::Done, "acted".into()));
}

/// Requirements: C43.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_races_the_end_of_a_turn_is_never_lost() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    for _ in 0..50 {
        let run = runtime.execute(say(&agent, "first")).await.unwrap();
        let key = run.key().clone();
        let racing = tokio::spawn({
            let (runtime, key) = (runtime.clone(), key.clone());
            async move { runtime.deliver(&key, holdover_runtime_local::Deliver::message("second")).await }
        });
        completes(run).await;
        assert_eq!(racing.await.unwrap().unwrap(), holdover_runtime_local::Delivered::Accepted);
        assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
        let users = transcript(&runtime, &key).await;
        let users = users.iter().filter(|message| message.role() == "user").count();
        assert_eq!(users, 2);
        assert_eq!(runtime.session(&key).await.unwrap().unwrap().unread, 0);
    }
}

/// The number of the commit that begins a turn.
const BEGINNING: u32 = 1;

#[tokio::test(start_paused = true)]
async fn nothing_is_made_ready_when_the_lease_has_ended_before_it() {
    let rooms = Arc::new(Rooms::default());
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).provisioner(rooms.clone()).build().unwrap());
    let store = stumbling(store());
    store.layer().late_commit.store(BEGINNING, Ordering::SeqCst);
    *store.layer().no_renewals_until.lock().unwrap() = Some(Instant::now() + 10 * LATE);
    let first = runtime(&store, &agent);
    let mut run = first.execute(say(&agent, "go")).await.unwrap();
    assert_eq!(run.first_outcome().await.unwrap().unwrap().kind(), OutcomeKind::Lost);
    assert!(store.layer().fired() >= 2);
    assert_eq!(*rooms.0.lock().unwrap(), []);
    assert_eq!(runtime(&store, &agent).wait(run.key()).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(*rooms.0.lock().unwrap(), [("made", 1), ("freed", 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_last_commit_is_answered_late_is_not_lost_although_its_fence_has_ended() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = stumbling(store());
    // The next commit after the one that begins the turn ends the turn and releases the session.
    store.layer().late_commit.store(BEGINNING + 1, Ordering::SeqCst);
    let began = Instant::now();
    let mut run = runtime(&store, &agent).execute(say(&agent, "go")).await.unwrap();
    let outcome = run.first_outcome().await.unwrap().unwrap();
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    assert!(store.layer().fired() == 1 && began.elapsed() >= LATE, "it was renewed in vain meanwhile");
}
