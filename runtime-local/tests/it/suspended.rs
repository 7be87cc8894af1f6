//! A suspended session leaves nothing in its process. The tests count all tasks of the process, and the open streams of
//! the model and calls of tools.
//!
//! A timer, a waiter and a connection belong to a future, and a future that lives on after its run must be in a task.
//!
//! Requirements: H14.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use holdover_core::engine::RunOutcome;
use holdover_core::model::{Model, ModelError, ModelErrorKind, ModelRequest, ModelStream};
use holdover_core::store::{OutcomeKind, SessionQuery, SessionStatus};
use holdover_core::tool::{ToolOutput, ToolReturn};
use holdover_runtime_local::{Agent, Approval, Runtime, SubAgent, WorkerOptions};

use crate::bench::{agent, asking_for, only_pending, runtime, say, settle, store, tenant, worker};
use crate::script::{Say, Script, results};
use crate::tools::{Fake, spec};

const HOUR: Duration = Duration::from_hours(1);

/// A model that counts its open streams.
struct Counted {
    script: Script,
    open: Arc<()>,
}

#[async_trait]
impl Model for Counted {
    fn name(&self) -> &str {
        self.script.name()
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let open = Arc::clone(&self.open);
        let said = self.script.stream(request).await?;
        // A stream that stays open after the whole answer, as one over a connection may.
        let said = said.chain(futures::stream::pending());
        Ok(said.inspect(move |_| assert!(Arc::strong_count(&open) > 1)).boxed())
    }
}

/// A way of being suspended: an agent, and what it has open.
struct Waits {
    agent: Arc<Agent>,
    open: Arc<()>,
    as_what: OutcomeKind,
}

