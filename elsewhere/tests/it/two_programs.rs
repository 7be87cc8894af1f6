//! Tests of two programs: the agent `chief` of one gives tasks to an agent of the other.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::message::Message;
use holdover_core::remote::Remote;
use holdover_core::store::OutcomeKind;
use holdover_elsewhere::Callers;
use holdover_runtime_local::{Agent, Execute, SubAgent};

use crate::bench::{Program, Say, Script, TOKEN, listen, tenant, value_of, wire};

/// Runs the chief, which polls for outcomes at the interval `every`. If `tells` is true, the other program also sends
/// them. Returns the result of the chief's call and the time that it took.
async fn dig(tells: bool, every: Duration) -> (String, Duration) {
    let (listener, base) = listen().await;
    let callers = Callers::with_tokens([(value_of(TOKEN), tenant("acme"))]).unwrap();
    let tells = tells.then(|| wire().allow_replies_to(&format!("{base}/outcomes")).unwrap());
    let there = Program::digger_with(callers, tells).await;
    let _works = there.works();
    let remote = Remote { token_env: Some(TOKEN.into()), ..there.remote() }.look_every(every);
    let model = Script::new(|_| Say::Gives(r#"{"tasks":["north","south"]}"#));
    let digger = SubAgent::new("digger", "Digs.").elsewhere(remote);
    let chief = Agent::builder("chief").model(model.clone()).sub_agent(digger).build().unwrap();
    let wire = wire().reachable_at(&base).unwrap();
    let nobody = Callers::nobody();
    let here = Program::serve(listener, base, model, Arc::new(chief), nobody, Some(wire));
    let began = std::time::Instant::now();
    let request = Execute::new(tenant("acme"), Arc::clone(&here.agent), "go");
    let run = here.runtime.execute(request).await.unwrap();
    let key = run.key().clone();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.kind(), OutcomeKind::Completed, "{outcome:?}");
    assert_eq!(there.model.asked(), 2, "each task is done once");
    // The chief took two steps and each task one; each step costs two tokens.
    assert_eq!(here.runtime.standing(&key).await.unwrap().usage.tokens.total(), 8);
    let messages = here.runtime.messages(&key).await.unwrap();
    let result = messages.iter().find_map(|entry| match &entry.message {
        Message::Tool(result) => Some(result.content.clone()),
        Message::User(_)
        | Message::Assistant(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    });
    (result.unwrap(), began.elapsed())
}

const FOUND: &str = "[1] done: found north\n[2] done: found south";

#[tokio::test]
async fn outcomes_are_told_long_before_they_would_be_looked_for() {
    let (result, took) = dig(true, Duration::from_secs(300)).await;
    assert_eq!(result, FOUND);
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[tokio::test]
async fn outcomes_that_are_not_told_are_looked_for() {
    let (result, _) = dig(false, Duration::from_secs(1)).await;
    assert_eq!(result, FOUND);
}
