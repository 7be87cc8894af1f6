//! Wide trees: a thousand children whose process is killed, and children that all end at once.
//!
//! Requirements: A64, H11, U10.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use holdover::agent::SubAgent;
use holdover::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, TokenUsage,
};
use holdover::prelude::*;
use holdover::session::{Message, OutcomeKind, SessionStatus};
use holdover::store::{SqliteOptions, SqliteStore, StateStore};
use holdover_core::store::Layered;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::agent::World;
use crate::dying::{Dying, Fault, What};
use crate::story::{PATIENCE, patiently};
use crate::told::results;

/// The number of writes at which a process is killed, unless `HOLDOVER_KILLS` sets another number.
const KILLS: usize = 4;

/// A model of a root that gives `count` tasks, and of its children. With a race, the children answer only once all of
/// them have been asked.
struct Root {
    count: usize,
    race: Option<Race>,
}

/// Holds all requests until `count` different sessions have made one. A repeated request counts once.
struct Race {
    count: usize,
    asked: Mutex<HashSet<SessionKey>>,
    all: CancellationToken,
}

impl Race {
    async fn wait(&self, session: &SessionKey) {
        let mut asked = self.asked.lock().await;
        asked.insert(session.clone());
        if asked.len() == self.count {
            self.all.cancel();
        }
        drop(asked);
        self.all.cancelled().await;
    }
}

#[async_trait]
impl Model for Root {
    fn name(&self) -> &str {
        "scripted:root"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let is_root = request.system.contains("You are the root.");
        let joined = request.messages.iter().any(|message| matches!(&**message, Message::Tool(_)));
        if let Some(race) = self.race.as_ref().filter(|_| !is_root) {
            race.wait(&request.session).await;
        }
        let (part, stop) = match (is_root, joined) {
            (true, false) => {
                let tasks: Vec<String> = (0..self.count).map(|task| format!("task {task}")).collect();
                let arguments = serde_json::json!({ "tasks": tasks }).to_string();
                (AnswerPart::Call { tool: "child".into(), arguments }, StopReason::ToolUse)
            }
            _ => (AnswerPart::Text("x".into()), StopReason::EndTurn),
        };
        let usage = TokenUsage { input: 1, output: 1, ..TokenUsage::default() };
        let answer = ModelAnswer { parts: vec![part], stop, usage };
        Ok(Box::pin(futures::stream::iter([Ok(ModelEvent::Finished(answer))])))
    }
}

fn root(count: usize, race: bool) -> Arc<Agent> {
    let child = SubAgent::new("child", "Does it").instructions("You are a child.").fan_out_max(1_000);
    let model = Root {
        count,
        race: race.then(|| Race { count, asked: Mutex::default(), all: CancellationToken::new() }),
    };
    let root = Agent::builder("root").instructions("You are the root.").model(model).sub_agent(child);
    Arc::new(root.build().unwrap())
}

fn process(store: Arc<dyn StateStore>, agent: &Arc<Agent>, lease: Duration) -> Runtime {
    let options = RuntimeOptions::default().lease(lease).effects_override(Some("memory".into()));
    Runtime::new(store, Agents::new().with(Arc::clone(agent)), options)
}

