//! A model hands its session over to another agent.
//!
//! Requirements: A06, H26.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use holdover_core::ending::{DoneReason, HandedTo};
use holdover_core::engine::RunOutcome;
use holdover_core::event::Event;
use holdover_core::ids::{SessionId, SessionKey};
use holdover_core::message::{Message, ResultStatus};
use holdover_core::model::ModelRequest;
use holdover_core::store::{
    Answer, EventCursor, Labels, Layer, Layered, OutcomeKind, PendingKind, Request, SessionStatus,
    StateStore, StoreError, StoreErrorKind,
};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::{Agent, Follow, Runtime, SubAgent, WorkerOptions};

use crate::bench::{agent, asking_for, finish, runtime, say, store, tool_results, transcript, worker};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

pub(crate) fn asks_for_extract(request: &ModelRequest) -> bool {
    request.system.starts_with("You hand the work of an agent over")
}

pub(crate) fn heir() -> SubAgent {
    SubAgent::new("heir", "Goes on.")
        .instructions("You inherit.")
        .tools(["write".parse().unwrap()])
        .takes_over()
}

/// Returns a model that answers with `says`, and whose heir calls `write`, which needs approval, if its goal is
/// "write".
fn script(says: impl Fn(&ModelRequest) -> Say + Send + Sync + 'static) -> Script {
    Script::new(move |request| {
        let wants_to_write = request
            .messages
            .iter()
            .any(|message| matches!(&**message, Message::User(said) if said.text == "write"));
        let last = request.messages.last().map(|message| matches!(&**message, Message::Tool(_)));
        match request.system.contains("You inherit.") {
            _ if asks_for_extract(request) => Say::Text("what matters"),
            true if wants_to_write && last == Some(false) => Say::Calls(vec![("write", "{}")]),
            true => Say::Text("inherited"),
            false => says(request),
        }
    })
}

pub(crate) fn writer() -> Fake {
    Fake::new("write", |_| async { Ok(ToolOutput::text("written").into()) })
}

fn handing(calls: Vec<(&'static str, &'static str)>) -> (Script, Arc<Agent>) {
    let model = script(move |request| match results(request).is_empty() {
        true => Say::Calls(calls.clone()),
        false => Say::Text("not handed over"),
    });
    let built = agent(&model).tool(writer()).gate(asking_for("write")).sub_agent(heir()).build();
    (model, Arc::new(built.unwrap()))
}

fn handed_to(outcome: &RunOutcome) -> Box<HandedTo> {
    let RunOutcome::Ended(ending) = outcome else { panic!("{outcome:?}") };
    assert_eq!(ending.reason, DoneReason::ToolStop);
    ending.handed_to.clone().unwrap()
}

fn beside(key: &SessionKey, id: &SessionId) -> SessionKey {
    SessionKey::new(key.tenant.clone(), id.clone())
}

async fn status(runtime: &Runtime, key: &SessionKey) -> SessionStatus {
    runtime.session(key).await.unwrap().unwrap().status
}

