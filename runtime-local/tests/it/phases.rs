//! The three phases of a call: it is prepared, performed and cleaned up.
//!
//! Requirements: A49, A51, B31, C35, D12, D13, U06.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::agent::{Limits, Retries};
use holdover_core::ids::CallId;
use holdover_core::message::ResultStatus;
use holdover_core::store::OutcomeKind;
use holdover_core::tool::{
    Bound, CLEANUP_MAX, EffectClass, ResourceProfile, Stopped, Tool, ToolCall, ToolError, ToolOutput,
    ToolReturn, ToolSpec,
};
use serde_json::Value;
use tokio::time::Instant;

use crate::bench::{agent, finish, only_result, runtime, say, settle, store};
use crate::script::Script;
use crate::tools::{Fake, spec};

/// The way a phase ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    Well,
    Fails,
    Panics,
    Hangs,
}

impl Does {
    async fn it(self) -> Result<(), ToolError> {
        match self {
            Self::Well => Ok(()),
            Self::Fails => Err(ToolError::Failed("no luck".into())),
            Self::Panics => panic!("bad luck"),
            Self::Hangs => std::future::pending().await,
        }
    }
}

/// A tool that logs the phases of its call.
#[derive(Clone)]
struct Phased {
    spec: ToolSpec,
    does: [Does; 3],
    log: Arc<Mutex<Vec<&'static str>>>,
}

impl Phased {
    fn new(does: [Does; 3]) -> Self {
        Self { spec: spec("work"), does, log: Arc::default() }
    }

    fn phase(&self, name: &'static str) {
        self.log.lock().unwrap().push(name);
    }

    fn phases(&self) -> Vec<&'static str> {
        self.log.lock().unwrap().clone()
    }
}

#[async_trait]
impl Tool for Phased {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        ResourceProfile::Serial
    }

    async fn prepare(&self, _call: &ToolCall) -> Result<(), ToolError> {
        self.phase("prepare");
        self.does[0].it().await
    }

    async fn call(&self, _call: ToolCall) -> Result<ToolReturn, ToolError> {
        self.phase("call");
        self.does[1].it().await.map(|()| ToolOutput::text("worked").into())
    }

    async fn cleanup(&self, _call: &ToolCall) -> Result<(), ToolError> {
        self.phase("cleanup");
        self.does[2].it().await
    }

    async fn stopped(&self, _call: &CallId) -> Stopped {
        Stopped::Unknown
    }
}

