//! Tools that other agents have, too, questions, agents that get tasks of a flow, and code that panics.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::agent::Limits;
use holdover_core::ids::{SessionKey, ToolName};
use holdover_core::message::{ClientAnswer, Message, ResultStatus};
use holdover_core::model::{Model, ModelAnswer, ModelError, ModelErrorKind, ModelRequest, ModelStream};
use holdover_core::store::{Labels, SessionQuery, SessionStatus};
use holdover_core::tool::{
    EffectClass, ResourceProfile, RunsOn, Tool, ToolCall, ToolError, ToolOutput, ToolReturn, ToolSpec,
};
use holdover_flow::{Cx, Flow, Step, StepCx, StepError, Stop};
use holdover_runtime_local::{Agent, Execute, Runtime, SubAgent};
use serde_json::json;

use crate::bench::{
    self, Process, error_of, mortal, runtime, start, store, tenant, until, work, work_and_inherit,
};

/// A tool that finds people. It remembers the sessions that called it, and the names.
struct Lookup {
    spec: ToolSpec,
    calls: Mutex<Vec<(SessionKey, String)>>,
}

impl Lookup {
    fn new() -> Arc<Self> {
        let spec = ToolSpec {
            name: ToolName::new("lookup").unwrap(),
            description: "Finds a person".to_owned(),
            parameters: json!({ "type": "object", "required": ["name"] }),
            effect: EffectClass::ReadOnly,
            dangerous: false,
            runs_on: RunsOn::Server,
            timeout_ms: None,
        };
        Arc::new(Self { spec, calls: Mutex::default() })
    }

    fn calls(&self) -> Vec<(SessionKey, String)> {
        self.calls.lock().unwrap().clone()
    }
}

#[async_trait]
impl Tool for Lookup {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &serde_json::Value) -> ResourceProfile {
        ResourceProfile::Keys(Vec::new())
    }

    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError> {
        let name = call.arguments["name"].as_str().unwrap().to_owned();
        self.calls.lock().unwrap().push((call.session, name.clone()));
        match name.as_str() {
            "nobody" => Err(ToolError::failed("there is none")),
            name => Ok(ToolOutput::text(format!("{name} is \"at home\"")).into()),
        }
    }
}

/// A model that looks up its task, and then says what it has found. It knows no strangers.
struct Clerk {
    asked: Arc<AtomicU32>,
}

