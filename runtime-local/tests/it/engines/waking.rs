//! The wake-ups of an engine: one for each write that may give a session work, and none for other requests.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::agent::{BreakerRules, Retries};
use holdover_core::ids::{SessionKey, TenantId, WorkerId};
use holdover_core::message::SignalBody;
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{
    ClaimOne, ClaimOutcome, Deletion, PageRequest, SessionQuery, SessionStatus, StateStore,
};
use holdover_runtime_local::{
    Agent, Agents, BREAKER_TENANT, Deliver, Fork, Known, Runtime, RuntimeOptions, WakeUp, WorkerOptions,
};
use holdover_store_memory::MemoryStore;
use tokio::time::Instant;

use super::fake::Fake;
use crate::bench::{
    agent, agentless, completes, finish, options, runtime, say, settle, store, tenant, worker,
};
use crate::script::{Say, Script};
use crate::tools;

fn process(store: &MemoryStore, agent: &Arc<Agent>, options: RuntimeOptions) -> Runtime {
    Runtime::new(store.clone(), Agents::new().with(Arc::clone(agent)), options)
}

/// Waits for the wake-ups under way, and returns the sessions of those since the last call.
async fn woken(runtime: &Runtime, engine: &Fake) -> Vec<WakeUp> {
    assert!(runtime.tell_engine(Duration::from_secs(1)).await);
    engine.take_woken()
}

#[tokio::test(start_paused = true)]
async fn each_write_that_may_give_a_session_work_wakes_the_engine_once() {
    let agent = Arc::new(agent(&Script::new(|_| Say::Text("ok"))).build().unwrap());
    let (store, engine) = (store(), Fake::default());
    let front = process(&store, &agent, engine.options());
    let outside = runtime(&store, &agent);
    let wakes = async |what: &str, key: &SessionKey, status: SessionStatus| {
        let session = front.session(key).await.unwrap().unwrap();
        let known = Known::new(agent.queue().clone(), session.incarnation, status);
        assert_eq!(woken(&front, &engine).await, [WakeUp::new(key.clone(), Some(known))], "{what}");
    };

    let key = front.start(say(&agent, "go")).await.unwrap().key;
    wakes("create", &key, SessionStatus::Idle).await;
    completes(outside.resume(&key).await.unwrap()).await;
    assert_eq!(engine.take_woken(), [], "another runtime has no engine");

    let message = || Deliver::message("again").once("k".parse::<holdover_core::ids::ItemKey>().unwrap());
    front.deliver(&key, message()).await.unwrap();
    wakes("deliver", &key, SessionStatus::Idle).await;
    front.deliver(&key, message()).await.unwrap();
    wakes("a repeated delivery, because the first wake-up may be lost", &key, SessionStatus::Idle).await;

    let claims = |items| ClaimOne {
        run: "r1".parse().unwrap(),
        worker: WorkerId::new("somebody").unwrap(),
        lease: Duration::from_secs(1),
        expected_version: None,
        items,
    };
    let claimed = front.store().claim_session(&key, claims(Vec::new())).await.unwrap();
    assert!(matches!(claimed, ClaimOutcome::Claimed(_)));
    assert_eq!(woken(&front, &engine).await, [], "a bare claim");
    front.interrupt(&key, "stop").await.unwrap();
    wakes("interrupt", &key, SessionStatus::Active).await;
    front.interrupt(&key, "stop").await.unwrap();
    assert_eq!(woken(&front, &engine).await, [], "another stop waits already");
    let waiting = front.session(&key).await.unwrap().unwrap().interrupt.unwrap();
    front.store().request_interrupt(&key, waiting).await.unwrap();
    wakes("a repeated interrupt, because the first wake-up may be lost", &key, SessionStatus::Active).await;

    // A worker takes the session over and releases it.
    let guard = worker(&process(&store, &agent, engine.options()), WorkerOptions::default());
    front.wait(&key).await.unwrap();
    drop(guard);
    wait_for(&engine, "a release by a worker").await;
    assert_eq!(front.session(&key).await.unwrap().unwrap().status, SessionStatus::Interrupted);

    front.requeue(&key).await.unwrap();
    wakes("move", &key, SessionStatus::Suspended).await;
    let _watching = front.resume(&key).await.unwrap();
    wakes("resume, because the wake-up of the write may be lost", &key, SessionStatus::Suspended).await;
    completes(outside.resume(&key).await.unwrap()).await;
    let fork = front.fork(&key, Fork::newest()).await.unwrap().key;
    wakes("fork", &fork, SessionStatus::Idle).await;
    front.delete(&key, Deletion::UNLESS_ACTIVE).await.unwrap();
    assert_eq!(woken(&front, &engine).await, [WakeUp::new(key.clone(), None)], "delete");

    // What only reads, and what fails, wakes nobody.
    front.messages(&fork).await.unwrap();
    front.list(&SessionQuery::all(tenant())).await.unwrap();
    front.runs(&fork, PageRequest::default()).await.unwrap();
    front.deliver(&key, Deliver::message("gone")).await.unwrap_err();
    assert_eq!(woken(&front, &engine).await, []);
}

