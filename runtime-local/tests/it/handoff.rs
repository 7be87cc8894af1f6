//! Handoffs: a new session works on a goal with an extract of the old one.
//!
//! Requirements: B50, H26.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use holdover_core::compaction::EXTRACT_MARKER;
use holdover_core::engine::STATE_FORMAT_LED;
use holdover_core::handoff::GOAL_BYTES_MAX;
use holdover_core::ids::{CheckpointId, ItemKey, SessionId, SessionKey};
use holdover_core::machine::glance::Interaction;
use holdover_core::message::Message;
use holdover_core::mode::{Briefing, Mode};
use holdover_core::model::{ModelError, ModelErrorKind, ModelRequest};
use holdover_core::procedure::{Procedure, ProcedureNature, ProcedureState};
use holdover_core::store::{
    Answer, Labels, Layer, Layered, OutcomeKind, Request, SessionStatus, StateStore, StoreError,
    StoreErrorKind,
};
use holdover_core::tool::{EffectClass, ToolOutput};
use holdover_runtime_local::{
    Agent, Agents, Approval, HandOff, Runtime, RuntimeError, RuntimeErrorKind, RuntimeOptions, WorkerOptions,
};

use crate::bench::{
    agent, asking_for, completes, finish, only_pending, runtime, say, settle, store, tool_results,
    transcript, worker,
};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

const GOAL: &str = "paint the door";
const EXTRACT: &str = "the blue paint is in the shed";

fn asks_for_extract(request: &ModelRequest) -> bool {
    request.system.starts_with("You hand the work of an agent over")
}