#[async_trait]
impl Model for Clerk {
    fn name(&self) -> &str {
        "test:clerk"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = match request.messages.last().map(|message| &**message) {
            Some(Message::User(task)) if task.text == "stranger" => {
                return Err(ModelError::new(ModelErrorKind::Auth, "no key"));
            }
            Some(Message::User(task)) => ModelAnswer::text("").call("lookup", json!({ "name": task.text })),
            Some(Message::Tool(found)) => ModelAnswer::text(format!("found: {}", found.content)),
            other => panic!("{other:?}"),
        };
        Ok(answer.into_stream())
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_of_other_agents_is_called_by_its_name() {
    async fn visit(cx: Cx, name: String) -> Result<(String, String), Stop> {
        let found = cx.call("lookup", &json!({ "name": name })).await?;
        match cx.call("lookup", &json!({ "name": "nobody" })).await {
            Err(StepError::Failed { step, why }) => Ok((found, format!("{step}: {why}"))),
            other => Ok((found, other?)),
        }
    }
    let lookup = Lookup::new();
    let shared: Arc<dyn Tool> = Arc::clone(&lookup) as Arc<dyn Tool>;
    let clerk = Agent::builder("clerk").model(Clerk { asked: Arc::default() }).tools([Arc::clone(&shared)]);
    let clerk = Arc::new(clerk.build().unwrap());
    let flow = Flow::builder("visit", visit).tools([shared]).build().unwrap();
    let runtime = runtime(store(), &[flow.agent(), &clerk]);
    let run = runtime.execute(Execute::new(tenant(), clerk, "bob")).await.unwrap();
    let of_clerk = run.key().clone();
    assert_eq!(run.text().await.unwrap(), "found: bob is \"at home\"");
    let run = runtime.execute(flow.execute(tenant(), &"ann".to_owned()).unwrap()).await.unwrap();
    let of_flow = run.key().clone();
    let (found, missed): (String, String) = run.output().await.unwrap();
    assert_eq!(found, "ann is \"at home\"", "the text of the tool, as it is");
    assert_eq!(missed, "lookup: there is none");
    let called = |key: &SessionKey, name: &str| (key.clone(), name.to_owned());
    assert_eq!(
        lookup.calls(),
        [called(&of_clerk, "bob"), called(&of_flow, "ann"), called(&of_flow, "nobody")]
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_for_its_answer_or_for_its_deadline() {
    async fn form(cx: Cx, _: ()) -> Result<(String, String, bool), Stop> {
        let name = cx.ask("what is your name?").await?;
        let age = match cx.ask("how old are you?").await {
            Err(StepError::Failed { why, .. }) => why,
            other => other?,
        };
        let asked = cx.ask("are you there?").within(Duration::from_secs(600));
        let timed_out = matches!(asked.await, Err(StepError::TimedOut { .. }));
        Ok((name, age, timed_out))
    }
    // The limit for answers to models is not meant.
    let limits = Limits::default().answer_timeout_ms(Some(60_000));
    let flow = Flow::builder("form", form).limits(limits).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let _works = work(&runtime);
    let key = start(&runtime, &flow, &()).await;
    let answers = [
        ("what is your name?", Some(ClientAnswer::done("\"ann\""))),
        ("how old are you?", Some(ClientAnswer::failed("not your business"))),
        ("are you there?", None),
    ];
    let mut asked_at = tokio::time::Instant::now();
    for (question, answer) in answers {
        let asked = loop {
            let pending = runtime.pending(&key).await.unwrap();
            match pending.into_iter().find(|asked| asked.body.arguments.contains(question)) {
                Some(asked) => break asked,
                None => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        };
        until(&runtime, &key, SessionStatus::Suspended, question).await;
        asked_at = tokio::time::Instant::now();
        // Nothing runs while it waits.
        tokio::time::sleep(Duration::from_secs(500)).await;
        if let Some(answer) = answer {
            runtime.answer(&key, asked.id(), answer).await.unwrap();
        }
    }
    until(&runtime, &key, SessionStatus::Idle, "form").await;
    assert_eq!(bench::text(&runtime, &key).await, r#"["\"ann\"","not your business",true]"#);
    let waited = asked_at.elapsed().as_secs();
    assert!((600..610).contains(&waited), "{waited} s");
    assert!(bench::pending_of(&runtime, &key).await.is_empty());
}

/// A flow that gives its agent the tasks, one after the other.
fn delegating(lookup: &Arc<Lookup>, asked: &Arc<AtomicU32>) -> Flow<Vec<String>, Vec<String>> {
    async fn delegate(cx: Cx, tasks: Vec<String>) -> Result<Vec<String>, Stop> {
        let mut found = Vec::new();
        for task in tasks {
            found.push(match cx.agent("clerk", task).await {
                Err(StepError::Failed { why, .. }) => why,
                other => other?,
            });
        }
        Ok(found)
    }
    let clerk = SubAgent::new("clerk", "Finds people").model(Clerk { asked: Arc::clone(asked) });
    let clerk = clerk.tools([ToolName::new("lookup").unwrap()]);
    let lookup = Arc::clone(lookup) as Arc<dyn Tool>;
    Flow::builder("delegate", delegate).tools([lookup]).agent(clerk).build().unwrap()
}

/// Returns the other sessions of the flow: those of its agents.
async fn children(runtime: &Runtime, flow: &SessionKey) -> Vec<SessionKey> {
    let page = runtime.list(&SessionQuery::all(tenant())).await.unwrap();
    let children = page.items.into_iter().filter(|session| session.key != *flow);
    let of_flow = |labels: &Labels| {
        labels.contains_all(&[(Labels::PARENT, flow.id.as_str())].into_iter().collect::<Labels>())
    };
    children
        .inspect(|session| assert!(of_flow(&session.labels), "{session:?}"))
        .map(|session| session.key)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_agent_does_a_task_of_a_flow_in_a_session_of_its_own() {
    let (lookup, asked) = (Lookup::new(), Arc::default());
    let flow = delegating(&lookup, &asked);
    let runtime = runtime(store(), &[flow.agent()]);
    let _works = work(&runtime);
    let key = start(&runtime, &flow, &vec!["ann".to_owned(), "stranger".to_owned()]).await;
    until(&runtime, &key, SessionStatus::Idle, "delegates").await;
    let found: Vec<String> = serde_json::from_str(&bench::text(&runtime, &key).await).unwrap();
    assert_eq!(found[0], "found: ann is \"at home\"");
    assert!(found[1].contains("no key"), "a task that fails is a step that fails: {found:?}");
    assert_eq!(bench::ended(&runtime, &key, "clerk").await, [ResultStatus::Done, ResultStatus::Error]);
    let children = children(&runtime, &key).await;
    assert_eq!(children.len(), 2);
    let calls = lookup.calls();
    assert_eq!(calls.len(), 1);
    assert!(children.contains(&calls[0].0), "the agent called it in its own session: {calls:?}");
    assert_eq!(bench::ended(&runtime, &calls[0].0, "lookup").await, [ResultStatus::Done]);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_given_to_one_agent_whatever_dies() {
    for after in [false, true] {
        for at in 1.. {
            let (lookup, asked) = (Lookup::new(), Arc::default());
            let flow = delegating(&lookup, &asked);
            let (store, process) = (store(), Process::dying(at, after));
            let first = runtime(mortal(&store, &process), &[flow.agent()]);
            let heir = runtime(store.clone(), &[flow.agent()]);
            let key = start(&heir, &flow, &vec!["ann".to_owned()]).await;
            let _works = work_and_inherit(&first, &process, &heir);
            let told = format!("dies at {at}, after {after}");
            until(&heir, &key, SessionStatus::Idle, &told).await;
            assert_eq!(bench::text(&heir, &key).await, r#"["found: ann is \"at home\""]"#, "{told}");
            assert_eq!(children(&heir, &key).await.len(), 1, "{told}");
            assert_eq!(bench::ended(&heir, &key, "clerk").await, [ResultStatus::Done], "{told}");
            let died = process.died.is_cancelled();
            let asked = asked.load(Ordering::SeqCst);
            // The agent only reads, so its answers and results may share one write, which is lost with the process.
            assert!(
                (2..=if died { 4 } else { 2 }).contains(&asked),
                "{told}: the model was asked {asked} times"
            );
            if !died {
                assert!(at > 5, "{at} writes: the story has become shorter");
                break;
            }
        }
    }
}

const COUNT: Step<u32, u32> = Step::idempotent("count");

/// Returns a flow that counts twice. Unless its code is `mended`, it panics in between.
fn counting(mended: bool, counted: &Arc<AtomicU32>) -> Flow<u32, u32> {
    async fn count(cx: StepCx, number: u32) -> Result<u32, ToolError> {
        cx.get::<Arc<AtomicU32>>()?.fetch_add(1, Ordering::SeqCst);
        Ok(number + 1)
    }
    let function = move |cx: Cx, number: u32| async move {
        let first = cx.step(&COUNT, &number).await?;
        assert!(mended, "not today");
        Ok::<u32, Stop>(cx.step(&COUNT, &first).await?)
    };
    Flow::builder("counting", function).on(&COUNT, count).with(Arc::clone(counted)).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_flow_whose_code_panics_fails_and_goes_on_once_it_is_mended() {
    let counted = Arc::default();
    let store = store();
    let broken = counting(false, &counted);
    let with_broken = runtime(store.clone(), &[broken.agent()]);
    let run = with_broken.execute(broken.execute(tenant(), &5).unwrap()).await.unwrap();
    let key = run.key().clone();
    let (code, detail) = error_of(&run.outcome().await.unwrap());
    assert_eq!(code, "flow.panicked");
    assert!(detail.contains("not today"), "{detail}");
    // The same code fails again, and repeats nothing.
    let run = with_broken.resume(&key).await.unwrap();
    assert_eq!(error_of(&run.outcome().await.unwrap()).0, "flow.panicked");
    assert_eq!(with_broken.session(&key).await.unwrap().unwrap().status, SessionStatus::Failed);
    assert_eq!(counted.load(Ordering::SeqCst), 1);

    let mended = counting(true, &counted);
    let with_mended = runtime(store.clone(), &[mended.agent()]);
    let run = with_mended.resume(&key).await.unwrap();
    assert_eq!(run.output::<u32>().await.unwrap(), 7);
    assert_eq!(counted.load(Ordering::SeqCst), 2, "the step that had ended was not repeated");
    assert_eq!(bench::ended(&with_mended, &key, "count").await, [ResultStatus::Done; 2]);
}
