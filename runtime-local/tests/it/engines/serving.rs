//! Serving a session once: what is run, and what the engine is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use holdover_core::engine::STATE_FORMAT;
use holdover_core::ids::{SessionId, StateFormat};
use holdover_core::message::ResultStatus;
use holdover_core::payload::Payload;
use holdover_core::store::{
    Answer, ClaimOne, ClaimOutcome, Commit, Deletion, Interrupt, InterruptKind, Layer, Layered, NewState,
    Release, Request, SessionStatus, StateStore, StoreError, StoreErrorKind,
};
use holdover_core::time::Timestamp;
use holdover_core::tool::{EffectClass, ToolOutput};
use holdover_core::{engine::Drain, ids::SessionKey};
use holdover_runtime_local::{Agents, Deliver, Next, Runtime, RuntimeErrorKind};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::fake::Fake;
use crate::bench::{
    agent, agentless, asking_for, only_pending, only_result, runtime, say, settle, store, tenant,
};
use crate::script::{Say, Script};
use crate::tools;

#[tokio::test(start_paused = true)]
async fn an_engine_serves_a_turn_from_its_message_to_its_end_across_an_approval() {
    let tool = tools::Fake::echo("pay");
    let model = Script::calling(vec![("pay", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let (store, engine) = (store(), Fake::default());
    let process = Runtime::new(store.clone(), Agents::new().with(Arc::clone(&agent)), engine.options());
    let _engine = tokio::spawn({
        let (engine, process) = (engine.clone(), process.clone());
        async move { engine.work(|| process.clone()).await }
    });
    let run = process.execute(say(&agent, "go")).await.unwrap();
    assert_eq!(run.epoch(), None, "it does not run in the call");
    let key = run.key().clone();
    assert_eq!(run.outcome().await.unwrap().kind().as_str(), "suspended_client_tool");
    settle().await;
    // While a person thinks, the engine keeps the session and runs nothing.
    assert_eq!(engine.open(), std::slice::from_ref(&key));
    let call = only_pending(&process, &key).await;
    process.approve(&key, &call, "ann").await.unwrap();
    assert_eq!(process.wait(&key).await.unwrap().kind().as_str(), "completed");
    settle().await;
    assert_eq!(engine.open(), Vec::<SessionKey>::new());
    assert_eq!(tool.calls().len(), 1);
    assert_eq!(process.session(&key).await.unwrap().unwrap().epoch.0, 2, "one run for each wake-up");
    assert!(matches!(engine.told()[..], [Next::At(_), Next::Rests]), "{:?}", engine.told());
}

#[tokio::test(start_paused = true)]
async fn the_answer_says_what_the_session_needs_next() {
    let model = Script::calling(vec![("pay", "{}")]);
    let agent =
        Arc::new(agent(&model).tool(tools::Fake::echo("pay")).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let process = runtime(&store, &agent);
    let nobody = SessionKey::new(tenant(), SessionId::new("nobody").unwrap());
    let served = process.serve(&nobody).await.unwrap();
    assert_eq!((served.next, served.session), (Next::Gone, None));

    let key = process.start(say(&agent, "go")).await.unwrap().key;
    // Another process has no such agent, and claims nothing.
    let before = process.session(&key).await.unwrap();
    let other = agentless(&store).serve(&key).await.unwrap();
    assert_eq!(other.next, Next::NotHere);
    assert_eq!(process.session(&key).await.unwrap(), before);

    let parked = process.serve(&key).await.unwrap();
    let session = process.session(&key).await.unwrap().unwrap();
    let left = process.now().until(session.alarm.unwrap());
    assert_eq!(parked.next, Next::At(left), "the deadline of the approval");
    let known = parked.session.unwrap();
    assert_eq!((known.status, &known.queue), (SessionStatus::Suspended, agent.queue()));
    assert_eq!(process.serve(&key).await.unwrap().next, Next::At(left), "nothing is done before it");
    assert_eq!(process.session(&key).await.unwrap().unwrap(), session);
    // Nobody needs the agent to end the session.
    process.deliver(&key, Deliver::message("never mind")).await.unwrap();
    store.request_interrupt(&key, interrupt()).await.unwrap();
    let other = agentless(&store);
    assert_eq!(other.serve(&key).await.unwrap().next, Next::At(Duration::ZERO), "a message is left");
    assert_eq!(process.session(&key).await.unwrap().unwrap().status, SessionStatus::Interrupted);
    assert_eq!(other.serve(&key).await.unwrap().next, Next::NotHere, "the message needs the agent");
    process.delete(&key, Deletion::UNLESS_ACTIVE).await.unwrap();
    assert_eq!(process.serve(&key).await.unwrap().next, Next::Gone);
}

fn interrupt() -> Interrupt {
    let id = "stop".parse().unwrap();
    Interrupt {
        id,
        kind: InterruptKind::Soft,
        reason: "enough".into(),
        at: Timestamp::EPOCH,
        incarnation: None,
    }
}

/// While a run is on, a broken connection to the engine changes nothing: the run goes on, and the next request of the
/// engine waits for the same run.
#[tokio::test(start_paused = true)]
async fn a_run_belongs_to_the_process_and_not_to_the_request_of_the_engine() {
    let door = Arc::new(Semaphore::new(0));
    let tool = tools::Fake::new("send", {
        let door = Arc::clone(&door);
        move |_| {
            let door = Arc::clone(&door);
            async move {
                door.acquire().await.unwrap().forget();
                Ok(ToolOutput::text("sent").into())
            }
        }
    });
    let model = Script::calling(vec![("send", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let process = runtime(&store, &agent);
    let key = process.start(say(&agent, "go")).await.unwrap().key;
    for _ in 0..3 {
        // The request is dropped in the middle of the call.
        assert!(timeout(Duration::from_secs(7), process.serve(&key)).await.is_err());
    }
    assert_eq!(tool.calls().len(), 1);
    door.add_permits(1);
    assert_eq!(process.serve(&key).await.unwrap().next, Next::Rests);
    assert_eq!(only_result(&process, &key).await, (ResultStatus::Done, "sent".into()));
    assert_eq!((tool.calls().len(), process.session(&key).await.unwrap().unwrap().epoch.0), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_another_process_runs_is_served_again_when_its_lease_ends() {
    let model = Script::calling(vec![("work", "{}")]);
    let tool = tools::Fake::stuck("work").effect(EffectClass::AtMostOnce);
    let agent = Arc::new(agent(&model).tool(tool).build().unwrap());
    let store = store();
    let (first, second) = (runtime(&store, &agent), runtime(&store, &agent));
    // The claim of another session tells the process what time it is in the store.
    second.execute(say(&agent, "other")).await.unwrap().first_outcome().now_or_never();
    let run = first.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    settle().await;
    let Next::At(after) = second.serve(&key).await.unwrap().next else { panic!("its lease runs") };
    let lease = Duration::from_secs(30);
    assert!(after <= lease && after > lease - Duration::from_secs(1), "{after:?}");
    // The other process dies. Its call is in doubt, because nobody knows whether it acted.
    drop(run);
    tokio::time::sleep(after).await;
    assert_eq!(second.serve(&key).await.unwrap().next, Next::Rests);
    assert_eq!(only_result(&second, &key).await.0, ResultStatus::InDoubt);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_drains_leaves_a_served_session_to_another() {
    let model = Script::calling(vec![("work", "{}")]);
    let tool = tools::Fake::new("work", |_| async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        Ok(ToolOutput::text("done").into())
    });
    let agent = Arc::new(agent(&model).tool(tool).build().unwrap());
    let store = store();
    let (first, second) = (runtime(&store, &agent), runtime(&store, &agent));
    let key = first.start(say(&agent, "go")).await.unwrap().key;
    let (served, dropped) = tokio::join!(first.serve(&key), async {
        settle().await;
        first.drain(Drain::Calls, Duration::from_secs(60)).await
    });
    assert_eq!((served.unwrap().next, dropped), (Next::NotHere, 0));
    assert_eq!(first.serve(&key).await.unwrap().next, Next::NotHere, "it starts nothing any more");
    assert_eq!(second.serve(&key).await.unwrap().next, Next::Rests);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_fires_at_the_time_that_the_engine_was_told() {
    let model = Script::calling(vec![("pay", "{}")]);
    let tool = tools::Fake::echo("pay");
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let process = runtime(&store(), &agent);
    let key = process.start(say(&agent, "go")).await.unwrap().key;
    let Next::At(after) = process.serve(&key).await.unwrap().next else {
        panic!("an approval has a deadline")
    };
    tokio::time::sleep(after - Duration::from_millis(1)).await;
    assert_eq!(process.serve(&key).await.unwrap().next, Next::At(Duration::from_millis(1)));
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(process.serve(&key).await.unwrap().next, Next::Rests);
    assert_eq!((only_result(&process, &key).await.0, tool.calls().len()), (ResultStatus::Error, 0));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_is_an_error_and_a_lost_claim_is_tried_again() {
    let agent = Arc::new(agent(&Script::new(|_| Say::Text("ok"))).build().unwrap());
    let store = store();
    let process = runtime(&store, &agent);
    let key = process.start(say(&agent, "go")).await.unwrap().key;
    let broken = Arc::new(Broken::default());
    let other = runtime(&Layered::<_, Broken>::new(store, Arc::clone(&broken)), &agent);
    broken.claims.store(true, Ordering::SeqCst);
    assert_eq!(other.serve(&key).await.unwrap().next, Next::At(Duration::from_secs(1)), "not at once");
    broken.reads.store(true, Ordering::SeqCst);
    let error = other.serve(&key).await.unwrap_err();
    assert_eq!(error.kind(), RuntimeErrorKind::Unavailable, "{error}");
    broken.claims.store(false, Ordering::SeqCst);
    broken.reads.store(false, Ordering::SeqCst);
    assert_eq!(other.serve(&key).await.unwrap().next, Next::Rests);
}

/// A store that does not answer reads of sessions, or claims.
#[derive(Default)]
struct Broken {
    reads: AtomicBool,
    claims: AtomicBool,
}

#[async_trait]
impl Layer for Broken {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let breaks = match request.operation() {
            "load_session" => &self.reads,
            "claim_session" => &self.claims,
            _ => return request.perform(&store).await,
        };
        match breaks.load(Ordering::SeqCst) {
            true => Err(StoreError::new(StoreErrorKind::Unavailable, request.operation(), "a test says so")),
            false => request.perform(&store).await,
        }
    }
}

/// A session of a newer version, and one whose state is broken while a stop waits: no process claims them over and over.
#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_read_here_is_left_to_another_process_and_not_asked_for_in_a_loop() {
    let model = Script::calling(vec![("pay", "{}")]);
    let agent =
        Arc::new(agent(&model).tool(tools::Fake::echo("pay")).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let process = runtime(&store, &agent);
    for format in [STATE_FORMAT, StateFormat(STATE_FORMAT.0 + 1)] {
        let key = process.start(say(&agent, "go")).await.unwrap().key;
        let Next::At(_) = process.serve(&key).await.unwrap().next else {
            panic!("an approval has a deadline")
        };
        let claim = ClaimOne {
            run: format!("r{}", format.0).parse().unwrap(),
            worker: "somebody".parse().unwrap(),
            lease: Duration::from_secs(1),
            expected_version: None,
            items: Vec::new(),
        };
        let ClaimOutcome::Claimed(claim) = store.claim_session(&key, claim).await.unwrap() else { panic!() };
        let mut commit = Commit::new(format!("c{}", format.0).parse().unwrap());
        commit.state = Some(NewState { payload: Payload::json(&"unknown").unwrap(), format });
        let release = Release::To { status: SessionStatus::Suspended, deadline: Some(claim.now), wake_on: 0 };
        commit.release = Some(release);
        store.commit(&claim.fence, commit).await.unwrap();
        store.request_interrupt(&key, interrupt()).await.unwrap();
        let before = process.session(&key).await.unwrap().unwrap().epoch;
        assert_eq!(process.serve(&key).await.unwrap().next, Next::NotHere, "format {format:?}");
        let claims = process.session(&key).await.unwrap().unwrap().epoch.0 - before.0;
        assert_eq!(claims, u64::from(format == STATE_FORMAT), "format {format:?}");
    }
}
