//! Corrections of the course of a turn, by a hook and from outside.
//!
//! Requirements: B14, B21.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::agent::Limits;
use holdover_core::hook::{AfterStep, Hook, HookError, HookPoint, StepEnded};
use holdover_core::message::{Message, MessagePolicy};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::{Deliver, RuntimeError};

use crate::bench::{agent, completes, runtime, say, settle, store, transcript};
use crate::script::{Say, Script};
use crate::tools::Fake;

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

#[tokio::test(start_paused = true)]
async fn b14_b21_a_correction_from_outside_reaches_a_turn_at_work_and_a_session_at_rest() {
    let work = Fake::new("work", |_| async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(ToolOutput::text("worked").into())
    });
    let model = Script::new(|request| match crate::script::results(request).len() {
        0 => Say::Calls(vec![("work", "{}")]),
        _ => Say::Text("done"),
    });
    let built = agent(&model).tool(work.clone()).on_message(MessagePolicy::Reject);
    let agent = Arc::new(built.build().unwrap());
    let store = store();
    let (runtime, outside) = (runtime(&store, &agent), runtime(&store, &agent));
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    while work.calls().is_empty() {
        settle().await;
    }
    let busy = outside.deliver(&key, Deliver::message("no")).await.unwrap_err();
    assert!(matches!(busy, RuntimeError::Busy { .. }), "{busy}");
    let nameless = outside.deliver(&key, Deliver::correction(" ", "use the other pan")).await.unwrap_err();
    assert!(nameless.to_string().contains("the name of who corrects"), "{nameless}");
    outside.deliver(&key, Deliver::correction("ann", "use the other pan")).await.unwrap();
    completes(run).await;
    outside.deliver(&key, Deliver::correction("ann", "and clean it")).await.unwrap();
    runtime.wait(&key).await.unwrap();
    let told: Vec<String> = transcript(&runtime, &key).await.iter().filter_map(said_by_engine).collect();
    let mark = "[course correction by ann, not said by the user]";
    assert_eq!(told, [format!("{mark} use the other pan"), format!("{mark} and clean it")]);
}

/// Returns the text of a message that the user did not say.
fn said_by_engine(message: &Message) -> Option<String> {
    let Message::User(said) = message else { return None };
    said.by_engine.then(|| said.text.clone())
}
