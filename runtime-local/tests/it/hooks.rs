//! Hooks of an embedding program, at each point of a turn.
//!
//! Requirements: A39, B22, B32, C36, C41, D05, H22.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::engine::RunOutcome;
use holdover_core::gate::{ApprovalRule, GateQuestion, RuleAction, RuleGate};
use holdover_core::hook::{
    AfterStep, AfterTool, BeforeModel, BeforeTool, Hook, HookError, HookPoint, ModelAsked, Moved, OnFailure,
    StepEnded, ToolEnded, TurnBegins, TurnEnds,
};
use holdover_core::ids::{SessionId, SessionKey, ToolName};
use holdover_core::list::SharedList;
use holdover_core::machine::{DoneReason, StateKind};
use holdover_core::message::{Message, ResultStatus};
use holdover_core::model::{ModelAnswer, ModelRequest};
use holdover_core::store::OutcomeKind;
use holdover_core::tool::{ToolError, ToolOutput};
use holdover_runtime_local::{AgentError, Approval};
use serde_json::json;

use crate::bench::{
    agent, completes, finish, only_pending, only_result, runtime, say, settle, store, tenant, tool_results,
    transcript,
};
use crate::script::{Say, Script};
use crate::tools::{Fake, spec};

/// The replies of a hook at each point. Without a reply for a point, the hook does nothing there.
#[derive(Clone, Default)]
struct Does {
    before_model: Option<BeforeModel>,
    before_tool: Option<BeforeTool>,
    after_tool: Option<AfterTool>,
    after_step: Option<AfterStep>,
}

/// The ways in which a hook can fail.
#[derive(Clone, Copy)]
enum Fails {
    Says,
    Panics,
    Hangs,
}

/// A hook that records everything it is shown, and acts as the test says.
struct Probe {
    name: &'static str,
    priority: i32,
    points: Vec<HookPoint>,
    closed: Option<OnFailure>,
    only: Option<&'static str>,
    does: Does,
    fails: Option<Fails>,
    heard: Heard,
}

