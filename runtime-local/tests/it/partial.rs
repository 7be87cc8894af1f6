//! A model that is stopped in the middle of its answer: the text so far is kept.
//!
//! Requirements: C61.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::hook::{Hook, HookPoint, OnFailure};
use holdover_core::ids::SessionKey;
use holdover_core::message::{AssistantMessage, Message};
use holdover_core::store::OutcomeKind;
use holdover_runtime_local::{Agent, Runtime};

use crate::bench::{agent, agentless, completes, finish, runtime, say, store, transcript};
use crate::script::{Say, Script};

/// Returns a model that says two pieces and then writes a call, each after ten seconds. Asked again, it goes on.
fn slow() -> Script {
    Script::new(|request| match request.step {
        1 => {
            let pieces = vec!["First ".into(), "of all".into()];
            Say::SlowlyCall { pieces, apart: Duration::from_secs(10), tool: "pay" }
        }
        _ => Say::Text(", this."),
    })
}

/// Runs a session and stops its model after `seconds`.
async fn stopped_after(seconds: u64, agent: Agent) -> (Runtime, SessionKey) {
    let (store, agent) = (store(), Arc::new(agent));
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    agentless(&store).interrupt(&key, "enough").await.unwrap();
    assert_eq!(finish(run).await.1.kind(), OutcomeKind::Interrupted);
    (runtime, key)
}

#[tokio::test(start_paused = true)]
async fn c61_the_text_that_had_come_is_kept_and_the_call_that_had_not_is_not() {
    let model = slow();
    let (runtime, key) = stopped_after(25, agent(&model).build().unwrap()).await;
    let kept = Message::Assistant(AssistantMessage::aborted("First of all"));
    let told = transcript(&runtime, &key).await;
    assert_eq!((told.len(), told.last()), (2, Some(&kept)));
    let response = runtime.response(&key).await.unwrap().unwrap();
    assert_eq!((response.text.as_deref(), response.steps), (Some("First of all"), 0));
    completes(runtime.resume(&key).await.unwrap()).await;
    let shown = model.asked().pop().unwrap().messages;
    assert_eq!(shown.last().map(|last| last.as_ref()), Some(&kept), "it goes on from there");
    assert_eq!(runtime.response(&key).await.unwrap().unwrap().text.as_deref(), Some(", this."));
}

#[tokio::test(start_paused = true)]
async fn c61_of_an_answer_of_which_nothing_had_come_nothing_is_kept() {
    let (runtime, key) = stopped_after(5, agent(&slow()).build().unwrap()).await;
    assert_eq!(transcript(&runtime, &key).await.len(), 1);
    assert_eq!(runtime.response(&key).await.unwrap().unwrap().text, None);
}

/// A hook that judges whole answers, with this behaviour on failure.
struct Judge(OnFailure);

#[async_trait]
impl Hook for Judge {
    fn name(&self) -> &str {
        "judge"
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::AfterModel]
    }

    fn on_failure(&self, _point: HookPoint) -> OnFailure {
        self.0
    }
}

#[tokio::test(start_paused = true)]
async fn c61_what_a_hook_could_have_refused_is_not_kept_in_pieces() {
    for (failure, messages) in [(OnFailure::Closed, 1), (OnFailure::Open, 2)] {
        let agent = agent(&slow()).hook(Judge(failure)).build().unwrap();
        let (runtime, key) = stopped_after(25, agent).await;
        assert_eq!(transcript(&runtime, &key).await.len(), messages, "{failure:?}");
    }
}
