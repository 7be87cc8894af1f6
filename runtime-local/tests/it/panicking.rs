//! A panic in the program's code becomes an answer, wherever it happens: no panic escapes, and no session is left
//! active.
//!
//! Requirements: A20, C50.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use holdover_core::engine::RunOutcome;
use holdover_core::error::ErrorInfo;
use holdover_core::event::Event;
use holdover_core::gate::{GateError, GateQuestion, PolicyGate, Verdict};
use holdover_core::ids::{CallId, SessionKey, ToolName, TurnNumber};
use holdover_core::message::ResultStatus;
use holdover_core::provision::Provisioner;
use holdover_core::store::{EventCursor, OutcomeKind, SessionStatus};
use holdover_core::tool::EffectClass;
use holdover_runtime_local::{Agents, RunObserver, Runtime, WorkerOptions};
use holdover_store_memory::MemoryStore;

use crate::bench::{
    agent, completes, finish, only_result, options, runtime, say, store, tool_results, worker,
};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

/// Requirements: A20.
#[tokio::test(start_paused = true)]
async fn c50_a_model_that_panics_is_a_provider_that_failed() {
    let model = Script::new(|request| match request.attempt {
        0 => panic!("out of cheese"),
        _ => Say::Text("back"),
    });
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let mut run = runtime(&store, &agent).execute(say(&agent, "go")).await.unwrap();
    let Some(RunOutcome::BackingOff { error, .. }) = run.first_outcome().await.unwrap() else {
        panic!("tried again")
    };
    assert_eq!(
        (error.code.as_str(), error.detail.as_str()),
        ("model.provider", "it panicked: out of cheese")
    );
    completes(run).await;
}

#[tokio::test(start_paused = true)]
async fn c50_a_tool_that_panics_is_a_call_that_could_not_be_run() {
    for (effect, sends, status) in [
        (EffectClass::ReadOnly, 3, ResultStatus::Error),
        (EffectClass::Idempotent, 3, ResultStatus::InDoubt),
        (EffectClass::AtMostOnce, 1, ResultStatus::InDoubt),
    ] {
        let tool = Fake::new("work", |_| async { panic!("out of cheese") }).effect(effect);
        let model = Script::calling(vec![("work", "{}")]);
        let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        let (ended, content) = only_result(&runtime, &key).await;
        assert_eq!((tool.calls().len(), ended), (sends, status), "{effect:?}");
        assert!(content.contains("it panicked: out of cheese"), "{content}");
    }
}

struct Fragile;

#[async_trait]
impl PolicyGate for Fragile {
    async fn consult(&self, _: &GateQuestion) -> Result<Verdict, GateError> {
        panic!("out of cheese")
    }
}