/// The calls that hooks got, in order.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn note(&self, word: impl Into<String>) {
        self.0.lock().unwrap().push(word.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn probe(name: &'static str, points: &[HookPoint], heard: &Heard) -> Probe {
    Probe {
        name,
        priority: 0,
        points: points.to_vec(),
        closed: None,
        only: None,
        does: Does::default(),
        fails: None,
        heard: heard.clone(),
    }
}

impl Probe {
    async fn hear(&self, point: HookPoint, what: String) -> Result<(), HookError> {
        self.heard.note(format!("{}: {}{what}", self.name, point.as_str()));
        match self.fails {
            None => Ok(()),
            Some(Fails::Says) => Err(HookError("the secret is 42".into())),
            Some(Fails::Panics) => panic!("the secret is 42"),
            Some(Fails::Hangs) => std::future::pending().await,
        }
    }
}

#[async_trait]
impl Hook for Probe {
    fn name(&self) -> &str {
        self.name
    }

    fn points(&self) -> &[HookPoint] {
        &self.points
    }

    fn priority(&self) -> i32 {
        self.priority
    }

    fn on_failure(&self, point: HookPoint) -> OnFailure {
        self.closed.unwrap_or(point.on_failure())
    }

    fn concerns(&self, tool: &ToolName) -> bool {
        self.only.is_none_or(|only| only == tool.as_str())
    }

    async fn agent_start(&self, turn: &TurnBegins) -> Result<(), HookError> {
        self.hear(HookPoint::AgentStart, format!(" {}", turn.turn)).await
    }

    async fn agent_end(&self, turn: &TurnEnds) -> Result<(), HookError> {
        let (why, used) = (turn.ending.reason.as_str(), turn.usage.tokens.total());
        self.hear(HookPoint::AgentEnd, format!(" {} {why} {used}", turn.turn)).await
    }

    async fn before_model(&self, asked: &ModelAsked, _: &ModelRequest) -> Result<BeforeModel, HookError> {
        self.hear(HookPoint::BeforeModel, format!(" {}", asked.step)).await?;
        Ok(self.does.before_model.clone().unwrap_or(BeforeModel::Ask))
    }

    async fn after_model(&self, asked: &ModelAsked, _: &ModelAnswer) -> Result<(), HookError> {
        self.hear(HookPoint::AfterModel, format!(" {}", asked.step)).await
    }

    async fn before_tool(&self, call: &GateQuestion) -> Result<BeforeTool, HookError> {
        self.hear(HookPoint::BeforeTool, format!(" {} {}", call.tool, call.arguments)).await?;
        Ok(self.does.before_tool.clone().unwrap_or(BeforeTool::Allow))
    }

    async fn after_tool(&self, call: &ToolEnded) -> Result<AfterTool, HookError> {
        let told = call.result.as_ref().map_or_else(ToString::to_string, |output| output.content.clone());
        self.hear(HookPoint::AfterTool, format!(" {} {told}", call.tool)).await?;
        Ok(self.does.after_tool.clone().unwrap_or(AfterTool::Keep))
    }

    async fn after_step(&self, step: &StepEnded) -> Result<AfterStep, HookError> {
        let used = step.usage.tokens;
        self.hear(HookPoint::AfterStep, format!(" {} {}+{}", step.step, used.input, used.output)).await?;
        Ok(self.does.after_step.clone().unwrap_or(AfterStep::GoOn))
    }

    async fn transition(&self, moved: &Moved) -> Result<(), HookError> {
        let (from, to) = (moved.from.as_str(), moved.to.as_str());
        self.hear(HookPoint::Transition, format!(" {from} {} {to}", moved.input.kind().as_str())).await
    }
}

fn pays() -> Script {
    Script::calling(vec![("pay", r#"{"n":7}"#)])
}

/// Requirements: A39, B22, C36.
#[tokio::test(start_paused = true)]
async fn h22_every_point_is_asked_in_its_order_and_hooks_by_priority_and_name() {
    let heard = Heard::default();
    let points: Vec<_> = HookPoint::ALL.into_iter().filter(|point| *point != HookPoint::Transition).collect();
    let built = agent(&pays()).tool(Fake::echo("pay"));
    let built = built.hook(probe("b", &points, &heard)).hook(probe("a", &[HookPoint::BeforeTool], &heard));
    let first = Probe { priority: -1, ..probe("z", &[HookPoint::BeforeTool], &heard) };
    let agent = Arc::new(built.hook(first).build().unwrap());
    let store = store();
    completes(runtime(&store, &agent).execute(say(&agent, "go")).await.unwrap()).await;
    let expected = [
        "b: agent_start 1",
        "b: before_model 1",
        "b: after_model 1",
        r#"z: before_tool pay {"n":7}"#,
        r#"a: before_tool pay {"n":7}"#,
        r#"b: before_tool pay {"n":7}"#,
        r#"b: after_tool pay {"n":7}"#,
        "b: after_step 1 1+1",
        "b: before_model 2",
        "b: after_model 2",
        "b: after_step 2 1+1",
        "b: agent_end 1 model_stop 4",
    ];
    assert_eq!(heard.all(), expected);
}

/// Requirements: H22.
#[tokio::test(start_paused = true)]
async fn b22_the_end_is_told_of_a_turn_that_fails_and_of_one_that_is_stopped() {
    for stops in [false, true] {
        let heard = Heard::default();
        let model = Script::new(move |_| match stops {
            true => Say::Nothing,
            false => Say::Fail(holdover_core::model::ModelError::new(
                holdover_core::model::ModelErrorKind::Auth,
                "the key is wrong",
            )),
        });
        let agent = Arc::new(agent(&model).hook(probe("a", &[HookPoint::AgentEnd], &heard)).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let run = runtime.execute(say(&agent, "go")).await.unwrap();
        let key = run.key().clone();
        if stops {
            settle().await;
            runtime.interrupt(&key, "enough").await.unwrap();
        }
        run.outcome().await.unwrap();
        let why = if stops { "user_abort" } else { "error" };
        assert_eq!(heard.all(), [format!("a: agent_end 1 {why} 0")]);
    }
}

#[tokio::test(start_paused = true)]
async fn b32_a_hook_before_a_tool_denies_rewrites_answers_or_fails_the_turn() {
    let rewrite = |arguments: &str| BeforeTool::Rewrite { arguments: arguments.into() };
    for (word, sent, status, told) in [
        (BeforeTool::Deny { reason: "not today".into() }, None, ResultStatus::Denied, "denied: not today"),
        (rewrite(r#"{"n":1}"#), Some(json!({ "n": 1 })), ResultStatus::Done, r#"{"n":1}"#),
        (BeforeTool::Answer(ToolOutput::text("paid before")), None, ResultStatus::Done, "paid before"),
        (
            rewrite(r#"{"n":"x"}"#),
            None,
            ResultStatus::Denied,
            "denied: the gate is unavailable: the hook a rewrote the arguments to what does not fit: /n: \"x\" is not of type \"integer\"",
        ),
    ] {
        let heard = Heard::default();
        let tool = Fake::echo("pay");
        let does = Does { before_tool: Some(word), ..Does::default() };
        let hook = Probe { does, ..probe("a", &[HookPoint::BeforeTool], &heard) };
        let agent = Arc::new(agent(&pays()).tool(tool.clone()).hook(hook).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        assert_eq!(only_result(&runtime, &key).await, (status, told.to_owned()));
        let calls: Vec<_> = tool.calls().into_iter().map(|call| call.arguments).collect();
        assert_eq!(calls, sent.into_iter().collect::<Vec<_>>());
    }
    let does = Does { before_tool: Some(BeforeTool::Fail { reason: "no".into() }), ..Does::default() };
    let hook = Probe { does, ..probe("a", &[HookPoint::BeforeTool], &Heard::default()) };
    let agent = Arc::new(agent(&pays()).tool(Fake::echo("pay")).hook(hook).build().unwrap());
    let store = store();
    let (_, outcome) = finish(runtime(&store, &agent).execute(say(&agent, "go")).await.unwrap()).await;
    let RunOutcome::Ended(ending) = outcome else { panic!("{outcome:?}") };
    let error = ending.error.unwrap();
    assert_eq!((error.code.as_str(), error.detail.as_str()), ("hook.before_tool", "the hook a: no"));
}

#[tokio::test(start_paused = true)]
async fn b32_the_gate_rules_on_what_the_hook_wrote_and_a_hook_lifts_no_denial() {
    let rules = || RuleGate::new(vec![ApprovalRule::new("pay", RuleAction::Deny).where_argument("n", "666")]);
    let n666 = BeforeTool::Rewrite { arguments: r#"{"n":666}"#.into() };
    for words in [vec![n666.clone()], vec![n666, BeforeTool::Answer(ToolOutput::text("paid"))]] {
        let tool = Fake::echo("pay");
        let mut built = agent(&pays()).tool(tool.clone()).gate(rules());
        for (name, word) in ["a", "b"].into_iter().zip(words) {
            let does = Does { before_tool: Some(word), ..Does::default() };
            built = built.hook(Probe { does, ..probe(name, &[HookPoint::BeforeTool], &Heard::default()) });
        }
        let agent = Arc::new(built.build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::Denied);
        assert_eq!(tool.calls(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn c36_a_hook_holds_a_call_for_a_person_who_sees_what_would_run() {
    let tool = Fake::echo("pay");
    let does = |word| Does { before_tool: Some(word), ..Does::default() };
    let rewrites = does(BeforeTool::Rewrite { arguments: r#"{"n":1}"#.into() });
    let holds = does(BeforeTool::Hold { prompt: Some("is this right?".into()) });
    let heard = Heard::default();
    let built = agent(&pays()).tool(tool.clone());
    let built = built.hook(Probe { does: rewrites, ..probe("a", &[HookPoint::BeforeTool], &heard) });
    let built = built.hook(Probe { does: holds, ..probe("b", &[HookPoint::BeforeTool], &heard) });
    let agent = Arc::new(built.build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    let asked = &runtime.pending(&key).await.unwrap()[0];
    assert_eq!(asked.body.arguments, r#"{"n":1}"#);
    assert_eq!(asked.body.prompt.as_deref(), Some("is this right?"));
    let call = only_pending(&runtime, &key).await;
    runtime.approve(&key, &call, Approval::default()).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool.calls()[0].arguments, json!({ "n": 1 }));
    let kept = transcript(&runtime, &key).await.into_iter().find_map(|message| match message {
        Message::Notice(notice) => notice.rewriting,
        Message::User(_)
        | Message::Assistant(_)
        | Message::Tool(_)
        | Message::Decision(_)
        | Message::Summary(_) => None,
    });
    assert_eq!(kept.unwrap().arguments, r#"{"n":1}"#);
}

#[tokio::test(start_paused = true)]
async fn b32_a_hook_after_a_tool_rewrites_its_result_or_rejects_it() {
    let reject = || AfterTool::Reject { reason: "not for you".into() };
    let text = |text: &str| AfterTool::Rewrite(ToolOutput::text(text));
    for (fails, word, status, told) in [
        (None, text("paid"), ResultStatus::Done, "paid"),
        (None, reject(), ResultStatus::Error, "not for you"),
        (Some(ToolError::Failed("card 4242".into())), text("it failed"), ResultStatus::Error, "it failed"),
        (Some(ToolError::Failed("card 4242".into())), reject(), ResultStatus::Error, "not for you"),
    ] {
        let tool = Fake::new("pay", move |_| {
            let result = fails.clone().map_or_else(|| Ok(ToolOutput::text("card 4242").into()), Err);
            async move { result }
        });
        let does = Does { after_tool: Some(word), ..Does::default() };
        let model = pays();
        let hook = Probe { does, ..probe("a", &[HookPoint::AfterTool], &Heard::default()) };
        let agent = Arc::new(agent(&model).tool(tool).hook(hook).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        assert_eq!(only_result(&runtime, &key).await, (status, told.to_owned()));
        assert!(!format!("{:?}", model.asked()).contains("4242"), "the model never saw it");
    }
}

#[tokio::test(start_paused = true)]
async fn b32_a_call_that_is_in_doubt_stays_so_whatever_a_hook_says() {
    for word in [AfterTool::Rewrite(ToolOutput::text("paid")), AfterTool::Reject { reason: "no".into() }] {
        let tool = Fake::new("pay", |_| async { Err(ToolError::Lost("connection reset".into())) });
        let does = Does { after_tool: Some(word), ..Does::default() };
        let hook = Probe { does, ..probe("a", &[HookPoint::AfterTool], &Heard::default()) };
        let tool = tool.effect(holdover_core::tool::EffectClass::AtMostOnce);
        let agent = Arc::new(agent(&pays()).tool(tool).hook(hook).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::InDoubt);
    }
}

/// Requirements: H22.
#[tokio::test(start_paused = true)]
async fn c36_a_failure_means_what_the_hook_says_it_means_and_tells_no_secret() {
    for fails in [Fails::Says, Fails::Panics, Fails::Hangs] {
        for closed in [OnFailure::Closed, OnFailure::Open] {
            for point in [HookPoint::BeforeTool, HookPoint::AfterTool] {
                let hook = Probe {
                    fails: Some(fails),
                    closed: Some(closed),
                    ..probe("guard", &[point], &Heard::default())
                };
                let tool = Fake::echo("pay");
                let agent = Arc::new(agent(&pays()).tool(tool.clone()).hook(hook).build().unwrap());
                let store = store();
                let runtime = runtime(&store, &agent);
                let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
                let (status, told) = only_result(&runtime, &key).await;
                let expected = match (closed, point) {
                    (OnFailure::Open, _) => ResultStatus::Done,
                    (OnFailure::Closed, HookPoint::BeforeTool) => ResultStatus::Denied,
                    (OnFailure::Closed, _) => ResultStatus::Error,
                };
                assert_eq!(status, expected, "{told}");
                let ran = closed == OnFailure::Open || point == HookPoint::AfterTool;
                assert_eq!(tool.calls().len(), usize::from(ran));
                if status == ResultStatus::Error {
                    assert!(told.starts_with("the result is withheld: the hook guard "), "{told}");
                    assert!(!told.contains("42") && !told.contains('7'), "{told}");
                    let silent = told.ends_with("was silent for 5000 ms");
                    assert_eq!(silent, matches!(fails, Fails::Hangs), "{told}");
                }
            }
        }
    }
}

/// Requirements: H22.
#[tokio::test(start_paused = true)]
async fn c36_what_comes_before_is_closed_and_what_comes_after_open_unless_a_hook_says_otherwise() {
    for (point, ends) in [
        (HookPoint::AgentStart, Some("hook.agent_start")),
        (HookPoint::BeforeModel, Some("model.denied")),
        (HookPoint::AfterModel, None),
        (HookPoint::AfterStep, None),
        (HookPoint::AgentEnd, None),
        (HookPoint::Transition, None),
    ] {
        for closed in [None, Some(OnFailure::Closed)] {
            let hook = Probe { fails: Some(Fails::Says), closed, ..probe("a", &[point], &Heard::default()) };
            let model = Script::new(|_| Say::Text("done"));
            let agent = Arc::new(agent(&model).hook(hook).build().unwrap());
            let store = store();
            let runtime = runtime(&store, &agent);
            let (_, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
            let RunOutcome::Ended(ending) = outcome else { panic!("{outcome:?}") };
            let expected = match (ends, closed, point) {
                (Some(code), _, _) => Some(code),
                (None, Some(OnFailure::Closed), HookPoint::AfterModel) => Some("model.denied"),
                (None, Some(OnFailure::Closed), HookPoint::AfterStep) => Some("hook.after_step"),
                (None, _, _) => None,
            };
            assert_eq!(ending.error.map(|error| error.code).as_deref(), expected, "{point:?} {closed:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn c36_a_hook_before_the_model_holds_denies_or_tells_it_something_else() {
    let ask = |word| {
        let model = Script::new(|_| Say::Text("done"));
        let does = Does { before_model: Some(word), ..Does::default() };
        let hook = Probe { does, ..probe("a", &[HookPoint::BeforeModel], &Heard::default()) };
        let agent = Arc::new(agent(&model).hook(hook).build().unwrap());
        (model, agent)
    };
    let instead = ModelRequest {
        session: SessionKey::new(tenant(), SessionId::new("s").unwrap()),
        system: Arc::from("Say nothing of cards."),
        messages: SharedList::new(),
        tools: Arc::from([]),
        max_output_tokens: 9,
        step: 1,
        attempt: 0,
    };
    let (model, with) = ask(BeforeModel::AskWith(Box::new(instead.clone())));
    let store = store();
    let first = runtime(&store, &with);
    let key = completes(first.execute(say(&with, "go")).await.unwrap()).await;
    assert_eq!(model.asked(), [instead]);
    let Message::User(said) = &transcript(&first, &key).await[0] else { panic!("somebody spoke") };
    assert_eq!(said.text, "go", "the transcript stays as it is");

    let (model, denied) = ask(BeforeModel::Deny { reason: "closed".into() });
    let (_, outcome) = finish(runtime(&store, &denied).execute(say(&denied, "go")).await.unwrap()).await;
    let RunOutcome::Ended(ending) = outcome else { panic!("{outcome:?}") };
    assert_eq!(ending.error.unwrap().detail, "the hook a: closed");
    assert_eq!(model.asked(), []);

    let hour = Duration::from_secs(3600);
    let began = tokio::time::Instant::now();
    let (model, held) = ask(BeforeModel::Hold { wait: hour, reason: "at night".into() });
    let (_, outcome) = finish(runtime(&store, &held).execute(say(&held, "go")).await.unwrap()).await;
    // Each wait uses up one of the few attempts; the last one ends the turn.
    let RunOutcome::Ended(ending) = outcome else { panic!("{outcome:?}") };
    assert!(began.elapsed() >= hour * 5, "{:?}", began.elapsed());
    let error = ending.error.unwrap();
    assert_eq!((error.code.as_str(), error.detail.as_str()), ("model.held", "the hook a: at night"));
    assert_eq!(model.asked(), []);
}

#[tokio::test(start_paused = true)]
async fn c41_a_condition_of_the_programs_own_ends_the_turn() {
    let built = agent(&pays()).tool(Fake::echo("pay"));
    let built = built.stop_if("two_tokens", |step| {
        (step.turn_usage.tokens.total() >= 2).then(|| "two tokens are enough".to_owned())
    });
    let agent = Arc::new(built.build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let RunOutcome::Ended(ending) = outcome else { panic!("{outcome:?}") };
    assert_eq!(ending.reason, DoneReason::ToolStop);
    let Some(Message::Notice(notice)) = transcript(&runtime, &key).await.pop() else { panic!("a notice") };
    assert_eq!(notice.text, "stopped by the hook two_tokens: two tokens are enough");
    assert_eq!(tool_results(&runtime, &key).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn d05_a_hook_is_told_of_each_transition() {
    let heard = Heard::default();
    let model = Script::new(|_| Say::Text("done"));
    let hook = probe("a", &[HookPoint::Transition], &heard);
    let agent = Arc::new(agent(&model).hook(hook).build().unwrap());
    let store = store();
    completes(runtime(&store, &agent).execute(say(&agent, "go")).await.unwrap()).await;
    let told = heard.all();
    assert_eq!(told.first().unwrap(), "a: transition idle turn_requested provisioning");
    assert!(told.contains(&"a: transition streaming model_answered steering".into()), "{told:?}");
    assert!(told.last().unwrap().ends_with(StateKind::Done.as_str()), "{told:?}");
}

/// Requirements: B32.
#[tokio::test(start_paused = true)]
async fn c36_hooks_concern_the_tools_that_they_name() {
    let heard = Heard::default();
    let points = [HookPoint::BeforeTool, HookPoint::AfterTool];
    let model = Script::calling(vec![("pay", r#"{"n":7}"#), ("look", "{}")]);
    let built = agent(&model).tool(Fake::echo("pay")).tool(Fake::echo("look"));
    let hook = Probe { only: Some("look"), ..probe("a", &points, &heard) };
    let agent = Arc::new(built.hook(hook).build().unwrap());
    let store = store();
    completes(runtime(&store, &agent).execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(heard.all(), ["a: before_tool look {}", "a: after_tool look {}"]);
}

#[test]
fn c36_hooks_that_cannot_keep_their_word_are_refused() {
    let model = pays();
    let heard = Heard::default();
    let hook = |name| probe(name, &[HookPoint::AfterTool], &heard);
    let twice = agent(&model).hook(hook("a")).hook(hook("a")).build().unwrap_err();
    assert!(matches!(twice, AgentError::DuplicateHook { .. }), "{twice}");
    let closed = || Probe { closed: Some(OnFailure::Closed), ..hook("a") };
    let client = agent(&model).client_tool(spec("ask")).hook(closed()).build().unwrap_err();
    assert!(matches!(client, AgentError::HookOfClientTool { .. }), "{client}");
    let narrow = Probe { only: Some("pay"), ..closed() };
    let built = agent(&model).client_tool(spec("ask")).tool(Fake::echo("pay")).hook(narrow);
    assert!(built.build().is_ok());
}