async fn wait_for(engine: &Fake, what: &str) {
    let began = Instant::now();
    while engine.take_woken().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(5), "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_with_a_claim_wakes_the_engine() {
    let model = Script::new(|_| Say::Slowly {
        pieces: vec!["ok".into()],
        apart: Duration::from_secs(5),
        whole: true,
    });
    let agent = Arc::new(agent(&model).build().unwrap());
    let (store, engine) = (store(), Fake::default());
    let here = process(&store, &agent, engine.options().run_here(true));
    let key = completes(here.execute(say(&agent, "go")).await.unwrap()).await;
    woken(&here, &engine).await;
    let run = here.execute(say(&agent, "more").in_session(key.id.clone())).await.unwrap();
    let found = woken(&here, &engine).await;
    assert_eq!(found.iter().map(|wake| &wake.key).collect::<Vec<_>>(), [&key]);
    completes(run).await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_down_delays_no_write_and_is_told_later() {
    let agent = Arc::new(agent(&Script::new(|_| Say::Text("ok"))).build().unwrap());
    let (store, engine) = (store(), Fake::refusing(5));
    let front = process(&store, &agent, engine.options());
    let began = Instant::now();
    let key = front.start(say(&agent, "go")).await.unwrap().key;
    assert!(began.elapsed() < Duration::from_millis(5), "the write did not wait");
    assert!(!front.tell_engine(Duration::from_millis(30)).await);
    assert!(front.tell_engine(Duration::from_secs(30)).await);
    assert_eq!((engine.left_to_refuse(), engine.take_woken().len()), (0, 1));
    assert_eq!(front.session(&key).await.unwrap().unwrap().unread, 1);
}

#[tokio::test(start_paused = true)]
async fn many_writes_to_one_session_are_one_wake_up_under_way_and_one_after_it() {
    let agent = Arc::new(agent(&Script::new(|_| Say::Text("ok"))).build().unwrap());
    let (store, engine) = (store(), Fake::refusing(3));
    let front = process(&store, &agent, engine.options());
    let key = front.start(say(&agent, "go")).await.unwrap().key;
    for _ in 0..100 {
        front.deliver(&key, Deliver::signal(SignalBody::Compact)).await.unwrap();
    }
    settle().await;
    assert_eq!(engine.left_to_refuse(), 2, "it was asked once so far");
    assert_eq!(woken(&front, &engine).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_that_fails_for_half_a_minute_is_left_to_the_net() {
    let agent = Arc::new(agent(&Script::new(|_| Say::Text("ok"))).build().unwrap());
    let (store, engine) = (store(), Fake::refusing(usize::MAX));
    let front = process(&store, &agent, engine.options());
    let began = Instant::now();
    let key = front.start(say(&agent, "go")).await.unwrap().key;
    assert!(!front.tell_engine(Duration::from_secs(29)).await);
    let since = Instant::now();
    assert!(!front.tell_engine(Duration::from_secs(3600)).await, "it is given up");
    assert!(since.elapsed() < Duration::from_secs(20));
    assert!(front.tell_engine(Duration::ZERO).await, "this is said once");

    // The net hears no hints: it looks when its worker begins, and then every 30 seconds.
    let process = process(&store, &agent, options());
    let _net = worker(&process, WorkerOptions::net());
    assert_eq!(agentless(&store).wait(&key).await.unwrap().kind().as_str(), "completed");
    let begun = Instant::now();
    front.deliver(&key, Deliver::message("more")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(front.session(&key).await.unwrap().unwrap().unread, 1, "it heard no hint");
    while front.session(&key).await.unwrap().unwrap().unread > 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(begun.elapsed() < WorkerOptions::NET_POLL + Duration::from_secs(1));
    }
    assert!(began.elapsed() > Duration::from_secs(29));
}

/// A tool that asks the engine nothing: the writes of a step are no wake-ups.
#[tokio::test(start_paused = true)]
async fn the_progress_of_a_run_wakes_nobody_until_it_releases_the_session() {
    let model = Script::calling(vec![("work", "{}")]);
    let agent = Arc::new(agent(&model).tool(tools::Fake::echo("work")).build().unwrap());
    let (store, engine) = (store(), Fake::default());
    let here = process(&store, &agent, engine.options().run_here(true));
    completes(here.execute(say(&agent, "go")).await.unwrap()).await;
    let found = woken(&here, &engine).await;
    assert!((1..=2).contains(&found.len()), "its creation and its release: {found:?}");
}

/// The records of breakers and the probe of writes lie in the store, too, and no worker serves them.
#[tokio::test(start_paused = true)]
async fn records_that_are_no_sessions_wake_nobody() {
    let model = Script::new(|_| Say::Fail(ModelError::new(ModelErrorKind::Unavailable, "down")));
    let agent = agent(&model).retries(Retries::none()).breaker(BreakerRules::default());
    let agent = Arc::new(agent.build().unwrap());
    let (store, engine) = (store(), Fake::default());
    let here = process(&store, &agent, engine.options().run_here(true));
    let (key, _) = finish(here.execute(say(&agent, "go")).await.unwrap()).await;
    here.check_writes().await.unwrap();
    let records = TenantId::new(BREAKER_TENANT).unwrap();
    assert_ne!(here.list(&SessionQuery::all(records)).await.unwrap().items, [], "the breaker has a record");
    let found = woken(&here, &engine).await;
    assert!(found.iter().all(|wake| wake.key == key), "{found:?}");
}

/// An engine may keep the sessions of each agent elsewhere, so it learns of both.
#[tokio::test(start_paused = true)]
async fn a_session_that_is_deleted_and_created_again_at_once_is_two_wake_ups() {
    let agent = Arc::new(agent(&Script::new(|_| Say::Text("ok"))).build().unwrap());
    let (store, engine) = (store(), Fake::default());
    let front = process(&store, &agent, engine.options());
    let key = front.start(say(&agent, "go")).await.unwrap().key;
    woken(&front, &engine).await;
    front.delete(&key, Deletion::UNLESS_ACTIVE).await.unwrap();
    front.start(say(&agent, "again").in_session(key.id.clone())).await.unwrap();
    let session = front.session(&key).await.unwrap().unwrap();
    let known = Known::new(agent.queue().clone(), session.incarnation, SessionStatus::Idle);
    let (deleted, created) = (WakeUp::new(key.clone(), None), WakeUp::new(key.clone(), Some(known)));
    let woken = woken(&front, &engine).await;
    assert!(woken.starts_with(&[deleted, created]), "{woken:?}");
}

/// The engine needs 44 seconds for all of them. The last ones wait for their turn, and none is given up.
#[tokio::test(start_paused = true)]
async fn seven_hundred_sessions_at_once_are_told_a_few_at_a_time() {
    let agent = Arc::new(agent(&Script::new(|_| Say::Text("ok"))).build().unwrap());
    let (store, engine) = (store(), Fake::slow(Duration::from_secs(2)));
    let front = process(&store, &agent, engine.options());
    for _ in 0..700 {
        front.start(say(&agent, "go")).await.unwrap();
    }
    assert!(front.tell_engine(Duration::from_secs(60)).await, "none was given up");
    assert_eq!(engine.take_woken().len(), 700);
    assert_eq!(engine.most_at_once(), 32);
}
