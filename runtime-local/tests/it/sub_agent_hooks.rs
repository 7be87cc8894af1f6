//! Hooks before a sub-agent begins children.
//!
//! Requirements: H22.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use holdover_core::children::Tasks;
use holdover_core::hook::{BeforeSubAgent, Hook, HookError, HookPoint, OnFailure, SubAgentAsked};
use holdover_core::message::ResultStatus;
use holdover_runtime_local::{Agent, SubAgent};

use crate::bench::{agent, completes, only_result, runtime, say, store};
use crate::script::{Say, Script, results};

type Word = fn(&Tasks) -> Result<BeforeSubAgent, HookError>;

/// A hook that gives this reply, and keeps the requests that it gets.
#[derive(Clone)]
struct Before {
    word: Word,
    on_failure: OnFailure,
    asked: Arc<Mutex<Vec<SubAgentAsked>>>,
}

#[async_trait]
impl Hook for Before {
    fn name(&self) -> &str {
        "warden"
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::BeforeSubAgent]
    }

    fn on_failure(&self, _point: HookPoint) -> OnFailure {
        self.on_failure
    }

    async fn before_sub_agent(&self, asked: &SubAgentAsked) -> Result<BeforeSubAgent, HookError> {
        self.asked.lock().unwrap().push(asked.clone());
        (self.word)(&asked.tasks)
    }
}

fn before(word: Word) -> Before {
    Before { word, on_failure: HookPoint::BeforeSubAgent.on_failure(), asked: Arc::default() }
}

/// Returns an agent with this hook, whose helpers answer with their task.
fn asked_by(hook: &Before) -> (Script, Arc<Agent>) {
    let model = Script::new(|request| {
        if request.system.contains("You help.") {
            let holdover_core::message::Message::User(said) = &*request.messages[0] else { panic!("a task") };
            return Say::Text(said.text.clone().leak());
        }
        match results(request).len() {
            0 => Say::Calls(vec![("helper", r#"{"tasks":["one","two"]}"#)]),
            _ => Say::Text("done"),
        }
    });
    let helper = SubAgent::new("helper", "Does one thing.").instructions("You help.");
    let built = agent(&model).sub_agent(helper).hook(hook.clone()).build().unwrap();
    (model, Arc::new(built))
}

/// Runs a session, and returns the status and content of the call's result.
async fn outcome(hook: &Before) -> (ResultStatus, String) {
    let (_, agent) = asked_by(hook);
    let runtime = runtime(&store(), &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    only_result(&runtime, &key).await
}

#[tokio::test(start_paused = true)]
async fn h22_a_hook_is_asked_about_children_with_their_tasks_before_they_begin() {
    let hook = before(|_| Ok(BeforeSubAgent::Allow));
    let done = (ResultStatus::Done, "[1] done: one\n[2] done: two".to_owned());
    assert_eq!(outcome(&hook).await, done);
    let asked = hook.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1, "one call is asked about once");
    assert_eq!((asked[0].sub_agent.as_str(), asked[0].approved), ("helper", false));
    assert_eq!(asked[0].tasks.tasks, ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn h22_a_hook_may_refuse_children_and_give_them_other_tasks() {
    let refuses = before(|_| Ok(BeforeSubAgent::Deny { reason: "not today".to_owned() }));
    let (status, content) = outcome(&refuses).await;
    assert_eq!(status, ResultStatus::Denied, "{content}");
    assert!(content.contains("not today"), "{content}");

    let narrows = before(|tasks| Ok(BeforeSubAgent::Rewrite { tasks: tasks.tasks[..1].to_vec() }));
    let (status, content) = outcome(&narrows).await;
    assert_eq!((status, content.as_str()), (ResultStatus::Done, "one"));

    let wrong = before(|_| Ok(BeforeSubAgent::Rewrite { tasks: Vec::new() }));
    let (status, content) = outcome(&wrong).await;
    assert_ne!(status, ResultStatus::Done, "{content}");
    assert!(content.contains("warden"), "{content}");
}

#[tokio::test(start_paused = true)]
async fn h22_what_the_failure_of_a_hook_before_children_means_is_declared() {
    let fails = |_: &Tasks| Err(HookError("no".into()));
    let (status, content) = outcome(&before(fails)).await;
    assert_ne!(status, ResultStatus::Done, "before an action a failure is closed: {content}");
    let open = Before { on_failure: OnFailure::Open, ..before(fails) };
    assert_eq!(outcome(&open).await.0, ResultStatus::Done);
}
