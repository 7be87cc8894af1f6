//! Interrupts and aborts.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::message::ResultStatus;
use holdover_core::store::{InterruptOutcome, OutcomeKind, SessionStatus};
use holdover_runtime_local::RuntimeError;
use tokio::time::Instant;

use crate::bench::{
    agent, agentless, asking_for, completes, finish, only_result, runtime, say, settle, store,
};
use crate::script::{Say, Script};
use crate::tools::Fake;

#[tokio::test(start_paused = true)]
async fn an_interrupt_stops_a_model_in_the_middle_and_a_resume_goes_on() {
    let model = Script::new(|request| match request.step {
        1 => Say::Nothing,
        _ => Say::Text("there"),
    });
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    while model.asked().is_empty() {
        settle().await;
    }
    let began = Instant::now();
    let asked = agentless(&store).interrupt(&key, "enough").await.unwrap();
    assert_eq!(asked, InterruptOutcome::Requested);
    let (_, outcome) = finish(run).await;
    assert_eq!(outcome.kind(), OutcomeKind::Interrupted);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    completes(runtime.resume(&key).await.unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_stops_a_tool_and_says_whether_it_acted() {
    for (tool, expect) in [
        (Fake::stuck("stuck"), ResultStatus::InDoubt),
        (Fake::stuck("stuck").says_it_did_not_act(), ResultStatus::Cancelled),
    ] {
        let model = Script::calling(vec![("stuck", "{}")]);
        let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let run = runtime.execute(say(&agent, "go")).await.unwrap();
        let key = run.key().clone();
        while tool.calls().is_empty() {
            settle().await;
        }
        runtime.interrupt(&key, "enough").await.unwrap();
        assert_eq!(finish(run).await.1.kind(), OutcomeKind::Interrupted);
        assert_eq!(only_result(&runtime, &key).await.0, expect);
    }
}

#[tokio::test(start_paused = true)]
async fn a_parked_session_is_aborted_without_its_agent() {
    let model = Script::calling(vec![("pay", "{}")]);
    let agent = agent(&model).tool(Fake::echo("pay")).gate(asking_for("pay"));
    let agent = Arc::new(agent.build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let stranger = agentless(&store);
    assert_eq!(stranger.abort(&key, "no more").await.unwrap(), InterruptOutcome::Requested);
    let session = stranger.session(&key).await.unwrap().unwrap();
    assert_eq!(session.status, SessionStatus::Aborted);
    assert_eq!(stranger.wait(&key).await.unwrap().kind(), OutcomeKind::Aborted);
    assert_eq!(only_result(&stranger, &key).await.0, ResultStatus::Cancelled);
    assert_eq!(stranger.pending(&key).await.unwrap(), []);
    let again = runtime.execute(say(&agent, "more").in_session(key.id.clone())).await;
    assert!(matches!(again, Err(RuntimeError::Aborted { .. })), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_parked_session_is_interrupted_without_its_agent_and_taken_up_again_with_it() {
    let tool = Fake::echo("pay");
    let model = Script::calling(vec![("pay", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    agentless(&store).interrupt(&key, "later").await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Interrupted);
    completes(runtime.resume(&key).await.unwrap()).await;
    assert_eq!(tool.calls(), []);
}

#[tokio::test(start_paused = true)]
async fn there_is_nothing_to_stop_in_a_session_at_rest() {
    let model = Script::new(|_| Say::Text("hello"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(runtime.interrupt(&key, "stop").await.unwrap(), InterruptOutcome::AtRest);
    completes(runtime.execute(say(&agent, "again").in_session(key.id.clone())).await.unwrap()).await;
}
