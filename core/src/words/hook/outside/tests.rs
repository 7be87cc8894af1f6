use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use serde_json::{Value, json};

use super::*;
use crate::time::Timestamp;
use crate::words::children::Tasks;
use crate::words::ending::{DoneReason, Ending};
use crate::words::history::{Input, StateKind};
use crate::words::ids::{CallId, SessionId, SessionKey, StepNumber, TenantId, TurnNumber};
use crate::words::list::SharedList;
use crate::words::message::{Message, UserMessage};
use crate::words::payload::Digest;
use crate::words::tool::{EffectClass, ToolError, ToolOutput};
use crate::words::usage::Usage;

/// A carrier with prepared answers. It keeps the requests.
#[derive(Default)]
struct Desk {
    answers: Mutex<VecDeque<Result<Vec<u8>, HookError>>>,
    requests: Mutex<Vec<Value>>,
}

#[async_trait]
impl Carrier for Desk {
    async fn carry(&self, request: String, limit: Duration) -> Result<Vec<u8>, HookError> {
        assert_eq!(limit, Duration::from_millis(700));
        assert!(!request.contains('\n'));
        self.requests.lock().unwrap().push(serde_json::from_str(&request).unwrap());
        self.answers.lock().unwrap().pop_front().unwrap()
    }
}

fn hook(answers: &[&str]) -> OutsideHook<Desk> {
    let desk = Desk::default();
    *desk.answers.lock().unwrap() = answers.iter().map(|answer| Ok(answer.as_bytes().to_vec())).collect();
    let settings = HookSettings::new("h", HookPoint::ALL).timeout(Duration::from_millis(700));
    OutsideHook::new(settings, desk).unwrap()
}

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().unwrap()
}

fn session() -> SessionKey {
    SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap())
}

fn call(arguments: &str) -> GateQuestion {
    GateQuestion {
        session: session(),
        call: CallId::new("c1-0").unwrap(),
        tool: ToolName::new("pay").unwrap(),
        arguments: arguments.to_owned(),
        digest: Digest::of(arguments.as_bytes()),
        effect: EffectClass::Idempotent,
        dangerous: true,
        approved: false,
        approved_on: None,
    }
}

fn ended(result: Result<ToolOutput, ToolError>) -> ToolEnded {
    ToolEnded {
        session: session(),
        call: CallId::new("c1-0").unwrap(),
        tool: ToolName::new("pay").unwrap(),
        arguments: r#"{"n":7}"#.to_owned(),
        result,
    }
}

fn asked() -> ModelAsked {
    ModelAsked { session: session(), step: StepNumber(2), attempt: 1, summary: true }
}

fn model_request() -> ModelRequest {
    ModelRequest {
        session: session(),
        system: "Be brief.".into(),
        messages: SharedList::from([Arc::new(Message::User(UserMessage::new("Hello")))]),
        tools: Arc::from([]),
        max_output_tokens: 9,
        step: 2,
        attempt: 1,
    }
}

fn step_ended() -> StepEnded {
    StepEnded {
        session: session(),
        turn: TurnNumber(1),
        step: StepNumber(2),
        steps: 2,
        text: "so".to_owned(),
        tools_done: vec!["pay".to_owned()],
        usage: Usage::default(),
        turn_usage: Usage::default(),
        session_usage: Usage::default(),
    }
}

fn deny(reason: &str) -> String {
    json!({ "verdict": "deny", "reason": reason }).to_string()
}

