//! Messages that arrive while a session is busy, under each message policy.
//!
//! Requirements: B10, B33, H01, U07, U08.

use std::sync::Arc;

use holdover_core::ids::{CallId, ItemKey, MessageSeq, SessionKey};
use holdover_core::message::{Message, MessagePolicy, ResultStatus};
use holdover_core::store::OutcomeKind;
use holdover_runtime_local::{
    Agent, Deliver, Delivered, Execute, Runtime, RuntimeError, RuntimeErrorKind, WorkerOptions,
};

use crate::bench::{
    agent, asking_for, completes, finish, runtime, say, settle, store, tool_results, transcript, worker,
};
use crate::script::{Say, Script};
use crate::tools::Fake;

/// Returns a model that never answers "stuck", and answers everything else at once.
fn model() -> Script {
    let stuck = |message: &Message| matches!(message, Message::User(said) if said.text == "stuck");
    Script::new(move |request| match request.messages.last().is_some_and(|message| stuck(message)) {
        true => Say::Nothing,
        false => Say::Text("done"),
    })
}

async fn said(runtime: &Runtime, key: &SessionKey) -> Vec<String> {
    let said = transcript(runtime, key).await.into_iter().filter_map(|message| match message {
        Message::User(said) => Some(said.text),
        Message::Assistant(_)
        | Message::Tool(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    });
    said.collect()
}

fn again(agent: &Arc<Agent>, key: &SessionKey, text: &str) -> Execute {
    say(agent, text).in_session(key.id.clone())
}

#[tokio::test(start_paused = true)]
async fn h01_a_second_execute_on_a_running_session_is_refused_unless_its_policy_takes_it() {
    let model = model();
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "stuck")).await.unwrap();
    let key = run.key().clone();
    while model.asked().is_empty() {
        settle().await;
    }
    let refused = runtime.execute(again(&agent, &key, "no")).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::Held { .. }), "{refused}");
    for reject in [
        runtime.execute(again(&agent, &key, "no").under(MessagePolicy::Reject)).await.map(drop),
        runtime.start(again(&agent, &key, "no").under(MessagePolicy::Reject)).await.map(drop),
        runtime.deliver(&key, Deliver::message("no").under(MessagePolicy::Reject)).await.map(drop),
    ] {
        let refused = reject.unwrap_err();
        assert!(matches!(refused, RuntimeError::Busy { .. }), "{refused}");
        assert_eq!(refused.kind(), RuntimeErrorKind::Conflict);
    }
    assert_eq!(runtime.queued(&key).await.unwrap(), [], "nothing was stored");
    let later = runtime.execute(again(&agent, &key, "later").under(MessagePolicy::Enqueue)).await.unwrap();
    let now = runtime.execute(again(&agent, &key, "now").under(MessagePolicy::Interrupt)).await.unwrap();
    assert_eq!((later.epoch(), now.epoch()), (None, None), "whoever runs it takes them");
    assert_eq!(finish(run).await.1.kind(), OutcomeKind::Interrupted);
    assert_eq!(finish(now).await.1.kind(), OutcomeKind::Completed);
    completes(later).await;
    assert_eq!(said(&runtime, &key).await, ["stuck", "now", "later"]);
    completes(runtime.execute(again(&agent, &key, "at rest").under(MessagePolicy::Reject)).await.unwrap())
        .await;
    assert_eq!(said(&runtime, &key).await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn u08_a_rejecting_message_is_accepted_at_rest_by_one_decision() {
    let model = model();
    let agent = Arc::new(agent(&model).on_message(MessagePolicy::Reject).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(runtime.deliver(&key, Deliver::message("one")).await.unwrap(), Delivered::Accepted);
    let refused = runtime.deliver(&key, Deliver::message("two")).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::Busy { .. }), "its turn is about to begin: {refused}");
    let _worker = worker(&runtime, WorkerOptions::default());
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(runtime.deliver(&key, Deliver::message("three")).await.unwrap(), Delivered::Accepted);
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(said(&runtime, &key).await, ["go", "one", "three"]);
}