#[tokio::test(start_paused = true)]
async fn c50_a_gate_that_panics_denies() {
    let tool = Fake::echo("work");
    let model = Script::calling(vec![("work", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(Fragile).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let (status, content) = only_result(&runtime, &key).await;
    assert_eq!((status, tool.calls().len()), (ResultStatus::Denied, 0));
    assert!(content.contains("it panicked: out of cheese"), "{content}");
}

/// A provisioner that panics when it tears down, and, with `door`, also when it provisions.
struct Room {
    door: bool,
}

#[async_trait]
impl Provisioner for Room {
    async fn provision(&self, _: &SessionKey, _: TurnNumber) -> Result<(), ErrorInfo> {
        assert!(!self.door, "the door is stuck");
        Ok(())
    }

    async fn tear_down(&self, _: &SessionKey, _: TurnNumber) -> Result<(), ErrorInfo> {
        panic!("the broom is broken")
    }
}

async fn events(runtime: &Runtime, key: &SessionKey) -> Vec<Event> {
    use futures::StreamExt;
    let all = runtime.session(key).await.unwrap().unwrap().last_event.0;
    let follow = runtime.events(key, EventCursor::START, holdover_runtime_local::Follow::Forever);
    let all = usize::try_from(all).unwrap();
    follow.take(all).map(|seen| seen.unwrap().event).collect().await
}

/// Requirements: A20.
#[tokio::test(start_paused = true)]
async fn c50_a_provisioner_that_panics_fails_the_turn_and_one_that_panics_later_changes_nothing() {
    for (door, kind) in [(true, OutcomeKind::Failed), (false, OutcomeKind::Completed)] {
        let model = Script::new(|_| Say::Text("ok"));
        let agent = Arc::new(agent(&model).provisioner(Arc::new(Room { door })).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        assert_eq!(outcome.kind(), kind, "{outcome:?}");
        if let RunOutcome::Ended(ending) = &outcome
            && let Some(error) = &ending.error
        {
            assert_eq!(error.code, "provision.panicked");
        }
        let told = events(&runtime, &key)
            .await
            .into_iter()
            .find_map(|event| if let Event::TeardownFailed { error } = event { Some(error) } else { None });
        assert_eq!(told.expect("it is told").code, "tear_down.panicked");
    }
}

/// An observer that panics at the first `times` calls of `work` that are sent.
struct Fainting {
    times: AtomicUsize,
}

impl RunObserver for Fainting {
    fn on_call_sent(&self, _: &SessionKey, _: &CallId, tool: &ToolName) {
        let faints = tool.as_str() == "work"
            && self
                .times
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                .is_ok();
        assert!(!faints, "out of cheese");
    }
}

fn watched(store: &MemoryStore, agent: &Arc<holdover_runtime_local::Agent>) -> Runtime {
    let observer: Arc<dyn RunObserver> = Arc::new(Fainting { times: AtomicUsize::new(1) });
    let options = options().observer(Some(observer));
    Runtime::new(Arc::new(store.clone()), Arc::new(Agents::new().with(Arc::clone(agent))), options)
}

/// Requirements: C50.
#[tokio::test(start_paused = true)]
async fn a20_a_run_whose_own_driver_panics_ends_the_turn_as_failed() {
    for by_worker in [false, true] {
        let tool = Fake::echo("work").effect(EffectClass::AtMostOnce);
        let model = Script::new(|request| match results(request).is_empty() {
            true => Say::Calls(vec![("look", "{}"), ("work", "{}")]),
            false => Say::Text("done"),
        });
        let agent = agent(&model).tool(tool.clone()).tool(Fake::stuck("look").effect(EffectClass::ReadOnly));
        let agent = Arc::new(agent.build().unwrap());
        let store = store();
        let runtime = watched(&store, &agent);
        let began = tokio::time::Instant::now();
        let (key, outcome) = if by_worker {
            let key = runtime.start(say(&agent, "go")).await.unwrap().key;
            let _worker = worker(&runtime, WorkerOptions::default());
            let outcome = runtime.wait(&key).await.unwrap();
            (key, outcome)
        } else {
            finish(runtime.execute(say(&agent, "go")).await.unwrap()).await
        };
        assert!(began.elapsed().as_secs() < 5, "no lease had to end");
        let RunOutcome::Ended(ending) = outcome else { panic!("{outcome:?}") };
        let error = ending.error.expect("an error");
        assert_eq!(
            (error.code.as_str(), error.detail.as_str()),
            ("engine.panicked", "its run panicked: out of cheese")
        );
        let session = runtime.session(&key).await.unwrap().unwrap();
        assert_eq!((session.status, session.epoch.0, session.lease), (SessionStatus::Failed, 1, None));
        let ends: Vec<_> = tool_results(&runtime, &key).await.iter().map(|result| result.status).collect();
        // The call was about to be sent, so for the store its outcome is in doubt.
        assert_eq!(ends, [ResultStatus::Cancelled, ResultStatus::InDoubt]);
        assert_eq!(tool.calls().len(), 0);
        completes(runtime.retry(&key).await.unwrap()).await;
    }
}
