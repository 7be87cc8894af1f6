//! Two programs with a connection between them that can be cut.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::children::{ChildNames, Parent};
use holdover_core::engine::RunOutcome;
use holdover_core::ids::{SessionId, SessionKey, TenantId};
use holdover_core::message::Message;
use holdover_core::model::ModelRequest;
use holdover_core::remote::{Remote, RemoteTask, TaskOutcome, TaskStanding};
use holdover_core::store::{SessionQuery, SessionStatus, StateStore};
use holdover_runtime_local::{Agent, Agents, Elsewhere, ElsewhereError, Runtime, SubAgent, WorkerOptions};
use holdover_store_memory::MemoryStore;
use tokio::time::Instant;

use crate::bench::{agent, finish, options, say, store, worker};
use crate::script::{Say, Script};

/// The URL of the remote agent.
pub(crate) const THERE: &str = "https://there.example/agents/digger/tasks";

/// The connection between two programs, and its faults.
#[derive(Default)]
pub(crate) struct Wire {
    pub(crate) here: Mutex<Option<Runtime>>,
    pub(crate) there: Mutex<Option<(Runtime, Arc<Agent>)>>,
    /// True if tasks carry an address to which their outcomes are reported.
    pub(crate) tells: bool,
    /// True if reported outcomes are lost.
    pub(crate) loses_outcomes: AtomicBool,
    /// The number of requests to begin a task that are still to be lost. If `only_the_answer` is set, the request
    /// arrives, and only its answer is lost.
    pub(crate) loses: AtomicUsize,
    pub(crate) only_the_answer: bool,
    pub(crate) refuses: Option<&'static str>,
    /// The refusal of each task after the lost ones.
    pub(crate) then_refuses: Option<&'static str>,
    /// True if no request is ever answered.
    pub(crate) answers_nothing: bool,
    pub(crate) asked_in_vain: AtomicUsize,
    pub(crate) parents: Mutex<BTreeMap<String, Parent>>,
    pub(crate) begun: Mutex<Vec<RemoteTask>>,
    pub(crate) told: AtomicUsize,
}

impl Wire {
    pub(crate) fn there(&self) -> (Runtime, Arc<Agent>) {
        self.there.lock().unwrap().clone().unwrap()
    }

    pub(crate) fn tasks(&self) -> Vec<String> {
        let mut tasks: Vec<_> = self.begun.lock().unwrap().iter().map(|task| task.task.clone()).collect();
        tasks.dedup();
        tasks
    }

    async fn hangs(&self) {
        if self.answers_nothing {
            self.asked_in_vain.fetch_add(1, Ordering::SeqCst);
            std::future::pending::<()>().await;
        }
    }

    /// Returns the statuses of all sessions of the other program.
    pub(crate) async fn sessions_there(&self) -> Vec<SessionStatus> {
        let all = SessionQuery::all(tenant_there());
        self.there().0.list(&all).await.unwrap().items.iter().map(|session| session.status).collect()
    }
}

pub(crate) fn tenant_there() -> TenantId {
    TenantId::new("guests").unwrap()
}

#[async_trait]
impl Elsewhere for Wire {
    fn address(&self, _: &Remote, parent: &Parent) -> Option<String> {
        let names = ChildNames::of(&parent.pending, parent.index).unwrap();
        let url = format!("https://here.example/{}", names.id);
        self.parents.lock().unwrap().insert(url.clone(), parent.clone());
        self.tells.then_some(url)
    }

    async fn begin(&self, remote: &Remote, task: &RemoteTask) -> Result<TaskStanding, ElsewhereError> {
        assert_eq!(remote.url, THERE);
        self.hangs().await;
        if let Some(why) = self.refuses {
            return Err(ElsewhereError::never(why));
        }
        let lost = self.loses.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if let (Some(why), true) = (self.then_refuses, lost.is_err()) {
            return Err(ElsewhereError::never(why));
        }
        if lost.is_err() || self.only_the_answer {
            self.begun.lock().unwrap().push(task.clone());
            let (runtime, agent) = self.there();
            let taken = runtime.take_task(&tenant_there(), &agent, task.clone()).await.unwrap();
            if lost.is_err() {
                return Ok(taken);
            }
        }
        Err(ElsewhereError::later("no route"))
    }