/// Returns the messages of a request in order: their text, or their role if they have none.
fn said(request: &ModelRequest) -> Vec<String> {
    let text = |message: &Arc<Message>| match &**message {
        Message::User(said) => said.text.clone(),
        Message::Assistant(said) => said.text(),
        Message::Tool(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {
            message.role().to_owned()
        }
    };
    request.messages.iter().map(text).collect()
}

fn extract() -> String {
    format!("{EXTRACT_MARKER}\n\n{EXTRACT}")
}

/// Returns a model that answers every message with `done`, and writes extracts.
fn talker() -> Script {
    Script::new(|request| if asks_for_extract(request) { Say::Text(EXTRACT) } else { Say::Text("done") })
}

fn built(model: &Script) -> Arc<Agent> {
    Arc::new(agent(model).build().unwrap())
}

fn key_of(key: &SessionKey, id: &str) -> SessionKey {
    SessionKey::new(key.tenant.clone(), SessionId::new(id).unwrap())
}

fn once(key: &str) -> ItemKey {
    ItemKey::new(key).unwrap()
}

async fn interaction(runtime: &Runtime, key: &SessionKey) -> Interaction {
    runtime.glance(key).await.unwrap().interaction
}

#[tokio::test(start_paused = true)]
async fn b50_a_session_goes_on_in_another_one_with_an_extract_and_a_goal() {
    let model = talker();
    let agent = built(&model);
    let runtime = runtime(&store(), &agent);
    let source = completes(runtime.execute(say(&agent, "which paint is there?")).await.unwrap()).await;
    let before = (runtime.session(&source).await.unwrap(), transcript(&runtime, &source).await);

    let to = HandOff::for_goal(GOAL).to(SessionId::new("door").unwrap()).label("why", "test");
    let handed = runtime.hand_off(&source, to).await.unwrap().key;
    assert_eq!(handed, key_of(&source, "door"));
    assert_eq!(interaction(&runtime, &handed).await, Interaction::Handoff);
    assert_eq!(model.asked().len(), 1, "nobody has taken it up");
    assert_eq!(runtime.wait(&handed).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(interaction(&runtime, &handed).await, Interaction::UserMessageReply);

    let asked = model.asked();
    assert_eq!(asked.len(), 3);
    let sessions: Vec<_> = asked.iter().map(|request| &request.session).collect();
    assert_eq!(sessions, [&source, &handed, &handed]);
    assert!(asks_for_extract(&asked[1]) && asked[1].tools.is_empty());
    let asking = said(&asked[1]).concat();
    assert!(asking.contains(&format!("THE GOAL: {GOAL}")), "{asking}");
    assert!(asking.contains("USER: which paint is there?") && asking.contains("AGENT: done"), "{asking}");
    assert_eq!(said(&asked[2]), [extract(), GOAL.to_owned()], "and nothing of the old transcript");
    let after = (runtime.session(&source).await.unwrap(), transcript(&runtime, &source).await);
    assert_eq!(after, before, "the source is not touched");
    let labels = runtime.session(&handed).await.unwrap().unwrap().labels;
    assert_eq!(labels.0.get("why").map(String::as_str), Some("test"));
    assert!(runtime.replay(&handed).await.unwrap().agrees());
}

#[tokio::test(start_paused = true)]
async fn h26_another_agent_goes_on_with_its_own_words_model_and_tools() {
    let (first, second) = (talker(), talker());
    let asks = agent(&first).instructions("You are asked.").build().unwrap();
    let paints = Agent::builder("painter").instructions("You paint.").model(second.clone()).tool(brush());
    let paints = paints.build().unwrap();
    let (asks, paints) = (Arc::new(asks), Arc::new(paints));
    let agents = Agents::new().with(Arc::clone(&asks)).with(Arc::clone(&paints));
    let runtime = Runtime::new(store(), agents, RuntimeOptions::default());
    let mut said = say(&asks, "which paint is there?");
    said.briefing =
        Briefing { mode: Some(Mode::Plan), system_prompt: Some("You are asked twice.".to_owned()) };
    let source = completes(runtime.execute(said).await.unwrap()).await;
    assert!(first.asked()[0].system.contains("You are asked twice."));
    let before = runtime.session(&source).await.unwrap();

    let how = HandOff::for_goal(GOAL).by(Arc::clone(&paints)).once(once("k"));
    let handed = runtime.hand_off(&source, how.clone()).await.unwrap().key;
    assert_eq!(runtime.hand_off(&source, how.clone()).await.unwrap().key, handed, "at most once");
    let other = HandOff::for_goal(GOAL).once(once("k"));
    assert!(matches!(runtime.hand_off(&source, other).await, Err(RuntimeError::Exists { .. })));
    assert_eq!(interaction(&runtime, &handed).await, Interaction::Handoff);
    assert_eq!(runtime.wait(&handed).await.unwrap().kind(), OutcomeKind::Completed);

    assert_eq!(first.asked().len(), 1, "the agent of the source is asked nothing more");
    let asked = second.asked();
    assert!(asks_for_extract(&asked[0]));
    assert!(asked[1].system.starts_with("You work in mode agent."), "{}", asked[1].system);
    assert!(
        asked[1].system.contains("You paint.") && !asked[1].system.contains("You are asked"),
        "{}",
        asked[1].system
    );
    assert_eq!(asked[1].tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["brush"]);
    let session = runtime.session(&handed).await.unwrap().unwrap();
    assert_eq!((&session.queue, &session.definition), (paints.queue(), paints.definition()));
    let labels = session.labels.0;
    assert_eq!(labels.get(Labels::AGENT).map(String::as_str), Some("painter"));
    assert_eq!(labels.get(Labels::FORKED_FROM).map(String::as_str), Some(source.id.as_str()));
    assert_eq!(runtime.session(&source).await.unwrap(), before, "the source is not touched");
    assert!(runtime.replay(&handed).await.unwrap().agrees());
}

/// A worker of an older version would withhold no tool from the new agent.
#[tokio::test(start_paused = true)]
async fn h26_d01_older_workers_leave_a_session_alone_that_an_agent_with_a_procedure_has_taken_over() {
    let (first, second) = (talker(), talker());
    let asks = Arc::new(agent(&first).build().unwrap());
    let begun = ProcedureState::new(ProcedureNature::Rest);
    let procedure = Procedure::new("begun").unwrap().state("begun", begun).unwrap();
    let paints = Agent::builder("painter").model(second.clone()).tool(brush()).procedure(procedure);
    let paints = Arc::new(paints.build().unwrap());
    let agents = Agents::new().with(Arc::clone(&asks)).with(Arc::clone(&paints));
    let runtime = Runtime::new(store(), agents, RuntimeOptions::default());
    let source = completes(runtime.execute(say(&asks, "which paint is there?")).await.unwrap()).await;
    let how = HandOff::for_goal(GOAL).by(Arc::clone(&paints));
    let handed = runtime.hand_off(&source, how).await.unwrap().key;
    assert_eq!(runtime.session(&handed).await.unwrap().unwrap().format, STATE_FORMAT_LED);
    assert_ne!(runtime.session(&source).await.unwrap().unwrap().format, STATE_FORMAT_LED);
    assert_eq!(runtime.wait(&handed).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(runtime.session(&handed).await.unwrap().unwrap().format, STATE_FORMAT_LED);
}

fn brush() -> Fake {
    Fake::new("brush", |_| async { Ok(ToolOutput::text("painted").into()) })
}

#[tokio::test(start_paused = true)]
async fn b50_a_draft_waits_until_somebody_wants_it() {
    let model = talker();
    let agent = built(&model);
    let runtime = runtime(&store(), &agent);
    let source = completes(runtime.execute(say(&agent, "hello")).await.unwrap()).await;
    let handed = runtime.hand_off(&source, HandOff::for_goal(GOAL).draft()).await.unwrap().key;
    let _worker = worker(&runtime, WorkerOptions::default());
    let outcome = runtime.wait(&handed).await.unwrap();
    assert_eq!(outcome.kind(), OutcomeKind::Interrupted, "{outcome:?}");
    assert_eq!(interaction(&runtime, &handed).await, Interaction::UserMessageInitial);
    assert_eq!(model.asked().len(), 2, "the extract is made, and nobody works on the goal");
    completes(runtime.resume(&handed).await.unwrap()).await;
    assert_eq!(said(&model.asked()[2]), [extract(), GOAL.to_owned()]);
}

#[tokio::test(start_paused = true)]
async fn b50_handed_over_twice_under_one_key_it_is_one_session() {
    let model = talker();
    let agent = built(&model);
    let runtime = runtime(&store(), &agent);
    let source = completes(runtime.execute(say(&agent, "hello")).await.unwrap()).await;
    let again = || HandOff::for_goal(GOAL).once(once("k"));
    let first = runtime.hand_off(&source, again()).await.unwrap();
    assert_eq!(runtime.hand_off(&source, again()).await.unwrap(), first, "before it is taken up");
    runtime.wait(&first.key).await.unwrap();
    // Both the source and the new session have moved on since; a repeat begins nothing.
    completes(runtime.execute(say(&agent, "more").in_session(source.id.clone())).await.unwrap()).await;
    let version = runtime.session(&first.key).await.unwrap().unwrap().version;
    assert_eq!(runtime.hand_off(&source, again()).await.unwrap(), first);
    assert_eq!(runtime.session(&first.key).await.unwrap().unwrap().version, version);
    let extracts = model.asked().iter().filter(|request| asks_for_extract(request)).count();
    assert_eq!(extracts, 1);
    // The same key with another goal is refused; another key begins another session.
    let other = runtime.hand_off(&source, HandOff::for_goal("paint the window").once(once("k"))).await;
    assert!(matches!(other, Err(RuntimeError::Exists { .. })), "{other:?}");
    let second = runtime.hand_off(&source, HandOff::for_goal(GOAL).once(once("l"))).await.unwrap();
    assert_ne!(second, first);
    let taken = HandOff::for_goal(GOAL).to(first.key.id.clone());
    assert!(matches!(runtime.hand_off(&source, taken).await, Err(RuntimeError::Exists { .. })));
}

/// A layer that loses the next deliveries before they reach the store. It holds the number of deliveries that are
/// still to be lost.
#[derive(Default)]
struct Undelivered(AtomicU32);

#[async_trait]
impl Layer for Undelivered {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let lost = request.operation() == "deliver"
            && self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if lost {
            return Err(StoreError::new(StoreErrorKind::Backend, "deliver", "gone"));
        }
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn b50_whoever_dies_before_the_session_is_set_going_sets_it_going_by_a_repeat() {
    let model = talker();
    let agent = built(&model);
    let store = Layered::new(store(), Undelivered::default());
    let lost = Arc::clone(store.layer());
    let runtime = runtime(&store, &agent);
    let source = completes(runtime.execute(say(&agent, "hello")).await.unwrap()).await;
    let again = || HandOff::for_goal(GOAL).to(SessionId::new("door").unwrap()).once(once("k"));
    lost.0.store(1, Ordering::SeqCst);
    runtime.hand_off(&source, again()).await.unwrap_err();
    let handed = key_of(&source, "door");
    let session = runtime.session(&handed).await.unwrap().expect("it is made, with its goal");
    assert_eq!((session.status, session.alarm), (SessionStatus::Interrupted, None));
    assert_eq!(interaction(&runtime, &handed).await, Interaction::Handoff);
    assert_eq!(runtime.hand_off(&source, again()).await.unwrap().key, handed);
    assert_eq!(runtime.wait(&handed).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(said(model.asked().last().unwrap()), [extract(), GOAL.to_owned()]);
}

#[tokio::test(start_paused = true)]
async fn b50_what_cannot_be_handed_over_says_so_and_makes_nothing() {
    let agent = built(&talker());
    let runtime = runtime(&store(), &agent);
    let source = completes(runtime.execute(say(&agent, "hello")).await.unwrap()).await;
    let to = || SessionId::new("door").unwrap();
    let refused = async |from: &SessionKey, how: HandOff| {
        let error = runtime.hand_off(from, how.to(to())).await.unwrap_err();
        assert_eq!(runtime.session(&key_of(from, "door")).await.unwrap(), None, "{error}");
        error
    };
    let empty = refused(&source, HandOff::for_goal(" \n")).await;
    assert_eq!(
        (empty.to_string(), empty.kind()),
        (format!("session {source}: the goal is empty"), RuntimeErrorKind::Invalid)
    );
    let long = refused(&source, HandOff::for_goal("x".repeat(GOAL_BYTES_MAX + 1))).await;
    let words = format!(
        "session {source}: the goal has {} bytes, at most {GOAL_BYTES_MAX} are allowed",
        GOAL_BYTES_MAX + 1
    );
    assert_eq!((long.to_string(), long.kind()), (words, RuntimeErrorKind::TooLarge));
    let nobody = refused(&key_of(&source, "nobody"), HandOff::for_goal(GOAL)).await;
    assert_eq!(nobody.kind(), RuntimeErrorKind::NotFound);
    let nowhere = refused(&source, HandOff::for_goal(GOAL).at(CheckpointId(99))).await;
    assert_eq!(nowhere.kind(), RuntimeErrorKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn b50_an_extract_that_fails_is_told_and_tried_again() {
    let broken = Arc::new(AtomicU32::new(1));
    let model = Script::new({
        let broken = Arc::clone(&broken);
        move |request| match asks_for_extract(request) {
            true if broken.swap(0, Ordering::SeqCst) > 0 => {
                Say::Fail(ModelError::new(ModelErrorKind::Auth, "out of ink"))
            }
            true => Say::Text(EXTRACT),
            false => Say::Text("done"),
        }
    });
    let agent = built(&model);
    let runtime = runtime(&store(), &agent);
    let source = completes(runtime.execute(say(&agent, "hello")).await.unwrap()).await;
    let handed = runtime.hand_off(&source, HandOff::for_goal(GOAL)).await.unwrap().key;
    assert_eq!(runtime.wait(&handed).await.unwrap().kind(), OutcomeKind::Failed);
    let glance = runtime.glance(&handed).await.unwrap();
    assert_eq!(glance.interaction, Interaction::Handoff);
    assert!(glance.error.is_some_and(|error| error.detail.contains("out of ink")));
    completes(runtime.retry(&handed).await.unwrap()).await;
    assert_eq!(said(model.asked().last().unwrap()), [extract(), GOAL.to_owned()]);
}

#[tokio::test(start_paused = true)]
async fn b50_each_try_of_an_extract_says_which_it_is() {
    let model = Script::new(|request| match (asks_for_extract(request), request.attempt) {
        (true, 0 | 1) => Say::Fail(ModelError::new(ModelErrorKind::RateLimited, "later")),
        (true, _) => Say::Text(EXTRACT),
        (false, _) => Say::Text("done"),
    });
    let agent = built(&model);
    let runtime = runtime(&store(), &agent);
    let source = completes(runtime.execute(say(&agent, "hello")).await.unwrap()).await;
    let handed = runtime.hand_off(&source, HandOff::for_goal(GOAL)).await.unwrap().key;
    assert_eq!(runtime.wait(&handed).await.unwrap().kind(), OutcomeKind::Completed);
    let tries: Vec<u32> =
        model.asked().iter().filter(|asked| asks_for_extract(asked)).map(|asked| asked.attempt).collect();
    assert_eq!(tries, [0, 1, 2]);
    assert_eq!(model.asked().last().map(|asked| asked.attempt), Some(0), "the step begins anew");
}

#[tokio::test(start_paused = true)]
async fn b50_a_handoff_is_stopped_while_its_extract_is_made() {
    let silent = Arc::new(AtomicU32::new(1));
    let model = Script::new({
        let silent = Arc::clone(&silent);
        move |request| match asks_for_extract(request) {
            true if silent.swap(0, Ordering::SeqCst) > 0 => Say::Nothing,
            true => Say::Text(EXTRACT),
            false => Say::Text("done"),
        }
    });
    let agent = built(&model);
    let runtime = runtime(&store(), &agent);
    let source = completes(runtime.execute(say(&agent, "hello")).await.unwrap()).await;
    let handed = runtime.hand_off(&source, HandOff::for_goal(GOAL)).await.unwrap().key;
    let waiting = tokio::spawn({
        let (runtime, handed) = (runtime.clone(), handed.clone());
        async move { runtime.wait(&handed).await }
    });
    settle().await;
    assert_eq!(model.asked().len(), 2, "the extract is being made");
    runtime.interrupt(&handed, "not now").await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().kind(), OutcomeKind::Interrupted);
    completes(runtime.resume(&handed).await.unwrap()).await;
    assert_eq!(said(model.asked().last().unwrap()), [extract(), GOAL.to_owned()]);
}

#[tokio::test(start_paused = true)]
async fn b50_a_session_that_waits_is_handed_over_and_goes_on_waiting() {
    let pay = Fake::echo("pay").effect(EffectClass::AtMostOnce);
    let model = Script::new(|request| match results(request).len() {
        _ if asks_for_extract(request) => Say::Text(EXTRACT),
        0 => Say::Calls(vec![("pay", "{}")]),
        _ => Say::Text("paid"),
    });
    let agent = Arc::new(agent(&model).tool(pay.clone()).gate(asking_for("pay")).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (source, _) = finish(runtime.execute(say(&agent, "pay")).await.unwrap()).await;
    let asked = only_pending(&runtime, &source).await;
    let always = Approval::default().always();
    runtime.approve(&source, &asked, always).await.unwrap();
    runtime.wait(&source).await.unwrap();
    assert_eq!(pay.calls().len(), 1);
    // The standing approval of the source does not extend to the new session.
    let handed = runtime.hand_off(&source, HandOff::for_goal(GOAL)).await.unwrap().key;
    assert_eq!(runtime.wait(&handed).await.unwrap().kind(), OutcomeKind::SuspendedClientTool);
    let asked = only_pending(&runtime, &handed).await;
    // Handing the new session over in turn does not answer its question either.
    let third = runtime.hand_off(&handed, HandOff::for_goal("paint the window").draft()).await.unwrap().key;
    runtime.wait(&third).await.unwrap();
    assert_eq!(only_pending(&runtime, &handed).await, asked);
    assert_eq!(runtime.pending(&third).await.unwrap(), []);
    let request = model.asked().pop().unwrap();
    let asking = said(&request).concat();
    assert!(asking.contains("THE GOAL: paint the window\n"), "{asking}");
    assert!(asking.contains(EXTRACT) && asking.contains(&format!("USER: {GOAL}")), "{asking}");
    assert_eq!(tool_results(&runtime, &third).await.len(), 2, "the call of the second is cancelled there");
    assert_eq!(pay.calls().len(), 1);
}
