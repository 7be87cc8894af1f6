//! Workers: bounded, patient, and no harm to what they do not know.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use holdover_core::store::{OutcomeKind, SessionStatus};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::{Worker, WorkerOptions};
use tokio_util::sync::CancellationToken;

use crate::bench::{agent, agentless, runtime, say, settle, store, worker};
use crate::script::{Say, Script};
use crate::tools::Fake;

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
        started.push(front.start(say(&agent, "go")).await.unwrap().key);
    }
    let options = WorkerOptions { max_running: NonZeroUsize::new(3).unwrap(), ..WorkerOptions::default() };
    let _worker = worker(&runtime(&store, &agent), options);
    for key in &started {
        assert_eq!(front.wait(key).await.unwrap().kind(), OutcomeKind::Completed);
    }
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn a_session_of_an_unknown_agent_is_given_back_and_can_still_be_stopped() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let front = agentless(&store);
    let key = front.start(say(&agent, "go")).await.unwrap().key;
    let lost = worker(&agentless(&store), WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(10)).await;
    let session = front.session(&key).await.unwrap().unwrap();
    assert_eq!((session.status, session.lease), (SessionStatus::Idle, None));
    assert_eq!(session.epoch.0, 1, "given back for a while, not over and over");
    let later = session.updated_at.after(Duration::from_secs(25));
    assert!(session.alarm.is_some_and(|alarm| alarm > later));

    // Whoever knows the agent finds it when its time has come.
    drop(lost);
    let _worker = worker(&runtime(&store, &agent), WorkerOptions::default());
    assert_eq!(front.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);

    let other = front.start(say(&agent, "go")).await.unwrap().key;
    front.abort(&other, "never mind").await.unwrap();
    assert_eq!(front.session(&other).await.unwrap().unwrap().status, SessionStatus::Aborted);
}

#[tokio::test(start_paused = true)]
async fn a_worker_finishes_what_runs_before_it_stops() {
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
    working.await.unwrap();
    assert_eq!(runtime.session(&key).await.unwrap().unwrap().status, SessionStatus::Idle);
    assert_eq!(tool.calls().len(), 1);
}
