//! Sessions with links to others: children, background children, heirs and handoffs. Each family has a tenant of its
//! own, and the root of each is told the name of the family. A person is asked before a member pays.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover::agent::{Limits, SubAgent};
use holdover::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, TokenUsage,
};
use holdover::pending::{PendingKind, PendingQuery};
use holdover::prelude::*;
use holdover::session::{HandOff, Message, OutcomeKind, ResultStatus, SessionQuery, SessionSummary};
use holdover::store::StateStore;
use holdover_core::engine::STATE_FORMAT_LINKED;
use tokio::time::{sleep, timeout};

use crate::agent::{Does, Sent, When, spec};
use crate::cast::{SESSIONS, runtime};
use crate::places::Place;

/// The families. The comment on each says in which state it is left.
pub(crate) const FAMILIES: [&str; 8] = [
    // The root waits for a child that is done, and for one that asks.
    "children",
    // The root waits for a child that has not begun.
    "not-begun",
    // The root waits for a child, which itself waits for a child that asks.
    "grandchildren",
    // The root rests, and its background child asks.
    "background",
    // The root waits for a child that has handed its session over. Its heir asks.
    "heir",
    // The root has handed its session over. Its heir asks.
    "handed-over",
    // The root rests. A session that continues it with a goal has not begun.
    "handoff",
    // The same, but the session is a draft, which has been prepared.
    "draft",
];

/// The id of the session that continues the root with a goal.
const GOAL: &str = "goal";

/// The time for a whole family to come to rest.
const PATIENCE: Duration = Duration::from_secs(120);

fn root(family: &str) -> SessionKey {
    member(family, "root")
}

fn member(family: &str, id: &str) -> SessionKey {
    SessionKey::new(TenantId::new(family).unwrap(), SessionId::new(id).unwrap())
}

/// A model that plays every part: the instructions name the part, and the last user message says what is to be done.
struct Cast;

