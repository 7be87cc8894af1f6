//! Reads that begin while the model is still writing.
//!
//! Requirements: A40, A41, A50.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use holdover_core::agent::{Durability, Retries};
use holdover_core::delta::Delta;
use holdover_core::error::ErrorInfo;
use holdover_core::event::Event;
use holdover_core::gate::{GateError, GateQuestion, PolicyGate, Verdict};
use holdover_core::hook::{AfterTool, BeforeTool, Hook, HookError, HookPoint, ModelAsked, ToolEnded};
use holdover_core::ids::{CallId, SessionKey, TurnNumber};
use holdover_core::message::ResultStatus;
use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
    StopReason, TokenUsage,
};
use holdover_core::provision::Provisioner;
use holdover_core::store::{EventCursor, OutcomeKind};
use holdover_core::tool::{
    Access, EffectClass, ResourceProfile, Stopped, Tool, ToolCall, ToolError, ToolOutput, ToolReturn,
    ToolSpec,
};
use holdover_runtime_local::{Agent, AgentBuilder, Follow, Shown};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};

use crate::bench::{
    asking_for, completes, finish, only_result, runtime, say, settle, store, tool_results, transcript,
};
use crate::tools::spec;

type Piece = Result<ModelEvent, ModelError>;

/// A model that answers what the test dictates, piece by piece. A request without a dictated answer gets `done`.
#[derive(Clone, Default)]
struct Dictated(Arc<Mutex<VecDeque<UnboundedReceiver<Piece>>>>);

impl Dictated {
    /// Adds one more answer, to be written with the returned pen.
    fn answer(&self) -> Pen {
        let (tells, told) = unbounded_channel();
        self.0.lock().unwrap().push_back(told);
        Pen(tells)
    }
}

/// The handle with which a test writes one answer.
struct Pen(UnboundedSender<Piece>);

fn finished(parts: Vec<AnswerPart>, stop: StopReason) -> ModelEvent {
    ModelEvent::Finished(ModelAnswer { parts, stop, usage: TokenUsage::default() })
}

impl Pen {
    /// Announces that these calls are written; the answer goes on.
    fn writes(&self, calls: &[(&str, &str)]) {
        for (index, (tool, arguments)) in calls.iter().enumerate() {
            let (tool, arguments) = ((*tool).to_owned(), (*arguments).to_owned());
            self.0.send(Ok(ModelEvent::CallWritten { index, tool, arguments })).unwrap();
        }
    }

    /// Ends the answer with these calls.
    fn asks_for(self, calls: &[(&str, &str)]) {
        let part = |(tool, arguments): &(&str, &str)| AnswerPart::Call {
            tool: (*tool).to_owned(),
            arguments: (*arguments).to_owned(),
        };
        self.0.send(Ok(finished(calls.iter().map(part).collect(), StopReason::ToolUse))).unwrap();
    }

    fn fails(self, kind: ModelErrorKind) {
        self.0.send(Err(ModelError::new(kind, "as the test says"))).unwrap();
    }
}

#[async_trait]
impl Model for Dictated {
    fn name(&self) -> &str {
        "test:dictated"
    }

    async fn stream(&self, _request: ModelRequest) -> Result<ModelStream, ModelError> {
        let told = self.0.lock().unwrap().pop_front();
        Ok(match told {
            Some(told) => futures::stream::unfold(told, |mut told| async {
                let piece = told.recv().await?;
                Some((piece, told))
            })
            .boxed(),
            None => {
                let done = finished(vec![AnswerPart::Text("done".into())], StopReason::EndTurn);
                futures::stream::iter([Ok(done)]).boxed()
            }
        })
    }
}

/// The log of what happened, in order.
#[derive(Clone)]
struct Log(watch::Sender<Vec<String>>);

impl Log {
    fn new() -> Self {
        Self(watch::Sender::new(Vec::new()))
    }

    fn note(&self, word: String) {
        self.0.send_modify(|all| all.push(word));
    }

    fn all(&self) -> Vec<String> {
        self.0.borrow().clone()
    }

    fn count(&self, word: &str) -> usize {
        self.all().iter().filter(|noted| *noted == word).count()
    }