    async fn look(&self, _: &Remote, task: &SessionId) -> Result<Option<TaskStanding>, ElsewhereError> {
        let (runtime, agent) = self.there();
        Ok(runtime.task(&tenant_there(), &agent, task).await.unwrap())
    }

    async fn stop(&self, _: &Remote, task: &SessionId) -> Result<(), ElsewhereError> {
        self.hangs().await;
        let (runtime, agent) = self.there();
        runtime.stop_task(&tenant_there(), &agent, task).await.unwrap();
        Ok(())
    }

    async fn tell(&self, url: &str, task: &SessionId, outcome: &TaskOutcome) -> Result<(), ElsewhereError> {
        self.told.fetch_add(1, Ordering::SeqCst);
        if self.loses_outcomes.load(Ordering::SeqCst) {
            return Err(ElsewhereError::later("no route"));
        }
        let parent = self.parents.lock().unwrap().get(url).unwrap().clone();
        assert!(url.ends_with(task.as_str()));
        let here = self.here.lock().unwrap().clone().unwrap();
        here.task_ended(&parent, outcome.clone()).await.unwrap();
        Ok(())
    }
}

/// Two connected programs: one with a chief, and one with the agent that takes its tasks.
pub(crate) struct World {
    pub(crate) wire: Arc<Wire>,
    pub(crate) store: MemoryStore,
    pub(crate) store_there: MemoryStore,
    pub(crate) chief: Arc<Agent>,
    pub(crate) here: Runtime,
    pub(crate) digger: Script,
}

pub(crate) fn on_the_wire(
    store: &(impl StateStore + Clone),
    agent: &Arc<Agent>,
    wire: &Arc<Wire>,
) -> Runtime {
    let agents = Agents::new().with(Arc::clone(agent));
    let wire: Arc<dyn Elsewhere> = Arc::clone(wire) as _;
    Runtime::new(Arc::new(store.clone()), Arc::new(agents), options().elsewhere(Some(wire)))
}

pub(crate) fn digger() -> SubAgent {
    SubAgent::new("digger", "Digs.").elsewhere(Remote::new(THERE))
}

pub(crate) fn task_of(request: &ModelRequest) -> String {
    let Message::User(said) = &*request.messages[0] else { panic!("a task") };
    said.text.clone()
}

impl Drop for World {
    /// Breaks the cycle: each program holds the connection, which holds both programs.
    fn drop(&mut self) {
        *self.wire.here.lock().unwrap() = None;
        *self.wire.there.lock().unwrap() = None;
    }
}

impl World {
    pub(crate) fn new(wire: Wire, tasks: &'static str, sub_agent: SubAgent) -> Self {
        let script = Script::new(|request| match task_of(request).as_str() {
            "for ever" => Say::Nothing,
            "in vain" => {
                Say::Slowly { pieces: vec!["x".into()], apart: Duration::from_secs(1), whole: false }
            }
            task => Say::Text(if task == "north" { "found north" } else { "found south" }),
        });
        let there = Arc::new(agent(&script).build().unwrap());
        let model = Script::calling(vec![("digger", tasks)]);
        let chief = Arc::new(agent(&model).sub_agent(sub_agent).build().unwrap());
        let (wire, store_here, store_there) = (Arc::new(wire), store(), store());
        let here = on_the_wire(&store_here, &chief, &wire);
        let runtime = on_the_wire(&store_there, &there, &wire);
        *wire.here.lock().unwrap() = Some(here.clone());
        *wire.there.lock().unwrap() = Some((runtime, there));
        Self { wire, store: store_here, store_there, chief, here, digger: script }
    }

    /// Runs a worker of the other program until the returned guard is dropped.
    pub(crate) fn works_there(&self) -> impl Drop {
        worker(&self.wire.there().0, WorkerOptions::default().poll(Duration::from_millis(100)))
    }

    /// Runs a session of the chief to its end. Returns its key, its outcome and the time taken.
    pub(crate) async fn ends(&self) -> (SessionKey, RunOutcome, Duration) {
        let began = Instant::now();
        let (key, outcome) = finish(self.here.execute(say(&self.chief, "go")).await.unwrap()).await;
        (key, outcome, began.elapsed())
    }
}