#[test]
fn c36_each_verdict_before_a_tool_is_read_and_arguments_keep_their_bytes() {
    let question = call(r#"{"n": 1.0, "a":"ü"}"#);
    for (answer, verdict) in [
        ("", BeforeTool::Allow),
        (" \n", BeforeTool::Allow),
        (r#"{"verdict":"allow"}"#, BeforeTool::Allow),
        (&deny("no"), BeforeTool::Deny { reason: "no".to_owned() }),
        (r#"{"verdict":"hold"}"#, BeforeTool::Hold { prompt: None }),
        (r#"{"verdict":"hold","prompt":"Pay?"}"#, BeforeTool::Hold { prompt: Some("Pay?".to_owned()) }),
        (
            r#"{ "arguments": {"n" : 1.50}, "verdict": "rewrite" }"#,
            BeforeTool::Rewrite { arguments: r#"{"n" : 1.50}"#.to_owned() },
        ),
        (
            r#"{"verdict":"answer","result":{"content":"paid","stop":true,"changes":[{"does":"delete","key":"k"}]}}"#,
            BeforeTool::Answer(ToolOutput { stop: true, ..ToolOutput::text("paid").delete("k") }),
        ),
        (r#"{"verdict":"fail","reason":"broken"}"#, BeforeTool::Fail { reason: "broken".to_owned() }),
    ] {
        let hook = hook(&[answer]);
        assert_eq!(now(hook.before_tool(&question)), Ok(verdict), "{answer}");
        assert_eq!(
            hook.carrier.requests.lock().unwrap()[0],
            json!({
                "version": 1, "point": "before_tool", "hook": "h", "session": { "tenant": "t", "id": "s" },
                "call": "c1-0", "tool": "pay", "arguments": { "n": 1.0, "a": "ü" },
                "digest": question.digest.to_string(), "effect": "idempotent", "dangerous": true,
                "approved": false,
            })
        );
    }
    // The bytes of the arguments are those that would run.
    assert!(
        request("p", None, asked::BeforeToolAsked::of(&question).unwrap())
            .unwrap()
            .contains(&question.arguments)
    );
}

#[test]
fn c36_each_verdict_around_a_model_is_read() {
    let changed = json!({
        "verdict": "ask_with",
        "request": { "system": "Be long.", "messages": [{ "role": "user", "text": "Bye" }], "tools": [],
                     "max_output_tokens": 8 },
    });
    let instead = ModelRequest {
        system: "Be long.".into(),
        messages: SharedList::from([Arc::new(Message::User(UserMessage::new("Bye")))]),
        max_output_tokens: 8,
        ..model_request()
    };
    let hold = r#"{"verdict":"hold","wait_ms":1500,"reason":"busy"}"#;
    for (answer, verdict) in [
        (String::new(), BeforeModel::Ask),
        (r#"{"verdict":"ask"}"#.to_owned(), BeforeModel::Ask),
        (changed.to_string(), BeforeModel::AskWith(Box::new(instead))),
        (hold.to_owned(), BeforeModel::Hold { wait: Duration::from_millis(1500), reason: "busy".to_owned() }),
        (deny("no"), BeforeModel::Deny { reason: "no".to_owned() }),
    ] {
        let hook = hook(&[&answer]);
        assert_eq!(now(hook.before_model(&asked(), &model_request())), Ok(verdict), "{answer}");
        assert_eq!(
            hook.carrier.requests.lock().unwrap()[0],
            json!({
                "version": 1, "point": "before_model", "hook": "h", "session": { "tenant": "t", "id": "s" },
                "step": 2, "attempt": 1, "summary": true,
                "request": { "system": "Be brief.", "messages": [{ "role": "user", "text": "Hello" }],
                             "tools": [], "max_output_tokens": 9 },
            })
        );
    }
    let hook = hook(&["", r#"{"verdict":"ok"}"#, &deny("no")]);
    let answer = ModelAnswer::text("so").call("pay", json!({ "n": 7 }));
    assert_eq!(now(hook.after_model(&asked(), &answer)), Ok(()));
    assert_eq!(now(hook.after_model(&asked(), &answer)), Ok(()));
    let wrong = now(hook.after_model(&asked(), &answer)).unwrap_err();
    assert_eq!(wrong.0, "its answer: verdict: \"deny\" is none of ok");
    assert_eq!(
        hook.carrier.requests.lock().unwrap()[0]["answer"],
        json!({
            "parts": [{ "type": "text", "text": "so" },
                      { "type": "call", "tool": "pay", "arguments": "{\"n\":7}" }],
            "stop": "tool_use", "usage": {},
        })
    );
}

#[test]
fn c36_each_verdict_about_a_sub_agent_a_result_and_a_step_is_read() {
    let tasks = Tasks { tasks: vec!["look".to_owned()], fail_fast: true, ..Tasks::default() };
    let asked = SubAgentAsked {
        session: session(),
        call: CallId::new("c1-0").unwrap(),
        sub_agent: ToolName::new("clerk").unwrap(),
        tasks,
        approved: true,
    };
    for (answer, verdict) in [
        ("", BeforeSubAgent::Allow),
        (r#"{"verdict":"allow"}"#, BeforeSubAgent::Allow),
        (&deny("no"), BeforeSubAgent::Deny { reason: "no".to_owned() }),
        (
            r#"{"verdict":"rewrite","tasks":["see","hear"]}"#,
            BeforeSubAgent::Rewrite { tasks: vec!["see".to_owned(), "hear".to_owned()] },
        ),
    ] {
        let hook = hook(&[answer]);
        assert_eq!(now(hook.before_sub_agent(&asked)), Ok(verdict), "{answer}");
        let told = hook.carrier.requests.lock().unwrap()[0].clone();
        assert_eq!((&told["tasks"], &told["fail_fast"]), (&json!(["look"]), &json!(true)));
    }
    for (answer, verdict) in [
        ("", AfterTool::Keep),
        (r#"{"verdict":"keep"}"#, AfterTool::Keep),
        (r#"{"verdict":"reject","reason":"no"}"#, AfterTool::Reject { reason: "no".to_owned() }),
        (r#"{"verdict":"rewrite","result":{"content":"***"}}"#, AfterTool::Rewrite(ToolOutput::text("***"))),
    ] {
        let hook = hook(&[answer]);
        assert_eq!(now(hook.after_tool(&ended(Ok(ToolOutput::text("secret"))))), Ok(verdict), "{answer}");
    }
    for (answer, verdict) in [
        ("", AfterStep::GoOn),
        (r#"{"verdict":"go_on"}"#, AfterStep::GoOn),
        (r#"{"verdict":"stop","reason":"enough"}"#, AfterStep::Stop { why: "enough".to_owned() }),
        (r#"{"verdict":"correct","text":"again"}"#, AfterStep::Correct { text: "again".to_owned() }),
        (r#"{"verdict":"over_budget","reason":"dear"}"#, AfterStep::OverBudget { why: "dear".to_owned() }),
    ] {
        assert_eq!(now(hook(&[answer]).after_step(&step_ended())), Ok(verdict), "{answer}");
    }
}

#[test]
fn c36_a_result_is_told_with_its_status_and_can_be_sent_back_as_it_came() {
    let output = ToolOutput { stop: true, ..ToolOutput::text("a").set("k", 1) };
    for (result, status) in [
        (Ok(output.clone()), "done"),
        (Err(ToolError::Failed("a".to_owned())), "failed"),
        (Err(ToolError::NotRun("a".to_owned())), "not_run"),
        (Err(ToolError::Transient { detail: "a".to_owned(), wait: None }), "transient"),
        (Err(ToolError::Lost("a".to_owned())), "lost"),
    ] {
        let first = hook(&[""]);
        now(first.after_tool(&ended(result.clone()))).unwrap();
        let told = first.carrier.requests.lock().unwrap()[0].clone();
        assert_eq!((&told["status"], &told["arguments"]["n"]), (&json!(status), &json!(7)));
        let back = json!({ "verdict": "rewrite", "result": told["result"] }).to_string();
        let read = now(hook(&[&back]).after_tool(&ended(result.clone())));
        assert_eq!(read, Ok(AfterTool::Rewrite(result.unwrap_or(ToolOutput::text("a")))));
    }
}

#[test]
fn d05_what_is_only_told_takes_no_verdict() {
    let hook = hook(&["", "", "", "", r#"{"verdict":"ok"}"#, &deny("no")]);
    let (session, turn) = (session(), TurnNumber(3));
    now(hook.agent_start(&TurnBegins { session: session.clone(), turn })).unwrap();
    let moved = Moved {
        session: session.clone(),
        from: StateKind::Idle,
        input: Input::Provisioned,
        to: StateKind::Idle,
        at: Timestamp::from_ms(5),
    };
    now(hook.transition(&moved)).unwrap();
    let ends = TurnEnds {
        session: session.clone(),
        turn,
        ending: Ending::of(DoneReason::ModelStop),
        steps: 1,
        usage: Usage::default(),
        session_usage: Usage::default(),
    };
    now(hook.agent_end(&ends)).unwrap();
    let told = hook.carrier.requests.lock().unwrap().clone();
    assert_eq!((&told[0]["point"], &told[0]["turn"]), (&json!("agent_start"), &json!(3)));
    assert_eq!((&told[1]["point"], &told[1]["at"]), (&json!("transition"), &json!(5)));
    assert_eq!(
        (&told[2]["point"], &told[2]["ending"]["reason"]),
        (&json!("agent_end"), &json!("model_stop"))
    );
    // A gap among the transitions is reported in a request of its own.
    let missed = MovesMissed::new(session, 7);
    now(hook.transitions_missed(&missed)).unwrap();
    now(hook.transitions_missed(&missed)).unwrap();
    let wrong = now(hook.transitions_missed(&missed)).unwrap_err();
    assert_eq!(wrong.0, "its answer: verdict: \"deny\" is none of ok");
    assert_eq!(
        hook.carrier.requests.lock().unwrap()[3],
        json!({
            "version": 1, "point": "transitions_missed", "hook": "h", "session": { "tenant": "t", "id": "s" },
            "count": 7,
        })
    );
}

#[test]
fn c36_an_answer_of_a_wrong_form_is_a_failure_in_one_line() {
    let question = call("{}");
    let many = json!({ "verdict": "answer", "result": { "content": "", "images": vec![
        json!({ "media_type": "image/gif", "data": "R0lGODlh" }); 21] } });
    for (answer, line) in [
        ("yes", "its answer: expected value at line 1 column 1"),
        ("[]", "its answer: invalid type: sequence, expected an object at line 1 column 0"),
        (r#"{"verdict":"allow"} x"#, "its answer: trailing characters at line 1 column 21"),
        ("{}", "its answer: verdict is missing"),
        (
            r#"{"verdict":1}"#,
            "its answer: verdict: invalid type: integer `1`, expected a string at line 1 column 1",
        ),
        (
            r#"{"verdict":"keep"}"#,
            "its answer: verdict: \"keep\" is none of allow, deny, hold, rewrite, answer, fail",
        ),
        (r#"{"verdict":"deny"}"#, "its answer: reason is missing"),
        (r#"{"verdict":"allow","reason":"x"}"#, "its answer: \"reason\" is no field of this verdict"),
        (r#"{"verdict":"deny","verdict":"allow"}"#, "its answer: \"verdict\" is given twice at line 1"),
        (
            r#"{"verdict":"answer","result":{"text":"x"}}"#,
            "its answer: result: unknown field `text`, expected one of `content`, `stop`, `changes`, `images` at line 1 column 7",
        ),
        (&many.to_string(), "its answer: result: images: there are 21 pictures, at most 20 are allowed"),
    ] {
        let wrong = now(hook(&[answer]).before_tool(&question)).unwrap_err();
        assert!(wrong.0.starts_with(line) && !wrong.0.contains('\n'), "{}", wrong.0);
    }
    let long = format!("{}{}", " ".repeat(OUTSIDE_ANSWER_BYTES_MAX), "{}");
    let wrong = now(hook(&[&long]).before_tool(&question)).unwrap_err();
    assert_eq!(wrong.0, "its answer: is longer than 16777216 bytes");
}

#[test]
fn settings_are_checked_and_decide_whom_the_hook_is_about() {
    let good =
        HookSettings::new("redact-1", [HookPoint::AfterTool, HookPoint::AgentEnd]).tools(["read_*", "ls"]);
    assert_eq!(good.check(), Ok(()));
    assert!(good.is_about("read_file") && good.is_about("ls") && !good.is_about("lsof"));
    assert!(HookSettings::new("h", [HookPoint::AfterTool]).is_about("any"));
    let steps = || HookSettings::new("h", [HookPoint::AfterStep]);
    for (bad, line) in [
        (HookSettings::new("", [HookPoint::AfterTool]), "hook \"\": name: expected 1 to 64 letters"),
        (HookSettings::new("a b", [HookPoint::AfterTool]), "hook \"a b\": name: "),
        (HookSettings::new("a".repeat(65), [HookPoint::AfterTool]), "hook \"aaa"),
        (HookSettings::new("h", []), "hook \"h\": points: is empty"),
        (HookSettings::new("h", [HookPoint::AfterStep; 2]), "hook \"h\": points: a point is listed twice"),
        (steps().tools(["a"]), "hook \"h\": tools: none of its points is about a tool"),
        (steps().timeout(Duration::ZERO), "hook \"h\": timeout_ms: is zero"),
        (
            steps().on_failure_at(HookPoint::AgentEnd, OnFailure::Open),
            "hook \"h\": on_failure: agent_end is none of its points",
        ),
    ] {
        let wrong = OutsideHook::new(bad, Desk::default()).unwrap_err().to_string();
        assert!(wrong.starts_with(line), "{wrong}");
    }
    let closed = OutsideHook::new(good.on_failure(OnFailure::Closed).priority(3), Desk::default()).unwrap();
    assert_eq!((closed.on_failure(HookPoint::AfterTool), closed.priority()), (OnFailure::Closed, 3));
    let usual = OutsideHook::new(steps(), Desk::default()).unwrap();
    assert_eq!(usual.on_failure(HookPoint::AfterStep), OnFailure::Open);
    assert!(usual.timeout() > HOOK_TIMEOUT, "the carrier's own error comes first");
}