#[async_trait]
impl Model for Cast {
    fn name(&self) -> &str {
        "test:families"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let (mut told, mut answered) = (String::new(), false);
        for message in &request.messages {
            match &**message {
                Message::User(said) => (told, answered) = (said.text.clone(), false),
                Message::Tool(_) => answered = true,
                Message::Assistant(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {}
            }
        }
        let part = ["root", "helper", "page", "heir"]
            .into_iter()
            .find(|part| request.system.contains(&format!("You are the {part}.")));
        let call = match (part, told.as_str()) {
            _ if answered => None,
            (Some("root"), "children") => Some(("helper", r#"{"tasks":["alone","pay"]}"#)),
            (Some("root"), "not-begun") => Some(("helper", r#"{"tasks":["alone"]}"#)),
            (Some("root"), "grandchildren") => Some(("helper", r#"{"tasks":["page"]}"#)),
            (Some("root"), "background") => Some(("helper", r#"{"tasks":["pay"],"background":true}"#)),
            (Some("root"), "heir") => Some(("helper", r#"{"tasks":["heir"]}"#)),
            (Some("root"), "handed-over") | (Some("helper"), "heir") => Some(("heir", r#"{"goal":"pay"}"#)),
            (Some("helper"), "page") => Some(("page", r#"{"tasks":["pay"]}"#)),
            (Some(_), "pay") => Some(("pay", r#"{"n":7}"#)),
            // A request without a part asks for the extract of a handoff.
            (Some(_) | None, _) => None,
        };
        let (part, stop) = match call {
            Some((tool, arguments)) => {
                (AnswerPart::Call { tool: tool.into(), arguments: arguments.into() }, StopReason::ToolUse)
            }
            None => (AnswerPart::Text(format!("done: {told}")), StopReason::EndTurn),
        };
        let usage = TokenUsage { input: 1, output: 1, ..TokenUsage::default() };
        let answer = ModelAnswer { parts: vec![part], stop, usage };
        Ok(Box::pin(futures::stream::iter([Ok(ModelEvent::Finished(answer))])))
    }
}

fn agent(sent: &Sent) -> Arc<Agent> {
    // The calls of a corpus wait for their answers for years.
    let patient = || Limits::default().answer_timeout_ms(None);
    let part = |name: &str| {
        let part = SubAgent::new(name, "Helps.").instructions(format!("You are the {name}."));
        part.limits(patient()).tools([ToolName::new("pay").unwrap()])
    };
    let helper = part("helper").background().sub_agent(part("page")).sub_agent(part("heir").takes_over());
    let pay =
        Does { spec: spec("pay", EffectClass::AtMostOnce), when: When::GoingOn, sent: Arc::clone(sent) };
    let agent = Agent::builder("root")
        .instructions("You are the root.")
        .model(Cast)
        .limits(patient())
        .tool(pay)
        .gate(RuleGate::new(vec![ApprovalRule::new("pay", RuleAction::Ask)]))
        .sub_agent(helper)
        .sub_agent(part("heir").takes_over());
    Arc::new(agent.build().unwrap())
}

/// Returns the members of a family.
async fn members(runtime: &Runtime, family: &str) -> Vec<SessionSummary> {
    runtime.list(&SessionQuery::all(root(family).tenant)).await.unwrap().items
}

async fn transcript(runtime: &Runtime, key: &SessionKey) -> Vec<Message> {
    runtime.messages(key).await.unwrap().into_iter().map(|entry| entry.message).collect()
}

pub(crate) async fn leave<S: StateStore>(store: &Arc<S>) {
    for family in FAMILIES {
        let agent = agent(&Sent::default());
        let runtime = runtime(store, &agent);
        let root = root(family);
        let request = Execute::new(root.tenant.clone(), Arc::clone(&agent), family);
        let mut run = runtime.execute(request.in_session(root.id.clone())).await.unwrap();
        run.first_outcome().await.unwrap();
        match family {
            "not-begun" => continue,
            "handoff" | "draft" => {
                let handoff = HandOff::for_goal("pay").to(member(family, GOAL).id);
                let handoff = if family == "draft" { handoff.draft() } else { handoff };
                let goal = runtime.hand_off(&root, handoff).await.unwrap().key;
                if family == "draft" {
                    runtime.wait(&goal).await.unwrap();
                }
                continue;
            }
            _ => {}
        }
        // Every member does what it can, until one asks.
        let working = work(&runtime, family);
        let asked =
            PendingQuery { kind: Some(PendingKind::Approval), ..PendingQuery::all(root.tenant.clone()) };
        let settled = timeout(PATIENCE, async {
            while runtime.list_pending(&asked).await.unwrap().items.is_empty()
                || works(&runtime, family).await
            {
                sleep(Duration::from_millis(20)).await;
            }
        });
        settled.await.expect(family);
        working.stop().await;
    }
}

/// Returns true if a member of the family runs, or is due.
async fn works(runtime: &Runtime, family: &str) -> bool {
    let mut works = false;
    for session in members(runtime, family).await {
        let session = runtime.session(&session.key).await.unwrap().unwrap();
        works |= session.lease.is_some() || session.alarm.is_some_and(|alarm| alarm <= runtime.now());
    }
    works
}

/// A worker, and the token that stops it.
struct Working(CancellationToken, tokio::task::JoinHandle<usize>);

/// Starts a worker for this family alone.
fn work(runtime: &Runtime, family: &str) -> Working {
    let stop = CancellationToken::new();
    let options = WorkerOptions::default().tenant(Some(root(family).tenant)).poll(Duration::from_millis(100));
    Working(stop.clone(), Worker::new(runtime.clone(), options).spawn(stop))
}

impl Working {
    async fn stop(self) {
        self.0.cancel();
        self.1.await.unwrap();
    }
}

pub(crate) async fn go_on<P: Place>(place: &P, release: &Path) {
    let left = std::fs::read_to_string(release.with_file_name(SESSIONS)).unwrap();
    let store = place.open().await;
    for family in left.lines() {
        let sent = Sent::default();
        let agent = agent(&sent);
        let runtime = runtime(&store, &agent);
        timeout(PATIENCE, goes_on(&runtime, family)).await.expect(family);
        let paid = sent.lock().unwrap().clone();
        let expected: &[&str] = if family == "not-begun" { &[] } else { &["pay"] };
        assert_eq!(paid, expected, "{family}: {}", release.display());
    }
    place.close(store).await;
}

/// Asserts that the family of a release goes on until every member rests, and that the history of each member that was
/// left still rebuilds its state. Approves what the members ask.
async fn goes_on(runtime: &Runtime, family: &str) {
    let (root, all) = (root(family), SessionQuery::all(root(family).tenant));
    assert_eq!(runtime.would_break(&all).await.unwrap(), [], "{family}: nothing breaks");
    let mut before = Vec::new();
    for session in members(runtime, family).await {
        assert!(runtime.replay(&session.key).await.unwrap().agrees(), "{}: as it was left", session.key);
        before.push((transcript(runtime, &session.key).await, session.key));
    }
    assert_eq!(
        before.len(),
        if family == "children" || family == "grandchildren" || family == "heir" { 3 } else { 2 }
    );
    let linked = runtime.session(&root).await.unwrap().unwrap().format == STATE_FORMAT_LINKED;
    assert_eq!(
        linked,
        !["handoff", "draft"].contains(&family),
        "{family}: the state of the root tells of the others"
    );
    if family == "draft" {
        drop(runtime.resume(&member(family, GOAL)).await.unwrap().outcome().await.unwrap());
    }

    let working = work(runtime, family);
    loop {
        let asked =
            PendingQuery { kind: Some(PendingKind::Approval), ..PendingQuery::all(root.tenant.clone()) };
        for entry in runtime.list_pending(&asked).await.unwrap().items {
            if entry.answered.is_none() {
                runtime.approve(&entry.call.key, entry.id(), Approval::by("ann")).await.unwrap();
            }
        }
        let mut rests = !works(runtime, family).await;
        for session in members(runtime, family).await {
            let session = runtime.session(&session.key).await.unwrap().unwrap();
            rests &= session.status.at_rest() && session.unread == 0;
        }
        if rests {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    working.stop().await;

    assert_eq!(runtime.wait(&root).await.unwrap().kind(), OutcomeKind::Completed, "{family}");
    for (before, key) in &before {
        let after = transcript(runtime, key).await;
        assert_eq!(after[..before.len()], before[..], "{key}: what was said stays");
        assert!(runtime.replay(key).await.unwrap().agrees(), "{key}: at the end");
    }
    let (mut results, mut told) = (Vec::new(), Vec::new());
    for message in transcript(runtime, &root).await {
        match message {
            Message::Tool(result) => results.push((result.tool.to_string(), result.status, result.content)),
            Message::User(said) => told.push(said.text),
            Message::Assistant(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {}
        }
    }
    let calls = match family {
        "handoff" | "draft" => Vec::new(),
        "handed-over" => vec!["heir"],
        _ => vec!["helper"],
    };
    let called: Vec<&str> = results.iter().map(|(tool, _, _)| tool.as_str()).collect();
    assert_eq!(called, calls, "{family}");
    assert!(results.iter().all(|(_, status, _)| *status == ResultStatus::Done), "{family}: {results:?}");
    match family {
        "children" => {
            assert!(results[0].2.contains("done: alone") && results[0].2.contains("done: pay"), "{results:?}")
        }
        "not-begun" => assert!(results[0].2.contains("done: alone"), "{results:?}"),
        "grandchildren" => assert!(results[0].2.contains("done: page"), "{results:?}"),
        "heir" => assert!(results[0].2.contains("done: pay"), "{results:?}"),
        "background" => assert!(told[1].contains("done: pay"), "the root is told: {told:?}"),
        _ => {}
    }
}
