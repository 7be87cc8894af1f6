//! Hooks and summarisers that are programs and servers: every point in both ways, and what a failure means.
//!
//! Requirements: A34, B22, B32, C36, D05, H22.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use holdover::agent::SubAgent;
use holdover::gates::HttpCarrier;
use holdover::hooks::{
    Carrier, Hook, HookError, HookPoint, HookSettings, MovesMissed, OnFailure, OutsideHook,
};
use holdover::model::{Script, ScriptedModel};
use holdover::prelude::*;
use holdover::session::RunOutcome;
use holdover::tools::{CommandCarrier, Root};
use serde_json::{Value, json};

/// The model calls a tool or a sub-agent, and then says what it sees.
const SCRIPT: &str = r#"turns = [
    { when = { system_contains = "changed by a hook" }, say = "The system prompt is changed." },
    { when = { user_contains = "say it again" }, say = "I am corrected." },
    { when = { user_contains = "delegate", nth = 1 }, calls = [{ tool = "clerk", arguments = { tasks = ["look"] } }] },
    { when = { user_contains = "look" }, say = "The child looks." },
    { when = { user_contains = "see" }, say = "The child sees." },
    { when = { nth = 1 }, calls = [{ tool = "pay", arguments = { cents = 700 } }] },
    { when = { result_contains = "700" }, say = "Paid 700." },
    { when = { result_contains = "500" }, say = "Paid 500." },
    { when = { result_contains = "***" }, say = "It is hidden." },
    { when = { result_contains = "not today" }, say = "It is refused." },
    { when = { result_contains = "withheld" }, say = "It is withheld." },
    { when = { result_contains = "sees" }, say = "The child saw." },
]
"#;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Pay {
    cents: u32,
}

/// The two ways to ask code outside of the process.
#[derive(Clone, Copy, Debug)]
enum Way {
    Program,
    Http,
}

const WAYS: [Way; 2] = [Way::Program, Way::Http];

/// Notes the request in the file `asked`, and answers with the content of the file `answer.POINT`, if it exists.
const PROGRAM: &str = r#"in=$(cat); point=${in#'{"version":1,"point":"'}; point=${point%%\"*}
printf '%s\n' "$in" >>asked; if [ -e "answer.$point" ]; then cat "answer.$point"; fi"#;

/// Starts a server that does the same as [`PROGRAM`] in `folder`. Returns its address.
fn server(folder: &Path) -> String {
    let (listener, folder) = (TcpListener::bind("127.0.0.1:0").unwrap(), folder.to_owned());
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.unwrap();
            let mut reader = BufReader::new(connection.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                if let Some(bytes) = line.to_lowercase().strip_prefix("content-length: ") {
                    length = bytes.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let asked: Value = serde_json::from_slice(&body).unwrap();
            body.push(b'\n');
            let notes = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("asked"));
            notes.unwrap().write_all(&body).unwrap();
            let answer = std::fs::read(folder.join(format!("answer.{}", asked["point"].as_str().unwrap())));
            let (status, answer) = match answer {
                Ok(answer) => ("200 OK", answer),
                Err(_) => ("204 No Content", Vec::new()),
            };
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", answer.len());
            // The client may have gone.
            let _ = (&connection).write_all(&[head.as_bytes(), &answer].concat());
        }
    });
    url
}

/// A hook with its folder.
struct Scene {
    folder: tempfile::TempDir,
    hook: Arc<dyn Hook>,
}

impl Scene {
    fn new(way: Way, settings: HookSettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hook: Arc<dyn Hook> = match way {
            Way::Program => {
                let root = Root::open(folder.path()).unwrap();
                let program = CommandCarrier::new(["sh", "-c", PROGRAM], root).unwrap();
                Arc::new(OutsideHook::new(settings, program).unwrap())
            }
            Way::Http => {
                let carrier = HttpCarrier::new(&server(folder.path())).unwrap();
                Arc::new(OutsideHook::new(settings, carrier).unwrap())
            }
        };
        Self { folder, hook }
    }

