//! Timers and back-offs, waited for to the end.
//!
//! Requirements: B19, B20.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use holdover_core::agent::Limits;
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{EventCursor, OutcomeKind, SessionStatus};
use holdover_core::tool::{ToolOutput, ToolReturn};
use holdover_runtime_local::{Follow, WorkerOptions};
use tokio::time::Instant;

use crate::bench::{agent, agentless, completes, only_result, runtime, say, store, worker};
use crate::script::{Say, Script, results};
use crate::stub_store::stumbling;
use crate::tools::Fake;

const HOUR: Duration = Duration::from_secs(3600);

/// Returns limits without a bound on the working time of a turn.
fn unhurried() -> Limits {
    Limits::default().max_run_ms(None)
}

fn sleeper() -> Fake {
    Fake::new("sleep", |_| async { Ok(ToolReturn::After { delay: HOUR, output: ToolOutput::text("slept") }) })
}

#[tokio::test(start_paused = true)]
async fn a_durable_sleep_is_followed_through_while_nothing_runs() {
    let tool = sleeper();
    let model = Script::calling(vec![("sleep", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let began = Instant::now();
    let mut run = runtime.execute(say(&agent, "go")).await.unwrap();
    let first = run.first_outcome().await.unwrap().unwrap();
    assert_eq!(first.kind(), OutcomeKind::SuspendedUntil);
    let session = runtime.session(run.key()).await.unwrap().unwrap();
    assert_eq!((session.status, session.lease), (SessionStatus::Suspended, None));
    let key = completes(run).await;
    assert!(began.elapsed() >= HOUR && began.elapsed() < HOUR + Duration::from_secs(2));
    assert_eq!(only_result(&runtime, &key).await.1, "slept");
    assert_eq!(tool.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_worker_wakes_a_sleeper_for_a_front_without_agents() {
    let model = Script::calling(vec![("sleep", "{}")]);
    let agent = Arc::new(agent(&model).tool(sleeper()).build().unwrap());
    let store = store();
    let front = agentless(&store);
    let started = front.start(say(&agent, "go").served_elsewhere()).await.unwrap();
    let _worker = worker(&runtime(&store, &agent), WorkerOptions::default());
    let began = Instant::now();
    assert_eq!(front.wait(&started.key).await.unwrap().kind(), OutcomeKind::Completed);
    assert!(began.elapsed() >= HOUR && began.elapsed() < HOUR + Duration::from_secs(3));
}

/// Requirements: B20.
#[tokio::test(start_paused = true)]
async fn back_offs_are_followed_through_until_the_model_answers() {
    let model = Script::new(|request| match request.attempt {
        0 => Say::Fail(ModelError::new(ModelErrorKind::RateLimited, "slow down")),
        1 => Say::Cut,
        _ => Say::Text("at last"),
    });
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let began = Instant::now();
    completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let waited = Duration::from_secs(5 + 10);
    assert!(began.elapsed() >= waited && began.elapsed() < waited + Duration::from_secs(3));
    let attempts: Vec<_> = model.asked().iter().map(|request| request.attempt).collect();
    assert_eq!(attempts, [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_patience_gets_it_whole_though_the_store_answers_late() {
    const FAILS_AFTER: Duration = Duration::from_millis(400);
    // The shorter wait is slept through; the longer one suspends the session.
    for patience in [Duration::from_millis(900), Duration::from_secs(8)] {
        let asked: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let seen = Arc::clone(&asked);
        let model = Script::new(move |request| {
            seen.lock().unwrap().push(Instant::now());
            let mut error = ModelError::new(ModelErrorKind::RateLimited, "slow down");
            error.retry_after = Some(patience);
            if request.attempt == 0 { Say::FailAfter(FAILS_AFTER, error) } else { Say::Text("at last") }
        });
        let agent = Arc::new(agent(&model).build().unwrap());
        let store = stumbling(store());
        // The late answer is the last that the process has heard from the store when the model fails.
        store.layer().late_commit.store(1, Ordering::SeqCst);
        *store.layer().late_by.lock().unwrap() = Some(Duration::from_millis(300));
        completes(runtime(&store, &agent).execute(say(&agent, "go")).await.unwrap()).await;
        assert_eq!(store.layer().fired(), 1);
        let asked = asked.lock().unwrap();
        let [first, second] = asked.as_slice() else { panic!("{asked:?}") };
        let waited = second.duration_since(*first + FAILS_AFTER);
        assert!(
            waited >= patience && waited < patience + Duration::from_secs(2),
            "{waited:?} of {patience:?}"
        );
    }
}

/// Requirements: B19.
#[tokio::test(start_paused = true)]
async fn a_model_that_falls_silent_is_given_up_and_asked_again() {
    let model = Script::new(|request| if request.attempt == 0 { Say::Nothing } else { Say::Text("back") });
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let began = Instant::now();
    completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    // Two minutes of silence, and then the first back-off.
    let waited = began.elapsed();
    assert!(waited >= Duration::from_secs(125) && waited < Duration::from_secs(127), "{waited:?}");
    assert_eq!(model.asked().iter().map(|request| request.attempt).collect::<Vec<_>>(), [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_writes_long_arguments_is_not_silent() {
    let apart = Duration::from_secs(100);
    let model = Script::new(move |request| match results(request).is_empty() {
        true => Say::Writes { apart, signs: Some(5), tool: "note" },
        false => Say::Text("done"),
    });
    let agent = Arc::new(agent(&model).tool(Fake::echo("note")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let began = Instant::now();
    completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(model.asked().iter().map(|request| request.attempt).collect::<Vec<_>>(), [0, 0]);
    assert!(began.elapsed() >= apart * 5);
}

#[tokio::test(start_paused = true)]
async fn the_bound_that_a_model_brings_holds_in_place_of_the_runtimes() {
    for (own, waited) in [(1_000, 1_000..1_020), (10, 10..30)] {
        let model =
            Script::new(|request| if request.attempt == 0 { Say::Nothing } else { Say::Text("back") })
                .silent_for(Duration::from_secs(own));
        let agent = Arc::new(agent(&model).limits(unhurried()).build().unwrap());
        let store = store();
        let began = Instant::now();
        completes(runtime(&store, &agent).execute(say(&agent, "go")).await.unwrap()).await;
        assert!(waited.contains(&began.elapsed().as_secs()), "{own}: {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_writes_for_ever_is_given_up_and_asked_again() {
    let model = Script::new(|request| match request.attempt {
        0 => Say::Writes { apart: Duration::from_secs(1), signs: None, tool: "note" },
        _ => Say::Text("back"),
    });
    let agent = Arc::new(agent(&model).limits(unhurried()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let began = Instant::now();
    completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let elapsed = began.elapsed().as_secs();
    assert!((3_600..3_700).contains(&elapsed), "{elapsed}");
}

#[tokio::test(start_paused = true)]
async fn whoever_follows_a_session_at_rest_asks_once_a_second() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = stumbling(store());
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let mut events = runtime.events(&key, EventCursor::START, Follow::Forever);
    let all = runtime.session(&key).await.unwrap().unwrap().last_event.0;
    for _ in 0..all {
        events.next().await.unwrap().unwrap();
    }
    let before = store.layer().reads.load(Ordering::SeqCst);
    assert!(tokio::time::timeout(Duration::from_secs(60), events.next()).await.is_err());
    let asked = store.layer().reads.load(Ordering::SeqCst) - before;
    assert!((55..=62).contains(&asked), "{asked} queries in a minute");
}