#[tokio::test(start_paused = true)]
async fn u08_the_repeat_of_a_rejecting_message_that_was_accepted_is_a_duplicate_while_its_turn_runs() {
    let model = model();
    let agent = Arc::new(agent(&model).on_message(MessagePolicy::Reject).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let once = |name: &str| ItemKey::new(name).unwrap();
    let execute = |name: &str, text: &str| again(&agent, &key, text).once(once(name));
    let deliver = |name: &str, text: &str| Deliver::message(text).once(once(name));
    assert_eq!(runtime.deliver(&key, deliver("a", "stuck")).await.unwrap(), Delivered::Accepted);
    let due = runtime.deliver(&key, deliver("a", "stuck")).await.unwrap();
    assert_eq!(due, Delivered::Duplicate, "its turn is about to begin");
    let run = runtime.resume(&key).await.unwrap();
    while model.asked().len() < 2 {
        settle().await;
    }
    // The reply to the delivery was lost, and the turn that the message began is running.
    assert_eq!(runtime.deliver(&key, deliver("a", "stuck")).await.unwrap(), Delivered::Duplicate);
    assert!(runtime.start(execute("a", "stuck")).await.unwrap().duplicate);
    let followed = runtime.execute(execute("a", "stuck")).await.unwrap();
    assert!(followed.is_duplicate());
    for (name, text, conflicts) in [("a", "something else", true), ("b", "stuck", false)] {
        for refused in [
            runtime.execute(execute(name, text)).await.map(drop),
            runtime.start(execute(name, text)).await.map(drop),
            runtime.deliver(&key, deliver(name, text)).await.map(drop),
        ] {
            let refused = refused.unwrap_err();
            assert_eq!(matches!(refused, RuntimeError::KeyConflict { .. }), conflicts, "{refused}");
            assert_eq!(matches!(refused, RuntimeError::Busy { .. }), !conflicts, "{refused}");
        }
    }
    assert_eq!(runtime.queued(&key).await.unwrap(), [], "nothing was stored");
    runtime.interrupt(&key, "enough").await.unwrap();
    assert_eq!(finish(run).await.1.kind(), OutcomeKind::Interrupted);
    assert_eq!(followed.outcome().await.unwrap().kind(), OutcomeKind::Interrupted, "that of its own turn");
    assert_eq!(runtime.deliver(&key, deliver("b", "at rest")).await.unwrap(), Delivered::Accepted);
    runtime.wait(&key).await.unwrap();
    assert_eq!(said(&runtime, &key).await, ["go", "stuck", "at rest"]);
}

#[tokio::test(start_paused = true)]
async fn u08_the_repeat_of_a_message_without_a_policy_joins_the_turn_that_it_began() {
    let model = model();
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let execute = |name: &str| again(&agent, &key, "stuck").once(ItemKey::new(name).unwrap());
    let run = runtime.execute(execute("a")).await.unwrap();
    while model.asked().len() < 2 {
        settle().await;
    }
    assert!(runtime.execute(execute("a")).await.unwrap().is_duplicate());
    let refused = runtime.execute(execute("b")).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::Held { .. }), "{refused}");
    runtime.interrupt(&key, "enough").await.unwrap();
    finish(run).await;
    assert_eq!(said(&runtime, &key).await, ["go", "stuck"]);
}

#[tokio::test(start_paused = true)]
async fn u08_the_repeat_of_an_edit_that_was_carried_out_is_a_duplicate() {
    let model = model();
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "red")).await.unwrap()).await;
    let edit =
        |name: &str, text: &str| Deliver::instead_of(MessageSeq(1), text).once(ItemKey::new(name).unwrap());
    assert_eq!(runtime.deliver(&key, edit("a", "blue")).await.unwrap(), Delivered::Accepted);
    runtime.wait(&key).await.unwrap();
    assert_eq!(runtime.deliver(&key, edit("a", "blue")).await.unwrap(), Delivered::Duplicate);
    let other = runtime.deliver(&key, edit("a", "green")).await.unwrap_err();
    assert!(matches!(other, RuntimeError::KeyConflict { .. }), "{other}");
    let new = runtime.deliver(&key, edit("b", "blue")).await.unwrap_err();
    assert!(matches!(new, RuntimeError::NotEditable { .. }), "{new}");
    assert_eq!(runtime.queued(&key).await.unwrap(), [], "nothing was stored");
    assert_eq!(said(&runtime, &key).await, ["red", "blue"]);
}