/// Runs one call of the tool, and returns its status and content.
async fn ends(tool: &Phased) -> (ResultStatus, String) {
    let model = Script::calling(vec![("work", "{}")]);
    // Without retries, each phase happens at most once.
    let retries = Retries::default().tool_waits_ms(Vec::new());
    let agent = Arc::new(agent(&model).tool(tool.clone()).retries(retries).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    only_result(&runtime, &key).await
}

/// Requirements: A49, C35.
#[tokio::test(start_paused = true)]
async fn d12_d13_every_call_is_made_ready_performed_and_cleaned_up_after_however_it_ends() {
    use Does::{Fails, Hangs, Panics, Well};
    let all = ["prepare", "call", "cleanup"];
    let unsent = ["prepare", "cleanup"];
    for (does, phases, status, told) in [
        ([Well, Well, Well], &all[..], ResultStatus::Done, "worked"),
        ([Well, Fails, Well], &all, ResultStatus::Error, "no luck"),
        ([Well, Panics, Well], &all, ResultStatus::InDoubt, "it panicked: bad luck"),
        ([Well, Hangs, Well], &all, ResultStatus::InDoubt, "no answer within 30000 ms"),
        // A failed cleanup does not change the result.
        ([Well, Well, Fails], &all, ResultStatus::Done, "worked"),
        ([Well, Well, Panics], &all, ResultStatus::Done, "worked"),
        ([Well, Well, Hangs], &all, ResultStatus::Done, "worked"),
        ([Well, Fails, Hangs], &all, ResultStatus::Error, "no luck"),
        // A call that was not prepared has not acted, and the model is told so.
        ([Fails, Well, Well], &unsent, ResultStatus::Error, "not run: no luck"),
        ([Panics, Well, Well], &unsent, ResultStatus::Error, "not run: it panicked: bad luck"),
        ([Hangs, Well, Well], &unsent, ResultStatus::Error, "not run: no answer within 30000 ms"),
    ] {
        let tool = Phased::new(does);
        let (found, text) = ends(&tool).await;
        assert_eq!((found, tool.phases().as_slice()), (status, phases), "{does:?}: {text}");
        assert!(text.contains(told), "{does:?}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn d13_a_call_that_is_stopped_is_cleaned_up_after() {
    let tool = Phased::new([Does::Well, Does::Hangs, Does::Hangs]);
    let model = Script::calling(vec![("work", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let handle = runtime.execute(say(&agent, "go")).await.unwrap();
    settle().await;
    assert_eq!(tool.phases(), ["prepare", "call"]);
    let asked = Instant::now();
    runtime.interrupt(handle.key(), "enough").await.unwrap();
    let (key, outcome) = finish(handle).await;
    assert_eq!(outcome.kind(), OutcomeKind::Interrupted);
    assert_eq!(tool.phases(), ["prepare", "call", "cleanup"]);
    assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::InDoubt);
    let bound = Duration::from_millis(Limits::default().stop_grace_ms) + CLEANUP_MAX + Duration::from_secs(3);
    assert!(asked.elapsed() <= bound, "{:?}", asked.elapsed());
}

/// Requirements: B33.
#[tokio::test(start_paused = true)]
async fn b33_a_call_that_is_only_being_prepared_is_stopped_at_once_and_has_not_acted() {
    let tool = Phased::new([Does::Hangs, Does::Well, Does::Well]);
    let model = Script::calling(vec![("work", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let handle = runtime.execute(say(&agent, "go")).await.unwrap();
    settle().await;
    assert_eq!(tool.phases(), ["prepare"]);
    let asked = Instant::now();
    runtime.interrupt(handle.key(), "enough").await.unwrap();
    let (key, _) = finish(handle).await;
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    assert_eq!(tool.phases(), ["prepare", "cleanup"]);
    assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn b31_a_tool_may_take_all_the_time() {
    const LONG: Duration = Duration::from_secs(60 * 60);
    let tool = Fake::new("work", |call: ToolCall| async move {
        assert_eq!(call.timeout, None);
        tokio::time::sleep(LONG).await;
        Ok(ToolOutput::text("at last").into())
    });
    let tool = tool.effect(EffectClass::AtMostOnce).timeout(Bound::Never);
    let model = Script::calling(vec![("work", "{}")]);
    let limits = Limits::default().max_run_ms(None);
    let agent = Arc::new(agent(&model).tool(tool).limits(limits).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(only_result(&runtime, &key).await, (ResultStatus::Done, "at last".into()));
}

#[tokio::test(start_paused = true)]
async fn a51_the_model_is_shown_the_beginning_and_the_end_of_a_long_result_which_is_stored_whole() {
    let whole = format!("{}{}{}", "a".repeat(2_000), "-".repeat(17_000), "z".repeat(2_000));
    let text = whole.clone();
    let tool = Fake::new("work", move |_| {
        let text = text.clone();
        async move { Ok(ToolOutput::text(text).into()) }
    });
    let model = Script::calling(vec![("work", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let shown = crate::script::results(&model.asked()[1]).remove(0);
    let (head, tail) = ("a".repeat(2_000), "z".repeat(2_000));
    assert_eq!(shown, format!("{head}\n[17000 characters left out]\n{tail}"));
    assert_eq!(only_result(&runtime, &key).await.1, whole);
}

#[tokio::test(start_paused = true)]
async fn u06_the_model_is_not_told_of_tools_for_people_alone() {
    let model = Script::calling(vec![("look", "{}")]);
    let agent = agent(&model).tool(Fake::echo("look")).tool(Fake::echo("wipe"));
    let agent = Arc::new(agent.human_only(spec("wipe").name).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    for request in model.asked() {
        let told: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(told, ["look"]);
    }
}
