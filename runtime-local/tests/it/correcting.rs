//! A hook that corrects the course of a turn.
//!
//! Requirements: B14, B21.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::agent::Limits;
use holdover_core::hook::{AfterStep, Hook, HookError, HookPoint, StepEnded};
use holdover_core::message::Message;

use crate::bench::{agent, completes, runtime, say, store, transcript};
use crate::script::{Say, Script};

/// A hook that makes the model name its source if an answer does not.
struct Sources;

#[async_trait]
impl Hook for Sources {
    fn name(&self) -> &str {
        "sources"
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::AfterStep]
    }

    async fn after_step(&self, step: &StepEnded) -> Result<AfterStep, HookError> {
        let names_one = step.text.contains("according to");
        Ok(match names_one {
            true => AfterStep::GoOn,
            false => AfterStep::Correct { text: "Say where you have it from.".into() },
        })
    }
}

const CORRECTION: &str = "[course correction by sources, not said by the user] Say where you have it from.";

fn corrections(messages: &[Message]) -> usize {
    messages
        .iter()
        .filter(|message| matches!(message, Message::User(said) if said.text == CORRECTION))
        .count()
}

#[tokio::test(start_paused = true)]
async fn b21_the_model_is_told_and_asked_again_and_the_turn_ends_with_what_it_says_then() {
    let model = Script::new(|request| match request.step {
        1 => Say::Text("It rains."),
        _ => Say::Text("It rains, according to the window."),
    });
    let agent = Arc::new(agent(&model).hook(Sources).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let key = completes(runtime.execute(say(&agent, "the weather?")).await.unwrap()).await;
    let told = model.asked()[1].messages.clone();
    assert!(matches!(told.last().map(|last| &**last), Some(Message::User(said)) if said.text == CORRECTION));
    let roles: Vec<_> = transcript(&runtime, &key).await.iter().map(Message::role).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    let response = runtime.response(&key).await.unwrap().unwrap();
    assert_eq!(response.text.as_deref(), Some("It rains, according to the window."));
}

#[tokio::test(start_paused = true)]
async fn b21_a_hook_that_is_never_content_is_heard_three_times_or_as_often_as_the_agent_says() {
    for (limits, most) in [(Limits::default(), 3), (Limits::default().corrections_max(1), 1)] {
        let model = Script::new(|_| Say::Text("It rains."));
        let agent = Arc::new(agent(&model).hook(Sources).limits(limits).build().unwrap());
        let runtime = runtime(&store(), &agent);
        let key = completes(runtime.execute(say(&agent, "the weather?")).await.unwrap()).await;
        let messages = transcript(&runtime, &key).await;
        assert_eq!((model.asked().len(), corrections(&messages)), (most + 1, most));
        let dropped =
            matches!(messages.last(), Some(Message::Notice(notice)) if notice.text.contains("sources"));
        assert!(dropped, "{messages:?}");
    }
}
