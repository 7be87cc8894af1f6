//! Tests of the client with a server that does not use the client's library, over standard input and output
//! and over HTTP.
//!
//! Requirements: A50, B33, B47, D22.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use holdover_core::custom::CustomState;
use holdover_core::ending::CancelReason;
use holdover_core::ids::{CallId, SessionId, SessionKey, TenantId};
use holdover_core::tool::{
    Bound, CallHandle, CallLink, EffectClass, Progress, StopRequest, Tool, ToolCall, ToolError, ToolOutput,
    ToolReturn, ToolSpec,
};
use holdover_mcp::{McpClient, McpServer};
use serde_json::{Value, json};
use tokio::sync::watch;

/// The longest time that a test waits for something.
const PATIENCE: Duration = Duration::from_secs(60);

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server.mjs")
}

/// A folder with the file in which an MCP server records the messages that it receives.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn record(&self) -> PathBuf {
        self.folder.path().join("record")
    }

    fn lines(&self) -> Vec<String> {
        std::fs::read_to_string(self.record()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Waits until the server has recorded a line with this beginning.
    async fn written(&self, beginning: &str) {
        let looked = async {
            while !self.lines().iter().any(|line| line.starts_with(beginning)) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looked).await.expect(beginning);
    }

    /// Returns a server over standard input and output. A shell starts it with the record's path, so it needs
    /// nothing else from the environment.
    fn server(&self, more: Value) -> McpServer {
        let line = format!("RECORD='{}' exec node '{}'", self.record().display(), script().display());
        let mut server = json!({ "name": "test", "command": ["/bin/sh", "-c", line] });
        server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(server).unwrap()
    }

    fn client(&self, more: Value) -> Arc<McpClient> {
        Arc::new(McpClient::new(self.server(more)).unwrap())
    }
}

fn call(arguments: Value) -> ToolCall {
    ToolCall {
        session: SessionKey::new(TenantId::new("acme").unwrap(), SessionId::new("s").unwrap()),
        id: CallId::new("c").unwrap(),
        idempotency_key: "key-1".to_owned(),
        arguments,
        timeout: Some(PATIENCE),
        state: CustomState::default(),
        handle: CallHandle::default(),
    }
}

async fn tool(client: &Arc<McpClient>, name: &str) -> Arc<dyn Tool> {
    let specs = client.discover().await.unwrap();
    client.tool(specs.into_iter().find(|spec| spec.name.as_str() == name).expect(name))
}

fn classes(specs: &[ToolSpec]) -> Vec<(&str, EffectClass, bool)> {
    specs.iter().map(|spec| (spec.name.as_str(), spec.effect, spec.dangerous)).collect()
}

#[tokio::test]
async fn b47_the_tools_of_a_server_are_dangerous_unless_it_is_trusted_and_says_otherwise() {
    let place = Place::new();
    let every = place.client(json!({})).discover().await.unwrap();
    assert_eq!(every.len(), 8, "both pages: {every:?}");
    assert!(every.iter().all(|spec| spec.dangerous && spec.effect == EffectClass::AtMostOnce), "{every:?}");

    let wanted = json!({ "trusted": true, "tools": ["echo", "put", "wipe.all"], "timeout_seconds": 7 });
    let believed = place.client(wanted).discover().await.unwrap();
    assert_eq!(
        classes(&believed),
        [
            ("mcp__test__echo", EffectClass::ReadOnly, false),
            ("mcp__test__put", EffectClass::Idempotent, false),
            ("mcp__test__wipe_all", EffectClass::AtMostOnce, true),
        ]
    );
    assert_eq!(
        (believed[0].description.as_str(), believed[0].timeout_ms),
        ("Says it again", Some(Bound::At(7_000)))
    );
    assert_eq!(believed[0].parameters["properties"]["text"]["type"], "string");
}

#[tokio::test]
async fn d22_a_result_is_a_result_and_an_error_is_an_observation() {
    let place = Place::new();
    let client = place.client(json!({}));
    let said = tool(&client, "mcp__test__echo").await.call(call(json!({ "text": "hello" }))).await;
    assert_eq!(said, Ok(ToolReturn::Output(ToolOutput::text("you said hello"))));
    let failed = tool(&client, "mcp__test__fail").await.call(call(json!({}))).await;
    assert_eq!(failed, Err(ToolError::Failed("it is broken".to_owned())));
    let refused = tool(&client, "mcp__test__refuse").await.call(call(json!({}))).await;
    assert_eq!(refused, Err(ToolError::Failed("no such thing".to_owned())));
    let began = place.lines().iter().filter(|line| line.starts_with("began")).count();
    assert_eq!(began, 1, "one connection served all");
    assert!(place.lines().contains(&"call echo key-1".to_owned()), "the key travels: {:?}", place.lines());
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_leaves_it_lost_and_is_started_again_for_the_next() {
    let place = Place::new();
    let client = place.client(json!({}));
    let lost = tool(&client, "mcp__test__die").await.call(call(json!({}))).await;
    assert!(
        matches!(&lost, Err(ToolError::Lost(why)) if why.starts_with("mcp server \"test\": ")),
        "{lost:?}"
    );
    assert!(place.lines().contains(&"call die key-1".to_owned()), "it was sent");
    let said = tool(&client, "mcp__test__echo").await.call(call(json!({ "text": "again" }))).await;
    assert_eq!(said, Ok(ToolReturn::Output(ToolOutput::text("you said again"))));
    let began = place.lines().iter().filter(|line| line.starts_with("began")).count();
    assert_eq!(began, 2);
}

#[tokio::test]
async fn the_server_is_told_of_a_call_that_is_stopped() {
    let place = Place::new();
    let client = place.client(json!({}));
    let hang = tool(&client, "mcp__test__hang").await;
    let out = tokio::spawn(async move { hang.call(call(json!({}))).await });
    place.written("call hang").await;
    out.abort();
    place.written("told notifications/cancelled nobody waits for it any more").await;
}

const STOP: StopRequest =
    StopRequest { reason: CancelReason::UserCancelled, grace: Duration::from_millis(200) };

/// A run that keeps the newest progress of a call, and asks the call to stop once there is some.
#[derive(Clone)]
struct Run(watch::Sender<Option<Progress>>);

impl CallLink for Run {
    fn report(&self, progress: Progress) {
        self.0.send_replace(Some(progress));
    }

    fn stop_request(&self) -> Option<StopRequest> {
        self.0.borrow().as_ref().map(|_| STOP)
    }

    fn stopped(&self) -> BoxFuture<'static, StopRequest> {
        let mut news = self.0.subscribe();
        Box::pin(async move {
            news.wait_for(Option::is_some).await.unwrap();
            STOP
        })
    }
}

#[tokio::test]
async fn a50_progress_of_a_server_is_reported_and_b33_it_is_told_why_a_call_stops() {
    let place = Place::new();
    let client = place.client(json!({}));
    let run = Run(watch::Sender::new(None));
    let asked = ToolCall { handle: CallHandle::new(run.clone()), ..call(json!({})) };
    let lost = tool(&client, "mcp__test__report").await.call(asked).await;
    assert!(matches!(&lost, Err(ToolError::Lost(why)) if why.ends_with("it was stopped")), "{lost:?}");
    let shown = run.0.borrow().clone().unwrap();
    let done = shown.done.unwrap();
    assert_eq!(shown, Progress::text(format!("step {done}")).of(done, Some(1000)));
    place.written("told notifications/cancelled user:cancelled").await;
}

#[tokio::test]
async fn a_server_that_cannot_be_had_means_that_nothing_was_sent_and_says_why() {
    let absent = McpServer { command: vec!["/no/such/server".to_owned()], ..Place::new().server(json!({})) };
    let error = McpClient::new(absent).unwrap().discover().await.unwrap_err().to_string();
    assert!(
        error.starts_with("mcp server \"test\": program \"/no/such/server\": could not be started: "),
        "{error}"
    );

    let place = Place::new();
    let client = place.client(json!({}));
    let echo = tool(&client, "mcp__test__echo").await;
    let line = format!("BROKEN=1 exec node '{}'", script().display());
    let broken =
        McpServer { command: vec!["/bin/sh".to_owned(), "-c".to_owned(), line], ..place.server(json!({})) };
    let broken = Arc::new(McpClient::new(broken).unwrap());
    let not_run = broken.tool(echo.spec().clone()).call(call(json!({ "text": "x" }))).await;
    let Err(ToolError::NotRun(why)) = not_run else { panic!("{not_run:?}") };
    assert!(why.contains("it said: I will not work today") && !why.contains('\n'), "{why}");

    let gone = ToolSpec { name: "mcp__test__gone".parse().unwrap(), ..echo.spec().clone() };
    let not_run = client.tool(gone).call(call(json!({}))).await;
    assert!(matches!(&not_run, Err(ToolError::NotRun(why)) if why.contains("has no tool")), "{not_run:?}");

    let picky = place.client(json!({ "tools": ["echo", "sing"] })).discover().await.unwrap_err();
    assert!(picky.to_string().contains("it has no tool \"sing\""), "{picky}");
}

/// A server over HTTP. It ends when its standard input is closed.
struct OverHttp {
    child: Child,
    url: String,
}

impl OverHttp {
    fn start(place: &Place, token: &str) -> Self {
        let mut child = Command::new("node")
            .arg(script())
            .arg("--http")
            .env("RECORD", place.record())
            .env("TOKEN", token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { child, url: format!("http://127.0.0.1:{}/mcp", port.trim()) }
    }

    fn client(&self, bearer_env: &str) -> Arc<McpClient> {
        let server = json!({ "name": "test", "url": self.url, "bearer_env": bearer_env, "trusted": true });
        Arc::new(McpClient::new(serde_json::from_value(server).unwrap()).unwrap())
    }
}

impl Drop for OverHttp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn over_http_it_is_the_same_and_the_token_comes_from_the_environment() {
    let place = Place::new();
    // A variable that every environment has, because tests must not change the environment of their process.
    let server = OverHttp::start(&place, &std::env::var("PATH").unwrap());
    let client = server.client("PATH");
    let said = tool(&client, "mcp__test__echo").await.call(call(json!({ "text": "far" }))).await;
    assert_eq!(said, Ok(ToolReturn::Output(ToolOutput::text("you said far"))));
    let failed = tool(&client, "mcp__test__fail").await.call(call(json!({}))).await;
    assert_eq!(failed, Err(ToolError::Failed("it is broken".to_owned())));
    let lost = tool(&client, "mcp__test__die").await.call(call(json!({}))).await;
    assert!(matches!(&lost, Err(ToolError::Lost(_))), "{lost:?}");

    let second = OverHttp::start(&place, "another");
    let refused = second.client("PATH").discover().await.unwrap_err().to_string();
    assert!(refused.starts_with("mcp server \"test\": ") && !refused.contains('\n'), "{refused}");
    let unset = second.client("NO_SUCH_VARIABLE").discover().await.unwrap_err().to_string();
    assert!(unset.contains("the environment variable NO_SUCH_VARIABLE is not set"), "{unset}");
}