#[tokio::test(start_paused = true)]
async fn u08_the_repeat_of_a_message_joins_its_turn_though_the_session_is_aborted_or_its_agent_unknown() {
    let model = model();
    let first = Arc::new(agent(&model).version("1").build().unwrap());
    let second = Arc::new(agent(&model).version("2").instructions("Be brief.").build().unwrap());
    let store = store();
    let old = runtime(&store, &first);
    let key = completes(old.execute(say(&first, "go")).await.unwrap()).await;
    let execute = |agent, name: &str| again(agent, &key, "more").once(ItemKey::new(name).unwrap());
    completes(old.execute(execute(&first, "a")).await.unwrap()).await;

    let new = runtime(&store, &second);
    assert!(new.execute(execute(&second, "a")).await.unwrap().is_duplicate());
    let unknown = new.execute(execute(&second, "b")).await.unwrap_err();
    assert!(matches!(unknown, RuntimeError::AgentUnknown { .. }), "{unknown}");

    old.abort(&key, "enough").await.unwrap();
    assert!(old.execute(execute(&first, "a")).await.unwrap().is_duplicate());
    for refused in [execute(&first, "b"), again(&first, &key, "more")] {
        let refused = old.execute(refused).await.unwrap_err();
        assert!(matches!(refused, RuntimeError::Aborted { .. }), "{refused}");
    }
    assert_eq!(said(&old, &key).await, ["go", "more"]);
}

#[tokio::test(start_paused = true)]
async fn u08_messages_that_wait_are_listed_replaced_and_withdrawn() {
    let model = Script::calling(vec![("pay", "{}")]);
    let agent =
        agent(&model).tool(Fake::echo("pay")).gate(asking_for("pay")).on_message(MessagePolicy::Enqueue);
    let agent = Arc::new(agent.build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    for text in ["one", "two", "three"] {
        runtime.deliver(&key, Deliver::message(text)).await.unwrap();
    }
    let queued = runtime.queued(&key).await.unwrap();
    let texts: Vec<&str> = queued.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    runtime.replace(&key, queued[0].item, "one and a half").await.unwrap();
    runtime.withdraw(&key, queued[1].item).await.unwrap();
    let gone = runtime.withdraw(&key, queued[1].item).await.unwrap_err();
    assert!(matches!(gone, RuntimeError::NotQueued { .. }), "{gone}");
    runtime.interrupt(&key, "enough").await.unwrap();
    let _worker = worker(&runtime, WorkerOptions::default());
    while !runtime.queued(&key).await.unwrap().is_empty() {
        settle().await;
    }
    runtime.wait(&key).await.unwrap();
    assert_eq!(said(&runtime, &key).await, ["go", "one and a half", "three"]);
    let gone = runtime.replace(&key, queued[0].item, "too late").await.unwrap_err();
    assert_eq!(gone.kind(), RuntimeErrorKind::NotFound, "{gone}");
}

#[tokio::test(start_paused = true)]
async fn b10_what_was_said_earlier_is_edited_and_what_followed_is_shown_no_more() {
    let model = model();
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "red")).await.unwrap()).await;
    completes(runtime.execute(again(&agent, &key, "and green")).await.unwrap()).await;
    let refused = runtime.deliver(&key, Deliver::instead_of(MessageSeq(2), "no")).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::NotEditable { .. }), "the model said it: {refused}");
    runtime.deliver(&key, Deliver::instead_of(MessageSeq(1), "blue")).await.unwrap();
    runtime.wait(&key).await.unwrap();
    let asked = model.asked();
    assert_eq!(asked.last().unwrap().messages.len(), 1, "{:?}", asked.last().unwrap().messages);
    assert_eq!(said(&runtime, &key).await, ["red", "and green", "blue"], "nothing stored is removed");
    let refused = runtime.deliver(&key, Deliver::instead_of(MessageSeq(3), "no")).await.unwrap_err();
    assert!(refused.to_string().contains("shown it no more"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn b33_one_call_is_stopped_and_its_sibling_comes_back() {
    let (stuck, other) = (Fake::stuck("stuck").says_it_did_not_act(), Fake::echo("other"));
    let model = Script::calling(vec![("stuck", "{}"), ("other", "{}")]);
    let agent = Arc::new(agent(&model).tool(stuck.clone()).tool(other).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    while stuck.calls().is_empty() {
        settle().await;
    }
    runtime.stop_call(&key, &CallId::new("c1-0").unwrap()).await.unwrap();
    completes(run).await;
    let statuses: Vec<_> = tool_results(&runtime, &key).await.iter().map(|result| result.status).collect();
    assert_eq!(statuses, [ResultStatus::Cancelled, ResultStatus::Done]);
    let gone = runtime.stop_call(&key, &CallId::new("c1-0").unwrap()).await.unwrap_err();
    assert!(matches!(gone, RuntimeError::NotOpen { .. }), "{gone}");
}