    /// Waits until `word` has been noted `times` times.
    async fn until(&self, times: usize, word: &str) {
        let mut all = self.0.subscribe();
        let happened = all.wait_for(|all| all.iter().filter(|noted| *noted == word).count() >= times);
        let within = timeout(Duration::from_secs(600), happened).await;
        assert!(within.is_ok(), "{word}, {times} times: {:?}", self.all());
    }
}

/// A tool that logs what it does, and returns only when the test permits it.
#[derive(Clone)]
struct Watched {
    spec: ToolSpec,
    access: Access,
    log: Log,
    may_end: Arc<Semaphore>,
    may_clean_up: Arc<Semaphore>,
}

/// A guard that logs if a call is dropped before it has ended.
struct Middle<'t>(Option<&'t Watched>);

impl Drop for Middle<'_> {
    fn drop(&mut self) {
        if let Some(tool) = self.0 {
            tool.note("dropped");
        }
    }
}

impl Watched {
    fn new(name: &str, effect: EffectClass, log: &Log) -> Self {
        let access = if effect == EffectClass::ReadOnly { Access::Read } else { Access::Write };
        let spec = ToolSpec { effect, ..spec(name) };
        let (may_end, may_clean_up) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(100)));
        Self { spec, access, log: log.clone(), may_end, may_clean_up }
    }

    /// Makes cleanups wait: each needs one [permit](Self::cleans_up).
    fn slow_to_clean_up(self) -> Self {
        Self { may_clean_up: Arc::new(Semaphore::new(0)), ..self }
    }

    fn cleans_up(&self) {
        self.may_clean_up.add_permits(1);
    }

    fn note(&self, what: &str) {
        self.log.note(format!("{} {what}", self.spec.name));
    }

    /// Lets one more call end.
    fn ends(&self) {
        self.may_end.add_permits(1);
    }
}

#[async_trait]
impl Tool for Watched {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        ResourceProfile::key("shelf", self.access)
    }

    async fn call(&self, _call: ToolCall) -> Result<ToolReturn, ToolError> {
        self.note("begins");
        let mut middle = Middle(Some(self));
        self.may_end.acquire().await.unwrap().forget();
        middle.0 = None;
        self.note("ends");
        Ok(ToolOutput::text(format!("seen by {}", self.spec.name)).into())
    }

    async fn cleanup(&self, _call: &ToolCall) -> Result<(), ToolError> {
        self.may_clean_up.acquire().await.unwrap().forget();
        self.note("cleaned up");
        Ok(())
    }

    async fn stopped(&self, _call: &holdover_core::ids::CallId) -> Stopped {
        Stopped::Unknown
    }
}

/// A provisioner that logs its teardown.
struct Room(Log);

#[async_trait]
impl Provisioner for Room {
    async fn provision(&self, _: &SessionKey, _: TurnNumber) -> Result<(), ErrorInfo> {
        Ok(())
    }

    async fn tear_down(&self, _: &SessionKey, _: TurnNumber) -> Result<(), ErrorInfo> {
        self.0.note("freed".into());
        Ok(())
    }
}

fn agent(model: &Dictated) -> AgentBuilder {
    Agent::builder("tester").instructions("Test.").model(model.clone()).early_reads(true)
}

fn reader(log: &Log) -> Watched {
    Watched::new("look", EffectClass::ReadOnly, log)
}

const LOOK: (&str, &str) = ("look", "{}");