/// Returns an agent whose first answer calls this tool, or the sub-agent of that name, or whose model fails at first.
/// The sub-agent asks a person, too. If `leaks` is set, a call begins a task that nobody ends.
fn waits(tool: &'static str, as_what: OutcomeKind, leaks: bool) -> Waits {
    let script = Script::new(move |request| {
        let is_child = request.system.contains("You help.");
        match tool {
            "model" if request.attempt == 0 => {
                Say::Fail(ModelError::new(ModelErrorKind::RateLimited, "slow down"))
            }
            _ if tool == "model" || !results(request).is_empty() => Say::Text("done"),
            _ if is_child => Say::Calls(vec![("pay", "{}")]),
            "helper" => Say::Calls(vec![("helper", r#"{"tasks":["dig"]}"#)]),
            _ => Say::Calls(vec![("look", "{}"), (tool, "{}")]),
        }
    });
    let open = Arc::new(());
    let look = Fake::new("look", {
        let open = Arc::clone(&open);
        move |_| {
            let open = Arc::clone(&open);
            async move {
                // The call takes a while, so the run renews its lease and has timers.
                tokio::time::sleep(Duration::from_secs(20)).await;
                if leaks {
                    tokio::spawn(tokio::time::sleep(HOUR));
                }
                drop(open);
                Ok(ToolOutput::text("seen").into())
            }
        }
    });
    let sleep = Fake::new("sleep", |_| async {
        Ok(ToolReturn::After { delay: HOUR, output: ToolOutput::text("slept") })
    });
    let helper = SubAgent::new("helper", "Digs.").instructions("You help.").tools(["pay".parse().unwrap()]);
    let agent = agent(&script)
        .model(Counted { script: script.clone(), open: Arc::clone(&open) })
        .tool(look)
        .tool(sleep)
        .tool(Fake::echo("pay"))
        .client_tool(spec("ask"))
        .sub_agent(helper)
        .gate(asking_for("pay"))
        .build();
    Waits { agent: Arc::new(agent.unwrap()), open, as_what }
}

/// Returns every way of being suspended.
fn all() -> [Waits; 5] {
    [
        waits("pay", OutcomeKind::SuspendedClientTool, false),
        waits("ask", OutcomeKind::SuspendedClientTool, false),
        waits("sleep", OutcomeKind::SuspendedUntil, false),
        waits("model", OutcomeKind::SuspendedUntil, false),
        waits("helper", OutcomeKind::SuspendedAwaitingChildren, false),
    ]
}

/// Returns the number of tasks of the process that have not ended.
async fn tasks() -> usize {
    settle().await;
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// Runs a session until it is suspended. Returns the number of tasks that it began and that still live, and of streams
/// and calls that are still open.
async fn left_by(waits: &Waits, runtime: &Runtime) -> (usize, usize) {
    let (before, holders) = (tasks().await, Arc::strong_count(&waits.open));
    let mut run = runtime.execute(say(&waits.agent, "go")).await.unwrap();
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), before + 1, "a run is a task");
    let outcome = run.first_outcome().await.unwrap().unwrap();
    assert!(!matches!(outcome, RunOutcome::Ended(_)), "{outcome:?}");
    assert_eq!(outcome.kind(), waits.as_what);
    let session = runtime.session(run.key()).await.unwrap().unwrap();
    assert_eq!((session.status, session.lease), (SessionStatus::Suspended, None));
    (tasks().await - before, Arc::strong_count(&waits.open) - holders)
}

/// Requirements: H14.
#[tokio::test(start_paused = true)]
async fn h14_a_suspended_session_has_no_task_and_nothing_open_in_its_process() {
    for waits in all() {
        let runtime = runtime(&store(), &waits.agent);
        for _ in 0..3 {
            assert_eq!(left_by(&waits, &runtime).await, (0, 0), "{:?}", waits.as_what);
        }
    }
}

/// The count finds a task that sleeps.
///
/// Requirements: H14.
#[tokio::test(start_paused = true)]
async fn h14_a_task_that_is_left_behind_is_counted() {
    let waits = waits("pay", OutcomeKind::SuspendedClientTool, true);
    let runtime = runtime(&store(), &waits.agent);
    for left in 1..=3 {
        assert_eq!(left_by(&waits, &runtime).await, (1, 0), "after {left} sessions");
    }
}

/// Requirements: H14.
#[tokio::test(start_paused = true)]
async fn h14_a_worker_keeps_nothing_of_the_sessions_that_it_has_suspended() {
    for waits in all() {
        let runtime = runtime(&store(), &waits.agent);
        let _worker = worker(&runtime, WorkerOptions::default());
        let (before, holders) = (tasks().await, Arc::strong_count(&waits.open));
        for _ in 0..3 {
            runtime.start(say(&waits.agent, "go")).await.unwrap();
        }
        // A parent and its child are both suspended, and a failing model is asked again after some seconds.
        let mut sessions = Vec::new();
        while sessions.is_empty() || sessions.iter().any(|one| *one != SessionStatus::Suspended) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let listed = runtime.list(&SessionQuery::all(tenant())).await.unwrap().items;
            sessions = listed.into_iter().map(|session| session.status).collect();
        }
        let each = if waits.as_what == OutcomeKind::SuspendedAwaitingChildren { 2 } else { 1 };
        assert_eq!(sessions.len(), 3 * each);
        assert_eq!(tasks().await, before, "{:?}", waits.as_what);
        assert_eq!(Arc::strong_count(&waits.open), holders, "{:?}", waits.as_what);
    }
}

/// Another runtime goes on with the session, once the first one is gone.
///
/// Requirements: H14.
#[tokio::test(start_paused = true)]
async fn h14_what_was_suspended_goes_on_from_the_store_alone() {
    let waits = waits("pay", OutcomeKind::SuspendedClientTool, false);
    let (store, before) = (store(), tasks().await);
    let first = runtime(&store, &waits.agent);
    let mut run = first.execute(say(&waits.agent, "go")).await.unwrap();
    run.first_outcome().await.unwrap();
    let key = run.key().clone();
    drop((run, first));
    let second = runtime(&store, &waits.agent);
    let asked = only_pending(&second, &key).await;
    second.approve(&key, &asked, Approval::default()).await.unwrap();
    assert_eq!(second.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tasks().await, before);
}
