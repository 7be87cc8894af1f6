//! Workers: bounded, patient, and harmless to sessions of agents that they do not know.
//!
//! Requirements: C06, C56, U13.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use holdover_core::error::ErrorInfo;
use holdover_core::ids::{OperationId, QueueLabel, RunId, StateFormat, WorkerId};
use holdover_core::payload::Payload;
use holdover_core::store::{
    Answer, ClaimOne, ClaimOutcome, Commit, CommitOutcome, InterruptOutcome, Layer, Layered, NewState,
    OutcomeKind, PageRequest, Queues, Release, Request, SessionStatus, StateStore, StoreError,
};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::{Worker, WorkerOptions};
use tokio_util::sync::CancellationToken;

use crate::bench::{agent, agentless, runtime, say, settle, store, worker};
use crate::script::{Say, Script};
use crate::stub_store::stumbling;
use crate::tools::Fake;

/// Requirements: C06, C56.
#[tokio::test(start_paused = true)]
async fn no_more_sessions_run_than_the_worker_has_places() {
    let (out, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tool = Fake::new("work", {
        let (out, most) = (Arc::clone(&out), Arc::clone(&most));
        move |_| {
            let (out, most) = (Arc::clone(&out), Arc::clone(&most));
            async move {
                let now = out.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                out.fetch_sub(1, Ordering::SeqCst);
                Ok(ToolOutput::text("worked").into())
            }
        }
    });
    let model = Script::calling(vec![("work", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool).build().unwrap());
    let store = store();
    let front = agentless(&store);
    let mut started = Vec::new();
    for _ in 0..7 {
        started.push(front.start(say(&agent, "go").served_elsewhere()).await.unwrap().key);
    }
    let options = WorkerOptions::default().max_running(NonZeroUsize::new(3).unwrap());
    let _worker = worker(&runtime(&store, &agent), options);
    for key in &started {
        assert_eq!(front.wait(key).await.unwrap().kind(), OutcomeKind::Completed);
    }
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn h15_a_session_of_an_unknown_agent_is_given_back_with_the_reason_and_can_still_be_stopped() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let front = agentless(&store);
    let key = front.start(say(&agent, "go").served_elsewhere()).await.unwrap().key;
    let served = Queues::Named(vec![agent.queue().clone()]);
    let lost = worker(&agentless(&store), WorkerOptions::default().queues(served));
    tokio::time::sleep(Duration::from_secs(60)).await;
    let session = front.session(&key).await.unwrap().unwrap();
    assert_eq!((session.status, session.lease), (SessionStatus::Idle, None));
    assert!(session.epoch.0 <= 9, "given back for longer and longer, not over and over: {}", session.epoch);
    let later = session.updated_at.after(Duration::from_secs(25));
    assert!(session.alarm.is_some_and(|alarm| alarm > later));
    let run = front.runs(&key, PageRequest::default()).await.unwrap().items.remove(0);
    let end = run.end.expect("it is over");
    let why: ErrorInfo = end.detail.expect("it says why").parse().unwrap();
    assert_eq!((end.outcome, why.code.as_str()), (OutcomeKind::Released, "runtime.agent_unknown"));

    // A worker that knows the agent takes the session when its alarm is due.
    drop(lost);
    let _worker = worker(&runtime(&store, &agent), WorkerOptions::default());
    assert_eq!(front.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);

    let other = front.start(say(&agent, "go").served_elsewhere()).await.unwrap().key;
    front.abort(&other, "never mind").await.unwrap();
    assert_eq!(front.session(&other).await.unwrap().unwrap().status, SessionStatus::Aborted);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_cannot_run_a_session_keeps_it_only_for_a_moment_from_one_that_can() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let front = agentless(&store);
    let served = Queues::Named(vec![agent.queue().clone()]);
    let _lost = worker(&agentless(&store), WorkerOptions::default().queues(served));
    let key = front.start(say(&agent, "go").served_elsewhere()).await.unwrap().key;
    settle().await;
    assert_eq!(front.session(&key).await.unwrap().unwrap().epoch.0, 1, "it was claimed in vain");
    let _able = worker(&runtime(&store, &agent), WorkerOptions::default());
    let began = tokio::time::Instant::now();
    assert_eq!(front.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_worker_never_claims_what_waits_in_a_queue_that_it_does_not_serve() {
    let model = Script::new(|_| Say::Text("ok"));
    let ours = Arc::new(agent(&model).queue(QueueLabel::new("ours").unwrap()).build().unwrap());
    let theirs = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let front = agentless(&store);
    let left = front.start(say(&theirs, "go").served_elsewhere()).await.unwrap().key;
    let run = front.start(say(&ours, "go").served_elsewhere()).await.unwrap().key;
    let _worker = worker(&runtime(&store, &ours), WorkerOptions::default());
    assert_eq!(front.wait(&run).await.unwrap().kind(), OutcomeKind::Completed);
    let left = front.session(&left).await.unwrap().unwrap();
    assert_eq!((left.epoch.0, left.status), (0, SessionStatus::Idle), "untouched");
}

#[tokio::test(start_paused = true)]
async fn h15_a_session_whose_worker_dies_before_its_run_has_begun_is_taken_over_when_the_lease_ends() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = runtime.start(say(&agent, "go")).await.unwrap().key;
    let one = ClaimOne {
        run: RunId::new("dies").unwrap(),
        worker: WorkerId::new("dies").unwrap(),
        lease: Duration::from_secs(30),
        expected_version: None,
        items: Vec::new(),
    };
    assert!(matches!(store.claim_session(&key, one).await.unwrap(), ClaimOutcome::Claimed(_)));
    assert_eq!(runtime.session(&key).await.unwrap().unwrap().status, SessionStatus::Active);
    let _worker = worker(&runtime, WorkerOptions::default());
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    let runs = runtime.runs(&key, PageRequest::default()).await.unwrap().items;
    let ends: Vec<_> = runs.iter().map(|run| run.end.as_ref().unwrap().outcome).collect();
    assert_eq!(ends, [OutcomeKind::Lost, OutcomeKind::Completed], "that it came to nothing is recorded");
}

#[tokio::test(start_paused = true)]
async fn a_worker_waits_for_what_is_out_before_it_stops() {
    let tool = Fake::new("work", |_| async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(ToolOutput::text("worked").into())
    });
    let model = Script::calling(vec![("work", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = runtime.start(say(&agent, "go")).await.unwrap().key;
    let stop = CancellationToken::new();
    let working = tokio::spawn({
        let (worker, stop) = (Worker::new(runtime.clone(), WorkerOptions::default()), stop.clone());
        async move { worker.run(stop).await }
    });
    while tool.calls().is_empty() {
        settle().await;
    }
    stop.cancel();
    assert_eq!(working.await.unwrap(), 0, "none was dropped");
    assert_eq!(runtime.session(&key).await.unwrap().unwrap().status, SessionStatus::Suspended);
    assert_eq!((tool.calls().len(), model.asked().len()), (1, 1), "nothing more was started");
}

#[tokio::test(start_paused = true)]
async fn a_worker_says_how_many_runs_it_dropped() {
    let tool = Fake::new("work", |_| std::future::pending());
    let model = Script::calling(vec![("work", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = runtime.start(say(&agent, "go")).await.unwrap().key;
    let stop = CancellationToken::new();
    let options = WorkerOptions::default().shutdown_grace(Duration::from_secs(1));
    let working = tokio::spawn({
        let (worker, stop) = (Worker::new(runtime.clone(), options), stop.clone());
        async move { worker.run(stop).await }
    });
    while tool.calls().is_empty() {
        settle().await;
    }
    stop.cancel();
    assert_eq!(working.await.unwrap(), 1);
    assert_eq!(runtime.session(&key).await.unwrap().unwrap().status, SessionStatus::Active);
}

#[tokio::test(start_paused = true)]
async fn what_was_claimed_when_the_shutdown_came_is_given_back_at_once() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = stumbling(store());
    *store.layer().late_claims.lock().unwrap() = Duration::from_millis(500);
    let runtime = runtime(&store, &agent);
    let key = runtime.start(say(&agent, "go")).await.unwrap().key;
    let stop = CancellationToken::new();
    let working = tokio::spawn({
        let (worker, stop) = (Worker::new(runtime.clone(), WorkerOptions::default()), stop.clone());
        async move { worker.run(stop).await }
    });
    while store.store().load_session(&key).await.unwrap().unwrap().status != SessionStatus::Active {
        settle().await;
    }
    stop.cancel();
    working.await.unwrap();
    assert!(store.layer().fired() > 0);
    let session = runtime.session(&key).await.unwrap().unwrap();
    assert_eq!((session.status, session.epoch.0, model.asked().len()), (SessionStatus::Idle, 1, 0));
    assert!(session.alarm.is_some_and(|alarm| alarm <= runtime.now()), "another takes it at once");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_holds_up_no_shutdown() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = stumbling(store());
    *store.layer().late_claims.lock().unwrap() = Duration::from_secs(3600);
    let stop = CancellationToken::new();
    let worker = Worker::new(runtime(&store, &agent), WorkerOptions::default());
    let began = tokio::time::Instant::now();
    let cancel = async {
        settle().await;
        stop.cancel();
    };
    futures::future::join(worker.run(stop.clone()), cancel).await;
    assert!(store.layer().fired() > 0);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_read_is_not_claimed_over_and_over_while_an_interrupt_waits() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = runtime.start(say(&agent, "go")).await.unwrap().key;
    let one = ClaimOne {
        run: RunId::new("newer").unwrap(),
        worker: WorkerId::new("newer").unwrap(),
        lease: Duration::from_secs(30),
        expected_version: None,
        items: Vec::new(),
    };
    let ClaimOutcome::Claimed(claim) = store.claim_session(&key, one).await.unwrap() else { panic!() };
    let mut commit = Commit::new(OperationId::new("park").unwrap());
    commit.state = Some(NewState { format: StateFormat(u32::MAX), payload: Payload::new("?") });
    commit.inbox_seen = Some(claim.session.last_item);
    commit.release = Some(Release::To { status: SessionStatus::Suspended, deadline: None, wake_on: 0 });
    let parked = store.commit(&claim.fence, commit).await.unwrap();
    assert!(matches!(parked, CommitOutcome::Committed(_)), "{parked:?}");

    let _worker = worker(&runtime, WorkerOptions::default());
    assert_eq!(runtime.interrupt(&key, "stop").await.unwrap(), InterruptOutcome::Requested);
    tokio::time::sleep(Duration::from_secs(120)).await;
    let session = runtime.session(&key).await.unwrap().unwrap();
    assert!(session.interrupt.is_some(), "whoever can read it still ends it");
    assert!((2..=50).contains(&session.epoch.0), "looked at now and then: {}", session.epoch);
    assert_eq!((session.lease, session.attempts), (None, 0), "given back, and no worker has died of it");
    let runs = runtime.runs(&key, PageRequest::default()).await.unwrap().items;
    let tried = runs.iter().filter_map(|run| run.end.as_ref()?.detail.as_ref()?.parse::<ErrorInfo>().ok());
    let tried = tried.filter(|why| why.code == "runtime.unreadable").count();
    assert!((2..=10).contains(&tried), "tried ever more rarely: {tried}");
}

/// A layer that counts all requests to a store except waits for changes.
#[derive(Default)]
struct Counting(AtomicUsize);

#[async_trait::async_trait]
impl Layer for Counting {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let asks = !matches!(request, Request::Wait(..));
        self.0.fetch_add(usize::from(asks), Ordering::SeqCst);
        request.perform(&store).await
    }
}

/// U13: an idle worker costs so little that it may be left running.
#[tokio::test(start_paused = true)]
async fn u13_an_idle_worker_asks_its_store_at_most_once_a_second_whatever_waits_in_it() {
    let model = Script::calling(vec![("ask", "{}")]);
    let waiting = agent(&model).tool(Fake::echo("ask")).gate(crate::bench::asking_for("ask"));
    let agent = Arc::new(waiting.build().unwrap());
    let store = store();
    for _ in 0..20 {
        crate::bench::finish(runtime(&store, &agent).execute(say(&agent, "go")).await.unwrap()).await;
    }
    let counted = Layered::new(store, Counting::default());
    let _worker = worker(&runtime(&counted, &agent), WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = counted.layer().0.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(600)).await;
    let asked = counted.layer().0.load(Ordering::SeqCst) - before;
    assert!((590..=601).contains(&asked), "{asked} queries in 600 seconds");
}

/// U13: whatever a worker was doing when it died, another takes its session over within the lease and a second, by the
/// store's clock.
#[tokio::test(start_paused = true)]
async fn u13_a_session_whose_worker_died_is_taken_over_within_its_lease_and_a_second() {
    let model = Script::new(|request| match crate::script::results(request).len() {
        0..3 => Say::SlowlyCall {
            pieces: vec!["let ".into(), "me".into()],
            apart: Duration::from_millis(1_300),
            tool: "work",
        },
        _ => Say::Text("done"),
    });
    let tool = Fake::new("work", |_| async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok(ToolOutput::text("worked").into())
    });
    let agent = Arc::new(agent(&model).tool(tool).build().unwrap());
    for moment in (100..15_000_u64).step_by(700) {
        let store = store();
        let front = agentless(&store);
        let _other = worker(&agentless(&store), WorkerOptions::default());
        let key = front.start(say(&agent, "go").served_elsewhere()).await.unwrap().key;
        let mortal = Worker::new(runtime(&store, &agent), WorkerOptions::default());
        let life = tokio::spawn(async move { mortal.run(CancellationToken::new()).await });
        tokio::time::sleep(Duration::from_millis(moment)).await;
        life.abort();
        let _ = life.await;
        let left = front.session(&key).await.unwrap().unwrap();
        let Some(lease) = left.lease else { panic!("{moment}: {left:?}") };
        let second = runtime(&store, &agent);
        let _second = worker(&second, WorkerOptions::default());
        assert_eq!(front.wait(&key).await.unwrap().kind(), OutcomeKind::Completed, "{moment}");
        let runs = front.runs(&key, Default::default()).await.unwrap().items;
        let took_over = runs.iter().find(|run| run.epoch > left.epoch).unwrap();
        let late = lease.ends.until(took_over.started_at);
        assert!(
            took_over.started_at >= lease.ends && late <= Duration::from_secs(1),
            "{moment}: {late:?} late"
        );
    }
}
