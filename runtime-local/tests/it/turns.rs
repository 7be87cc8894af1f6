//! Turns that nothing disturbs.
//!
//! Requirements: A44, B26, C07, D14.

use std::sync::Arc;

use futures::StreamExt;
use holdover_core::event::Event;
use holdover_core::message::{Message, ResultStatus};
use holdover_core::store::{EventCursor, SessionStatus};
use holdover_core::tool::{ToolError, ToolOutput};
use holdover_runtime_local::Follow;
use tokio::sync::Barrier;

use crate::bench::{agent, completes, only_result, runtime, say, store, tool_results, transcript};
use crate::script::{Say, Script};
use crate::tools::Fake;

#[tokio::test(start_paused = true)]
async fn a_plain_answer_ends_the_turn() {
    let model = Script::new(|_| Say::Text("hello"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "hi")).await.unwrap()).await;

    let transcript = transcript(&runtime, &key).await;
    assert!(matches!(&transcript[0], Message::User(said) if said.text == "hi"));
    assert!(matches!(&transcript[1], Message::Assistant(said) if said.text() == "hello"));
    assert_eq!(transcript.len(), 2);
    let session = runtime.session(&key).await.unwrap().unwrap();
    assert_eq!((session.status, session.lease, session.alarm), (SessionStatus::Idle, None, None));
    assert!(model.asked()[0].system.ends_with("\n\nTest."));
}

/// Requirements: C07.
#[tokio::test(start_paused = true)]
async fn a_second_message_goes_on_in_the_same_session() {
    let model = Script::new(|_| Say::Text("hello"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "one")).await.unwrap()).await;
    completes(runtime.execute(say(&agent, "two").in_session(key.id.clone())).await.unwrap()).await;
    assert_eq!(transcript(&runtime, &key).await.len(), 4);
    assert_eq!(model.asked()[1].messages.len(), 3, "the model sees what was said before");
}

/// Requirements: B26, D14.
#[tokio::test(start_paused = true)]
async fn two_tools_are_out_at_the_same_time() {
    // Neither call passes the barrier until both are out.
    let both = Arc::new(Barrier::new(2));
    let meeting = |name: &str| {
        let both = Arc::clone(&both);
        Fake::new(name, move |_| {
            let both = Arc::clone(&both);
            async move {
                both.wait().await;
                Ok(ToolOutput::text("met").into())
            }
        })
    };
    let model = Script::calling(vec![("left", "{}"), ("right", "{}")]);
    let agent = Arc::new(agent(&model).tool(meeting("left")).tool(meeting("right")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let results = tool_results(&runtime, &key).await;
    let told: Vec<_> = results.iter().map(|result| (result.tool.as_str(), result.content.as_str())).collect();
    assert_eq!(told, [("left", "met"), ("right", "met")], "in call order");
}

/// Requirements: A44.
#[tokio::test(start_paused = true)]
async fn arguments_that_do_not_fit_the_schema_never_reach_the_tool() {
    let tool = Fake::echo("count");
    let model = Script::calling(vec![("count", r#"{"n":"many"}"#)]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let (status, told) = only_result(&runtime, &key).await;
    assert_eq!(status, ResultStatus::Error);
    assert!(told.contains("/n"), "names the field: {told}");
    assert_eq!(tool.calls(), []);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_is_lost_sight_of_and_the_turn_goes_on() {
    let tool = Fake::new("boom", |_| async { panic!("boom") });
    let model = Script::calling(vec![("boom", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::InDoubt);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_takes_too_long_is_stopped() {
    for (tool, expect) in [
        (Fake::stuck("stuck"), ResultStatus::InDoubt),
        (Fake::stuck("stuck").says_it_did_not_act(), ResultStatus::Error),
    ] {
        let model = Script::calling(vec![("stuck", "{}")]);
        let agent = Arc::new(agent(&model).tool(tool).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        assert_eq!(only_result(&runtime, &key).await.0, expect);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_says_went_wrong_is_told_to_the_model() {
    let tool = Fake::new("fails", |_| async { Err(ToolError::Failed("no such file".into())) });
    let model = Script::calling(vec![("fails", "")]);
    let agent = Arc::new(agent(&model).tool(tool).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(only_result(&runtime, &key).await, (ResultStatus::Error, "no such file".into()));
}

#[tokio::test(start_paused = true)]
async fn events_are_followed_to_the_end_of_the_turn_without_gap_or_repeat() {
    let model = Script::calling(vec![("echo", r#"{"n":1}"#)]);
    let agent = Arc::new(agent(&model).tool(Fake::echo("echo")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    let followed: Vec<_> = runtime
        .events(&key, EventCursor::START, Follow::UntilRest)
        .map(|entry| entry.unwrap())
        .collect()
        .await;
    completes(run).await;

    let places: Vec<u64> = followed.iter().map(|entry| entry.seq.0).collect();
    assert_eq!(places, (1..=places.len() as u64).collect::<Vec<_>>());
    let count = |wanted: fn(&Event) -> bool| followed.iter().filter(|entry| wanted(&entry.event)).count();
    assert_eq!(count(|event| matches!(event, Event::Init { .. })), 1);
    assert_eq!(count(|event| matches!(event, Event::Done { .. })), 1);
    assert_eq!(count(|event| matches!(event, Event::AgentEnd { .. })), 1);
    let half = followed.len() / 2;
    let rest: Vec<_> = runtime
        .events(&key, followed[half].cursor, Follow::Available)
        .map(|entry| entry.unwrap())
        .collect()
        .await;
    assert_eq!(rest, followed[half + 1..]);
}