/// Asserts that every child is joined once.
async fn check(runtime: &Runtime, key: &SessionKey, count: usize) {
    let tree = patiently(async || runtime.tree(key, true).await).await;
    assert_eq!(tree.entries.len(), count + 1);
    assert!(tree.entries.iter().all(|entry| entry.session.status == SessionStatus::Idle));
    let messages = patiently(async || runtime.messages(key).await).await.into_iter();
    let messages: Vec<Message> = messages.map(|entry| entry.message).collect();
    let results = results(&messages);
    let [(_, joined)] = &results[..] else { panic!("{results:?}") };
    assert_eq!(joined.lines().filter(|line| line.ends_with("done: x")).count(), count, "{joined}");
    // Two model calls of the root and one of each child, with two tokens each.
    assert_eq!(tree.usage.tokens.total(), 2 * (count as u64 + 2), "each use counts once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_children_are_joined_wherever_their_process_is_killed() {
    let kills = std::env::var("HOLDOVER_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(SqliteOptions::new(folder.path().join("sessions.db"))).await.unwrap();
    let store: Arc<dyn StateStore> = Arc::new(store);
    let stories = (1..=kills).map(|kill| killed_at(Arc::clone(&store), WRITES_MIN * kill / kills));
    stream::iter(stories).buffer_unordered(2).collect::<Vec<()>>().await;
}

/// A short lease, so that a dead process is soon replaced.
const MORTAL: Duration = Duration::from_secs(3);
/// A long lease, so that no live process loses its sessions.
const ALIVE: Duration = Duration::from_secs(60);

const COUNT: usize = 1_000;

/// A number of counted writes that the story reaches: at least four for each child.
const WRITES_MIN: usize = 4 * COUNT;

async fn killed_at(store: Arc<dyn StateStore>, at: usize) {
    let agent = root(COUNT, false);
    let person = process(Arc::clone(&store), &agent, MORTAL);
    let tenant = TenantId::new(format!("killed-{at}")).unwrap();
    let key = person.start(Execute::new(tenant.clone(), Arc::clone(&agent), "go")).await.unwrap().key;
    let options = WorkerOptions::default().tenant(Some(tenant));
    let dying = Dying::of(Some(Fault { at, what: What::DiesBefore }), World::default());
    let mortal: Layered<Arc<dyn StateStore>, Dying> = Layered::new(Arc::clone(&store), dying.clone());
    let first = Worker::new(process(Arc::new(mortal), &agent, MORTAL), options.clone());
    let first = first.spawn(CancellationToken::new());
    timeout(PATIENCE, dying.died.cancelled()).await.expect("it is killed");
    first.abort();
    let stop = CancellationToken::new();
    let second = Worker::new(process(Arc::clone(&store), &agent, MORTAL), options).spawn(stop.clone());
    let ended = patiently(async || person.wait_at_most(&key, PATIENCE).await).await.expect("it ends");
    assert_eq!(ended.kind(), OutcomeKind::Completed, "killed at write {at}");
    for entry in patiently(async || person.tree(&key, true).await).await.entries {
        let rests = patiently(async || person.wait_at_most(&entry.session.key, PATIENCE).await).await;
        rests.expect("it rests");
    }
    stop.cancel();
    second.await.unwrap();
    check(&person, &key, COUNT).await;
}

/// Lets 64 children, each in a process of its own, end at once and race to give the last answer.
pub(crate) async fn race(store: Arc<dyn StateStore>) {
    const RACERS: usize = 64;
    let agent = root(RACERS, true);
    let person = process(Arc::clone(&store), &agent, ALIVE);
    let tenant = TenantId::new("race").unwrap();
    let key = person.start(Execute::new(tenant.clone(), Arc::clone(&agent), "go")).await.unwrap().key;
    let stop = CancellationToken::new();
    let one = std::num::NonZeroUsize::MIN;
    let options = WorkerOptions::default().max_running(one).tenant(Some(tenant));
    let workers: Vec<_> = (0..RACERS)
        .map(|_| Worker::new(process(Arc::clone(&store), &agent, ALIVE), options.clone()).spawn(stop.clone()))
        .collect();
    let ended = patiently(async || person.wait_at_most(&key, PATIENCE).await).await.expect("it ends");
    assert_eq!(ended.kind(), OutcomeKind::Completed);
    stop.cancel();
    for worker in workers {
        worker.await.unwrap();
    }
    check(&person, &key, RACERS).await;
    let epoch = patiently(async || person.session(&key).await).await.unwrap().epoch;
    assert_eq!(epoch.0, 2, "one run asked, and one joined");
}