    fn answers(&self, point: &str, answer: impl ToString) -> &Self {
        std::fs::write(self.folder.path().join(format!("answer.{point}")), answer.to_string()).unwrap();
        self
    }

    fn asked(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("asked")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Runs a turn of an agent with the hook. Returns the last text of the agent, or the error of the turn.
    async fn turn(&self, message: &str) -> String {
        let pay = FunctionTool::new(ToolName::new("pay").unwrap(), "Pays", |asked: Pay, _call| async move {
            Ok::<_, ToolError>(ToolOutput::text(format!("paid {}", asked.cents)))
        });
        let script = Script::from_toml(SCRIPT).unwrap();
        let agent = Agent::builder("payer")
            .model(ScriptedModel::new("payer", script))
            .gate(RuleGate::new(vec![ApprovalRule::new("*", RuleAction::Allow)]))
            .tool(pay.effect(EffectClass::ReadOnly))
            .sub_agent(SubAgent::new("clerk", "Looks"))
            .shared_hook(Arc::clone(&self.hook))
            .build()
            .unwrap();
        let agent = Arc::new(agent);
        let agents = Agents::new().with(agent.clone());
        let runtime = Runtime::new(MemoryStore::new(), agents, RuntimeOptions::default());
        let run =
            runtime.execute(Execute::new(TenantId::new("acme").unwrap(), agent, message)).await.unwrap();
        let key = run.key().clone();
        let RunOutcome::Ended(ending) = run.outcome().await.unwrap() else { panic!("the turn ends") };
        match ending.error {
            Some(error) => error.to_string(),
            None => {
                let text = runtime.last_text(&key).await.unwrap().unwrap_or_default();
                format!("{}: {text}", ending.reason.as_str())
            }
        }
    }
}

fn all_points() -> HookSettings {
    HookSettings::new("mine", HookPoint::ALL).timeout(Duration::from_secs(60))
}

/// The parts of a request to a model that a hook may replace.
fn changed_request() -> Value {
    json!({ "system": "changed by a hook", "messages": [{ "role": "user", "text": "x" }], "tools": [],
            "max_output_tokens": 10 })
}

#[tokio::test(flavor = "multi_thread")]
async fn h22_every_point_is_asked_outside_of_the_process() {
    for way in WAYS {
        let scene = Scene::new(way, all_points());
        assert_eq!(scene.turn("pay").await, "model_stop: Paid 700.", "{way:?}");
        let asked = scene.asked();
        let points = |but: &[&str]| -> Vec<String> {
            let points = asked.iter().map(|asked| asked["point"].as_str().unwrap().to_owned());
            points.filter(|point| !but.contains(&point.as_str())).collect()
        };
        // Transitions are told beside the run.
        assert_eq!(
            points(&["transition"]),
            [
                "agent_start",
                "before_model",
                "after_model",
                "before_tool",
                "after_tool",
                "after_step",
                "before_model",
                "after_model",
                "after_step",
                "agent_end",
            ],
            "{way:?}"
        );
        assert!(points(&[]).iter().any(|point| point == "transition"), "{way:?}");
        assert!(asked.iter().all(|asked| asked["hook"] == "mine" && asked["session"]["tenant"] == "acme"));
        let of = |point: &str| asked.iter().find(|asked| asked["point"] == point).unwrap();
        assert_eq!(of("before_tool")["arguments"], json!({ "cents": 700 }));
        assert_eq!(of("after_tool")["result"], json!({ "content": "paid 700" }));
        assert_eq!(of("agent_end")["ending"]["reason"], "model_stop");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c36_a_verdict_from_outside_changes_the_turn_at_its_point() {
    let deny = json!({ "verdict": "deny", "reason": "not today" });
    for (point, message, answer, end) in [
        (
            "before_model",
            "pay",
            json!({ "verdict": "ask_with", "request": changed_request() }),
            "model_stop: The system prompt is changed.",
        ),
        ("before_model", "pay", deny.clone(), "the hook mine: not today"),
        ("before_tool", "pay", deny.clone(), "model_stop: It is refused."),
        (
            "before_tool",
            "pay",
            json!({ "verdict": "rewrite", "arguments": { "cents": 500 } }),
            "model_stop: Paid 500.",
        ),
        (
            "before_tool",
            "pay",
            json!({ "verdict": "answer", "result": { "content": "***" } }),
            "model_stop: It is hidden.",
        ),
        ("before_tool", "pay", json!({ "verdict": "fail", "reason": "broken" }), "the hook mine: broken"),
        (
            "after_tool",
            "pay",
            json!({ "verdict": "rewrite", "result": { "content": "***" } }),
            "model_stop: It is hidden.",
        ),
        (
            "after_tool",
            "pay",
            json!({ "verdict": "reject", "reason": "withheld" }),
            "model_stop: It is withheld.",
        ),
        ("before_sub_agent", "delegate", deny, "model_stop: It is refused."),
        (
            "before_sub_agent",
            "delegate",
            json!({ "verdict": "rewrite", "tasks": ["see"] }),
            "model_stop: The child saw.",
        ),
        ("after_step", "pay", json!({ "verdict": "stop", "reason": "enough" }), "tool_stop: "),
        ("after_step", "pay", json!({ "verdict": "over_budget", "reason": "dear" }), "budget_exceeded: "),
        (
            "after_step",
            "pay",
            json!({ "verdict": "correct", "text": "say it again" }),
            "model_stop: I am corrected.",
        ),
    ] {
        for way in WAYS {
            let only = HookPoint::ALL.into_iter().filter(|known| known.as_str() == point);
            let scene = Scene::new(way, HookSettings::new("mine", only).timeout(Duration::from_secs(60)));
            scene.answers(point, &answer);
            let said = scene.turn(message).await;
            assert!(said.contains(end), "{way:?} {point}: {said}");
            assert!(!scene.asked().is_empty(), "{way:?} {point}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c36_a_failure_from_outside_is_open_or_closed_as_set() {
    // The same wrong answer at each point. Open: nothing changes.
    for (point, closed) in [
        (
            "agent_start",
            "hook.agent_start: the hook mine failed: its answer: verdict: \"maybe\" is none of ok",
        ),
        ("before_model", "the hook mine failed: its answer: verdict"),
        ("after_model", "the hook mine failed: its answer: verdict"),
        ("after_step", "hook.after_step: the hook mine failed: its answer: verdict"),
        // The text of the error may contain the result, so it is not shown.
        ("after_tool", "model_stop: It is withheld."),
        ("agent_end", "model_stop: Paid 700."),
        ("transition", "model_stop: Paid 700."),
    ] {
        for (consequence, end) in [(OnFailure::Open, "model_stop: Paid 700."), (OnFailure::Closed, closed)] {
            for way in WAYS {
                let only = HookPoint::ALL.into_iter().filter(|known| known.as_str() == point);
                let settings = HookSettings::new("mine", only).timeout(Duration::from_secs(60));
                let scene = Scene::new(way, settings.on_failure(consequence));
                scene.answers(point, r#"{"verdict":"maybe"}"#);
                let said = scene.turn("pay").await;
                assert!(said.contains(end), "{way:?} {point} {consequence:?}: {said}");
                assert!(!scene.asked().is_empty(), "{way:?} {point}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c36_a_silent_program_is_a_failure_after_its_time_limit() {
    let folder = tempfile::tempdir().unwrap();
    let program = CommandCarrier::new(
        ["sh", "-c", "echo $$ >pid; echo thinking >&2; exec sleep 600"],
        Root::open(folder.path()).unwrap(),
    );
    let settings = HookSettings::new("mine", [HookPoint::AgentStart]).timeout(Duration::from_secs(2));
    let hook = Arc::new(OutsideHook::new(settings, program.unwrap()).unwrap());
    let scene = Scene { folder, hook };
    let said = scene.turn("pay").await;
    let end = "hook.agent_start: the hook mine failed: was silent for 2000 ms and was killed: thinking";
    assert!(said.contains(end), "{said}");
    let pid = std::fs::read_to_string(scene.folder.path().join("pid")).unwrap();
    let alive = std::process::Command::new("kill").args(["-0", pid.trim()]).output().unwrap();
    assert!(!alive.status.success(), "the program is gone");
}

/// The examples on the page about hooks. Every answer is valid at its point, and every field of a request is
/// one that is sent.
#[tokio::test(flavor = "multi_thread")]
async fn the_examples_of_the_page_are_valid() {
    let page = include_str!("../../docs/how-to/hooks.md");
    let (_, examples) = page.split_once("```jsonl\n").unwrap();
    let (examples, _) = examples.split_once("```").unwrap();
    let lines: Vec<Value> = examples.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let pairs: Vec<(&Value, &Value)> = lines.chunks(2).map(|pair| (&pair[0], &pair[1])).collect();
    let missed_point = "transitions_missed";
    let mut words = HookPoint::ALL.map(HookPoint::as_str).to_vec();
    words.insert(words.iter().position(|word| *word == "transition").unwrap() + 1, missed_point);
    assert_eq!(pairs.iter().map(|(asked, _)| asked["point"].as_str().unwrap()).collect::<Vec<_>>(), words);
    // What is really sent, from one turn with a call and one with a sub-agent.
    let scene = Scene::new(Way::Program, all_points());
    scene.turn("pay").await;
    scene.turn("delegate").await;
    // No hook of this test is slow.
    let missed = MovesMissed::new(
        SessionKey::new(TenantId::new("acme").unwrap(), SessionId::new("desk-1").unwrap()),
        12,
    );
    scene.hook.transitions_missed(&missed).await.unwrap();
    let sent = scene.asked();
    for (example, answer) in pairs {
        let point = example["point"].as_str().unwrap();
        let real = sent.iter().filter(|sent| sent["point"] == point);
        let fields = |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
        let common = ["version", "hook", "session"];
        let mut same = real.map(|real| {
            let known: Vec<String> =
                fields(real).into_iter().filter(|field| !common.contains(&field.as_str())).collect();
            known == fields(example)
        });
        assert!(same.any(|same| same), "{point}: other fields are sent");
        if point == missed_point {
            scene.answers(point, answer).hook.transitions_missed(&missed).await.unwrap();
            continue;
        }
        let only = HookPoint::ALL.into_iter().filter(|known| known.as_str() == point);
        let settings = HookSettings::new("mine", only).timeout(Duration::from_secs(60));
        let strict = Scene::new(Way::Program, settings.on_failure(OnFailure::Closed));
        // A wait of a minute is too long for a test.
        let answer = match answer["verdict"].as_str() {
            Some("hold") => json!({ "verdict": "hold", "wait_ms": 1, "reason": answer["reason"] }),
            _ => answer.clone(),
        };
        strict.answers(point, &answer);
        let said = strict.turn(if point == "before_sub_agent" { "delegate" } else { "pay" }).await;
        assert!(!said.contains("its answer"), "{point}: {said}");
    }
}

/// A carrier of the program's own.
struct Desk;

#[async_trait::async_trait]
impl Carrier for Desk {
    async fn carry(&self, request: String, _limit: Duration) -> Result<Vec<u8>, HookError> {
        let asked: Value = serde_json::from_str(&request).map_err(|error| HookError(error.to_string()))?;
        let about = asked["arguments"]["cents"].as_u64().unwrap_or_default();
        Ok(if about > 600 { br#"{"verdict":"deny","reason":"not today"}"#.to_vec() } else { Vec::new() })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c36_a_program_may_carry_requests_in_its_own_way() {
    let settings = HookSettings::new("mine", [HookPoint::BeforeTool]);
    let scene = |tools: &str| Scene {
        folder: tempfile::tempdir().unwrap(),
        hook: Arc::new(OutsideHook::new(settings.clone().tools([tools]), Desk).unwrap()),
    };
    assert_eq!(scene("pa*").turn("pay").await, "model_stop: It is refused.");
    assert_eq!(scene("other").turn("pay").await, "model_stop: Paid 700.");
}