#[tokio::test(start_paused = true)]
async fn a40_a_read_runs_before_the_answer_is_whole_and_only_once_and_results_come_in_call_order() {
    let (model, log) = (Dictated::default(), Log::new());
    let (look, peep) = (reader(&log), Watched::new("peep", EffectClass::ReadOnly, &log));
    let pen = model.answer();
    let agent = Arc::new(agent(&model).tool(look.clone()).tool(peep.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let both = [LOOK, ("peep", "{}")];
    pen.writes(&both);
    log.until(1, "look begins").await;
    log.until(1, "peep begins").await;
    peep.ends();
    log.until(1, "peep cleaned up").await;
    assert_eq!(transcript(&runtime, run.key()).await.len(), 1, "nothing of it is stored");
    // By now one read has ended, and the other is still running.
    pen.asks_for(&both);
    settle().await;
    assert_eq!(log.count("look ends"), 0);
    look.ends();
    let key = completes(run).await;
    let results = tool_results(&runtime, &key).await;
    let told: Vec<&str> = results.iter().map(|result| result.content.as_str()).collect();
    assert_eq!(told, ["seen by look", "seen by peep"]);
    assert_eq!((log.count("look begins"), log.count("peep begins")), (1, 1), "{:?}", log.all());
}

/// A watcher is told provisionally while the answer is still being written, and by an event once it is stored.
#[tokio::test(start_paused = true)]
async fn a50_a_read_that_begins_early_is_shown_when_it_begins() {
    let (model, log) = (Dictated::default(), Log::new());
    let look = reader(&log);
    let pen = model.answer();
    let agent = Arc::new(agent(&model).tool(look.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let mut shown = runtime.follow(run.key(), EventCursor::START, Follow::Forever);
    pen.writes(&[LOOK]);
    let first = timeout(Duration::from_secs(600), async {
        loop {
            if let Shown::Delta(entry) = shown.next().await.unwrap().unwrap() {
                return entry.delta;
            }
        }
    });
    let begun = Delta::CallRunning { call: CallId::new("c1-0").unwrap(), tool: "look".parse().unwrap() };
    assert_eq!(first.await.unwrap(), begun);
    assert_eq!(transcript(&runtime, run.key()).await.len(), 1, "the answer is not there yet");
    look.ends();
    pen.asks_for(&[LOOK]);
    completes(run).await;
    let ended = timeout(Duration::from_secs(600), async {
        loop {
            if let Shown::Event(entry) = shown.next().await.unwrap().unwrap()
                && let Event::Call { call, is, .. } = entry.event
                && is == "done"
            {
                return call;
            }
        }
    });
    assert_eq!(ended.await.unwrap().as_str(), "c1-0");
}

#[tokio::test(start_paused = true)]
async fn a41_a_read_behind_a_call_that_writes_begins_when_that_has_ended() {
    let (model, log) = (Dictated::default(), Log::new());
    let (look, put) = (reader(&log), Watched::new("put", EffectClass::Idempotent, &log));
    let pen = model.answer();
    let agent = Arc::new(agent(&model).tool(look.clone()).tool(put.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let all = [LOOK, ("put", "{}"), LOOK];
    pen.writes(&all);
    log.until(1, "look begins").await;
    settle().await;
    assert_eq!(log.all(), ["look begins"], "the first alone");
    pen.asks_for(&all);
    look.ends();
    log.until(1, "put begins").await;
    assert_eq!(log.count("look begins"), 1);
    put.ends();
    look.ends();
    completes(run).await;
    let order: Vec<String> = log.all().into_iter().filter(|word| !word.ends_with("cleaned up")).collect();
    assert_eq!(
        order,
        ["look begins", "look ends", "put begins", "put ends", "look begins", "look ends"],
        "what the second one reads is what was put"
    );
}

#[tokio::test(start_paused = true)]
async fn a40_what_was_begun_for_an_answer_that_fails_is_stopped_and_the_next_answer_begins_it_anew() {
    let (model, log) = (Dictated::default(), Log::new());
    let look = reader(&log);
    let (broken, pen) = (model.answer(), model.answer());
    let retries = Retries::default().model_waits_ms(vec![10]);
    let agent = Arc::new(agent(&model).tool(look.clone()).retries(retries).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    broken.writes(&[LOOK]);
    log.until(1, "look begins").await;
    broken.fails(ModelErrorKind::Malformed);
    log.until(1, "look cleaned up").await;
    assert_eq!(log.all(), ["look begins", "look dropped", "look cleaned up"]);
    pen.writes(&[LOOK]);
    log.until(2, "look begins").await;
    look.ends();
    pen.asks_for(&[LOOK]);
    let key = completes(run).await;
    assert_eq!(only_result(&runtime, &key).await, (ResultStatus::Done, "seen by look".into()));
    assert_eq!(log.count("look begins"), 2);
}

#[tokio::test(start_paused = true)]
async fn a40_what_was_begun_for_an_answer_that_asks_otherwise_is_not_used() {
    let (model, log) = (Dictated::default(), Log::new());
    let look = reader(&log);
    let pen = model.answer();
    let agent = Arc::new(agent(&model).tool(look.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    pen.writes(&[LOOK]);
    log.until(1, "look begins").await;
    pen.asks_for(&[("look", r#"{"n": 1}"#)]);
    log.until(2, "look begins").await;
    look.ends();
    let key = completes(run).await;
    assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::Done);
    let order =
        ["look begins", "look dropped", "look cleaned up", "look begins", "look ends", "look cleaned up"];
    assert_eq!(log.all(), order, "never two calls of one name at once");
}

#[tokio::test(start_paused = true)]
async fn a40_nothing_is_sent_beside_what_is_left_of_a_read_that_was_begun_in_vain() {
    let (model, log) = (Dictated::default(), Log::new());
    let look = reader(&log).slow_to_clean_up();
    let put = Watched::new("put", EffectClass::Idempotent, &log);
    let (broken, pen) = (model.answer(), model.answer());
    let retries = Retries::default().model_waits_ms(vec![10]);
    let built = agent(&model).tool(look.clone()).tool(put.clone()).retries(retries).build().unwrap();
    let agent = Arc::new(built);
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    broken.writes(&[LOOK]);
    log.until(1, "look begins").await;
    broken.fails(ModelErrorKind::Malformed);
    log.until(1, "look dropped").await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    // The model is asked again and writes the same call, which gets the same id.
    pen.writes(&[LOOK]);
    settle().await;
    assert_eq!(log.all(), ["look begins", "look dropped"], "what is left of the first is not put away");
    // The model changes its mind, and asks for a call that changes what the first one has read.
    pen.asks_for(&[("put", "{}")]);
    settle().await;
    assert_eq!(log.count("put begins"), 0);
    look.cleans_up();
    log.until(1, "put begins").await;
    put.ends();
    let key = completes(run).await;
    assert_eq!(only_result(&runtime, &key).await.1, "seen by put");
    let order =
        ["look begins", "look dropped", "look cleaned up", "put begins", "put ends", "put cleaned up"];
    assert_eq!(log.all(), order, "the second read never began");
}

#[tokio::test(start_paused = true)]
async fn a40_a_call_that_is_stopped_while_something_is_left_of_a_read_is_not_sent() {
    let (model, log) = (Dictated::default(), Log::new());
    let look = reader(&log).slow_to_clean_up();
    let put = Watched::new("put", EffectClass::AtMostOnce, &log);
    let pen = model.answer();
    let agent = Arc::new(agent(&model).tool(look.clone()).tool(put.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    pen.writes(&[LOOK]);
    log.until(1, "look begins").await;
    pen.asks_for(&[("put", "{}")]);
    log.until(1, "look dropped").await;
    settle().await;
    runtime.interrupt(run.key(), "enough").await.unwrap();
    // Still within the time limit for cleanup.
    tokio::time::sleep(Duration::from_secs(2)).await;
    look.cleans_up();
    let (key, outcome) = finish(run).await;
    assert_eq!(outcome.kind(), OutcomeKind::Interrupted);
    assert_eq!(log.count("put begins"), 0, "{:?}", log.all());
    assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::Cancelled, "it is known not to have acted");
}

#[tokio::test(start_paused = true)]
async fn a40_what_was_begun_for_an_answer_that_is_stopped_is_put_away_before_the_turn_frees_anything() {
    let (model, log) = (Dictated::default(), Log::new());
    let look = reader(&log);
    let pen = model.answer();
    let room = Arc::new(Room(log.clone()));
    let agent = Arc::new(agent(&model).tool(look.clone()).provisioner(room).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    pen.writes(&[LOOK]);
    log.until(1, "look begins").await;
    runtime.interrupt(run.key(), "enough").await.unwrap();
    let (key, outcome) = finish(run).await;
    assert_eq!(outcome.kind(), OutcomeKind::Interrupted);
    assert_eq!(log.all(), ["look begins", "look dropped", "look cleaned up", "freed"]);
    assert_eq!(tool_results(&runtime, &key).await, []);
}

/// A gate of the program that allows every call.
struct Elsewhere;

#[async_trait]
impl PolicyGate for Elsewhere {
    async fn consult(&self, _: &GateQuestion) -> Result<Verdict, GateError> {
        Ok(Verdict::Allow)
    }
}

/// A hook that allows every call, and logs and rewrites the results that it is shown.
struct Looker(HookPoint, Log);

#[async_trait]
impl Hook for Looker {
    fn name(&self) -> &str {
        "looker"
    }

    fn points(&self) -> &[HookPoint] {
        std::slice::from_ref(&self.0)
    }

    async fn after_model(&self, _: &ModelAsked, _: &ModelAnswer) -> Result<(), HookError> {
        Ok(())
    }

    async fn before_tool(&self, _: &GateQuestion) -> Result<BeforeTool, HookError> {
        Ok(BeforeTool::Allow)
    }

    async fn after_tool(&self, call: &ToolEnded) -> Result<AfterTool, HookError> {
        self.1.note(format!("{} is looked at", call.tool));
        Ok(AfterTool::Rewrite(ToolOutput::text("in other words")))
    }
}

#[tokio::test(start_paused = true)]
async fn a40_no_read_begins_early_that_a_gate_a_hook_or_its_own_arguments_could_still_change() {
    type Change = fn(AgentBuilder, &Log) -> AgentBuilder;
    let cases: [(&str, &str, Change); 7] = [
        ("it is off unless it is asked for", "{}", |agent, _| agent.early_reads(false)),
        ("every commit is awaited", "{}", |agent, _| agent.durability(Durability::Sync)),
        ("a gate must be asked", "{}", |agent, _| agent.gate(Elsewhere)),
        ("a person must be asked", "{}", |agent, _| agent.gate(asking_for("look"))),
        ("a hook sees the call", "{}", |agent, log| agent.hook(Looker(HookPoint::BeforeTool, log.clone()))),
        ("a hook sees the answer", "{}", |agent, log| agent.hook(Looker(HookPoint::AfterModel, log.clone()))),
        ("its arguments do not fit", r#"{"n": "one"}"#, |agent, _| agent),
    ];
    for (why, arguments, change) in cases {
        let (model, log) = (Dictated::default(), Log::new());
        let look = reader(&log);
        let pen = model.answer();
        let agent = Arc::new(change(agent(&model).tool(look.clone()), &log).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let run = runtime.execute(say(&agent, "go")).await.unwrap();
        pen.writes(&[("look", arguments)]);
        settle().await;
        assert_eq!(log.all(), Vec::<String>::new(), "{why}");
        pen.asks_for(&[("look", arguments)]);
        look.ends();
        let (_, outcome) = finish(run).await;
        let runs = outcome.kind() == OutcomeKind::Completed && arguments == "{}";
        assert_eq!(log.count("look begins"), usize::from(runs), "{why}: {outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a40_a_hook_sees_a_result_once_the_answer_is_there() {
    let (model, log) = (Dictated::default(), Log::new());
    let look = reader(&log);
    let pen = model.answer();
    let hook = Looker(HookPoint::AfterTool, log.clone());
    let agent = Arc::new(agent(&model).tool(look.clone()).hook(hook).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    pen.writes(&[LOOK]);
    look.ends();
    log.until(1, "look cleaned up").await;
    settle().await;
    assert_eq!(log.all(), ["look begins", "look ends", "look cleaned up"]);
    pen.asks_for(&[LOOK]);
    let key = completes(run).await;
    assert_eq!(log.count("look is looked at"), 1);
    assert_eq!(only_result(&runtime, &key).await.1, "in other words");
}

#[tokio::test(start_paused = true)]
async fn a40_the_time_of_a_call_runs_from_when_it_began() {
    let (model, log) = (Dictated::default(), Log::new());
    let look = reader(&log);
    let pen = model.answer();
    let retries = Retries::default().tool_waits_ms(Vec::new());
    let agent = Arc::new(agent(&model).tool(look.clone()).retries(retries).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    pen.writes(&[LOOK]);
    log.until(1, "look cleaned up").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let answered = Instant::now();
    pen.asks_for(&[LOOK]);
    let key = completes(run).await;
    assert!(answered.elapsed() < Duration::from_secs(30), "{:?}", answered.elapsed());
    let results = tool_results(&runtime, &key).await;
    assert!(results[0].content.contains("no answer within 30000 ms"), "{results:?}");
    let out = Duration::from_millis(results[0].duration_ms.unwrap());
    assert!(out < Duration::from_secs(60), "not how long the model wrote: {out:?}");
}