fn last_words(transcript: &[Message]) -> String {
    let said = transcript
        .iter()
        .rev()
        .find_map(|message| if let Message::Assistant(said) = message { Some(said.text()) } else { None });
    said.unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn h26_another_agent_goes_on_in_a_session_of_its_own_with_an_extract_for_the_goal() {
    let (model, agent) = handing(vec![("heir", r#"{"goal":"end it"}"#)]);
    let runtime = runtime(&store(), &agent);
    let mut request = say(&agent, "go");
    request.labels.0.insert("user".to_owned(), "ada".to_owned());
    let (source, outcome) = finish(runtime.execute(request).await.unwrap()).await;
    let to = handed_to(&outcome);
    assert_eq!(to.agent.as_str(), "heir");
    assert!(to.session.as_str().starts_with("next-"), "{}", to.session);
    let told = tool_results(&runtime, &source).await;
    assert_eq!((told[0].status, told[0].content.contains(to.session.as_str())), (ResultStatus::Done, true));
    let heir = beside(&source, &to.session);
    assert_eq!(runtime.glance(&heir).await.unwrap().interaction.as_str(), "handoff");
    assert_eq!(runtime.wait(&heir).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(last_words(&transcript(&runtime, &heir).await), "inherited");
    let asked = model.asked();
    assert_eq!(asked.len(), 3, "the one that handed over is asked nothing more");
    assert!(asks_for_extract(&asked[1]));
    let shown: Vec<&str> = asked[2]
        .messages
        .iter()
        .filter_map(
            |message| if let Message::User(said) = &**message { Some(said.text.as_str()) } else { None },
        )
        .collect();
    assert_eq!(shown.last(), Some(&"end it"), "{shown:?}");
    let labels = runtime.session(&heir).await.unwrap().unwrap().labels.0;
    assert_eq!(labels.get("user").map(String::as_str), Some("ada"));
    assert_eq!(labels.get(Labels::FORKED_FROM).map(String::as_str), Some(source.id.as_str()));
    assert_eq!((labels.get(Labels::PARENT), labels.get(Labels::ROOT)), (None, None));
    assert!(labels.get(Labels::AGENT).is_some_and(|name| name.ends_with(">heir")), "{labels:?}");
    for key in [&source, &heir] {
        let replay = runtime.replay(key).await.unwrap();
        assert!(replay.agrees(), "{replay:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn h26_other_calls_of_the_step_end_first_and_only_one_hands_over() {
    let calls = vec![("heir", r#"{"goal":"one"}"#), ("heir", r#"{"goal":"two"}"#), ("write", "{}")];
    let (_, agent) = handing(calls);
    let runtime = runtime(&store(), &agent);
    let (source, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    let asked = crate::bench::only_pending(&runtime, &source).await;
    runtime.approve(&source, &asked, "ann").await.unwrap();
    let outcome = runtime.wait(&source).await.unwrap();
    let heir = beside(&source, &handed_to(&outcome).session);
    let told: Vec<ResultStatus> =
        tool_results(&runtime, &source).await.iter().map(|result| result.status).collect();
    assert_eq!(told, [ResultStatus::Done, ResultStatus::Error, ResultStatus::Done]);
    assert_eq!(runtime.wait(&heir).await.unwrap().kind(), OutcomeKind::Completed);
}

#[tokio::test(start_paused = true)]
async fn h26_a_goal_that_is_none_is_refused_and_the_turn_goes_on() {
    for goal in [r#"{"goal":" "}"#, "{}", r#"{"goal":"a","more":1}"#] {
        let (_, agent) = handing(vec![("heir", goal)]);
        let runtime = runtime(&store(), &agent);
        let (source, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        assert_eq!(outcome.kind(), OutcomeKind::Completed);
        assert_eq!(tool_results(&runtime, &source).await[0].status, ResultStatus::Error);
        assert_eq!(last_words(&transcript(&runtime, &source).await), "not handed over");
    }
}

/// Returns a parent whose child hands its session over.
fn family(goal: &'static str) -> (Script, Arc<Agent>) {
    let model =
        script(move |request| match (request.system.contains("You help."), results(request).is_empty()) {
            (true, _) => Say::Calls(vec![("heir", goal)]),
            (false, true) => Say::Calls(vec![("helper", r#"{"tasks":["help"]}"#)]),
            (false, false) => Say::Text("done"),
        });
    let helper = SubAgent::new("helper", "Helps.")
        .instructions("You help.")
        .tools(["write".parse().unwrap()])
        .sub_agent(heir());
    let built = agent(&model).tool(writer()).gate(asking_for("write")).sub_agent(helper).build();
    (model, Arc::new(built.unwrap()))
}

#[tokio::test(start_paused = true)]
async fn h26_whoever_takes_a_child_over_answers_in_its_place_and_all_that_was_used_is_counted_once() {
    let (model, agent) = family(r#"{"goal":"end it"}"#);
    let runtime = runtime(&store(), &agent);
    let (parent, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    let told = tool_results(&runtime, &parent).await;
    assert_eq!((told[0].status, told[0].content.as_str()), (ResultStatus::Done, "inherited"));
    let calls = u64::try_from(model.asked().len()).unwrap();
    assert_eq!(calls, 5, "the parent twice, the child once, its heir for the extract and the goal");
    assert_eq!(runtime.standing(&parent).await.unwrap().usage.model_calls, calls);
    let tree = runtime.tree(&parent, true).await.unwrap();
    assert_eq!(tree.entries.len(), 3, "{:?}", tree.entries);
    assert_eq!(tree.usage.model_calls, calls);
}

#[tokio::test(start_paused = true)]
async fn h26_what_an_heir_of_a_child_asks_is_answered_at_the_root() {
    let (_, agent) = family(r#"{"goal":"write"}"#);
    let runtime = runtime(&store(), &agent);
    let (parent, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedAwaitingChildren);
    let pending = runtime.pending(&parent).await.unwrap();
    let asked = pending.iter().find(|entry| entry.call.kind == PendingKind::Approval).unwrap();
    runtime.approve(&parent, asked.id(), "ann").await.unwrap();
    assert_eq!(runtime.wait(&parent).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool_results(&runtime, &parent).await[0].content, "inherited");
}

#[tokio::test(start_paused = true)]
async fn h26_an_abort_follows_a_handoff_from_the_session_and_from_the_parent_of_a_child() {
    for in_family in [false, true] {
        let agent = match in_family {
            true => family(r#"{"goal":"write"}"#).1,
            false => handing(vec![("heir", r#"{"goal":"write"}"#)]).1,
        };
        let runtime = runtime(&store(), &agent);
        let _worker = worker(&runtime, WorkerOptions::default());
        let run = runtime.execute(say(&agent, "go")).await.unwrap();
        let root = run.key().clone();
        tokio::time::sleep(Duration::from_secs(10)).await;
        let all = holdover_core::store::SessionQuery::all(root.tenant.clone());
        let heirs: Vec<SessionKey> = runtime
            .list(&all)
            .await
            .unwrap()
            .items
            .into_iter()
            .map(|session| session.key)
            .filter(|key| key.id.as_str().starts_with("next-"))
            .collect();
        assert_eq!(heirs.len(), 1, "{heirs:?}");
        assert_eq!(status(&runtime, &heirs[0]).await, SessionStatus::Suspended);
        runtime.abort(&root, "enough").await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(status(&runtime, &root).await, SessionStatus::Aborted);
        assert_eq!(status(&runtime, &heirs[0]).await, SessionStatus::Aborted, "in a family: {in_family}");
    }
}

/// A layer that makes forks fail.
#[derive(Debug, Clone)]
struct NoForks;

#[async_trait]
impl Layer for NoForks {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if matches!(request, Request::Fork(..)) {
            return Err(StoreError::new(StoreErrorKind::Corrupt, "fork_session", "no forks today"));
        }
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn h26_a_session_that_cannot_be_handed_over_fails_and_its_parent_is_told_so() {
    let (_, agent) = family(r#"{"goal":"end it"}"#);
    let runtime = runtime(&Layered::new(store(), NoForks), &agent);
    let (parent, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    let told = tool_results(&runtime, &parent).await;
    assert_eq!(told[0].status, ResultStatus::Error);
    assert!(
        told[0].content.contains("handoff.refused") && told[0].content.contains("no forks today"),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a06_a_handoff_that_fails_is_reported_by_an_error_event_before_the_turn_ends() {
    let (_, agent) = handing(vec![("heir", r#"{"goal":"end it"}"#)]);
    let runtime = runtime(&Layered::new(store(), NoForks), &agent);
    let (source, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Failed);
    let events: Vec<_> = runtime.events(&source, EventCursor::START, Follow::Available).collect().await;
    let events: Vec<Event> = events.into_iter().map(|entry| entry.unwrap().event).collect();
    let at = |is: fn(&Event) -> bool| {
        let found: Vec<usize> = (0..events.len()).filter(|at| is(&events[*at])).collect();
        assert_eq!(found.len(), 1, "{events:#?}");
        found[0]
    };
    let error =
        at(|event| matches!(event, Event::Error { error } if error.code.as_str() == "handoff.refused"));
    let end = at(|event| matches!(event, Event::AgentEnd { .. }));
    assert!(error < end && end < at(|event| matches!(event, Event::Done { .. })), "{events:#?}");
}
