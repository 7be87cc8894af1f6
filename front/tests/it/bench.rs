//! Shared helpers: a server with an agent, and its clients.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use futures::{StreamExt, stream};
use holdover_core::gate::{ApprovalRule, RuleAction, RuleGate};
use holdover_core::ids::{TenantId, ToolName};
use holdover_core::message::Message;
use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
    StopReason, TokenUsage,
};
use holdover_core::store::StateStore;
use holdover_core::tool::ToolOutput;
use holdover_front::{Access, Caller, FrontOptions, May, NoTokens, Tokens, router};
use holdover_runtime_local::{
    Agent, Agents, CancellationToken, Runtime, RuntimeOptions, SubAgent, Worker, WorkerOptions,
};
use holdover_store_memory::MemoryStore;
use holdover_tools::FunctionTool;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// The longest time that a test waits for something.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The token of each test caller, with its tenant and permissions.
pub(crate) const ANN: &str = "token-of-ann";
pub(crate) const READER: &str = "token-of-a-reader";
pub(crate) const SENDER: &str = "token-of-a-sender";
pub(crate) const WRITER: &str = "token-of-one-who-only-sends";
pub(crate) const STRANGER: &str = "token-of-another-tenant";

pub(crate) fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

/// Tokens that a test knows.
pub(crate) struct Known(BTreeMap<String, Caller>);

impl Known {
    pub(crate) fn new(callers: impl IntoIterator<Item = (&'static str, Caller)>) -> Self {
        Self(callers.into_iter().map(|(token, caller)| (token.to_owned(), caller)).collect())
    }
}

#[async_trait]
impl Tokens for Known {
    async fn caller(&self, token: &str) -> Result<Option<Caller>, NoTokens> {
        match token {
            "out-of-order" => Err(NoTokens("the disk is full".to_owned())),
            token => Ok(self.0.get(token).cloned()),
        }
    }
}

pub(crate) fn callers() -> Access {
    Access::Tokens(Arc::new(Known::new([
        (ANN, Caller::of(tenant("acme")).named("ann")),
        (READER, Caller::of(tenant("acme")).named("rob").only([May::Read])),
        (SENDER, Caller::of(tenant("acme")).named("sue").only([May::Read, May::Send])),
        (WRITER, Caller::of(tenant("acme")).named("will").only([May::Send])),
        (STRANGER, Caller::of(tenant("other")).named("eve")),
    ])))
}

/// Tokens with one that belongs to this caller.
pub(crate) fn callers_and(caller: Caller) -> Access {
    Access::Tokens(Arc::new(Known::new([("token-of-the-engine", caller)])))
}

/// A model that does what the first message of the session says.
struct Obedient;

#[async_trait]
impl Model for Obedient {
    fn name(&self) -> &str {
        "test:obedient"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let (mut said, mut result) = (String::new(), None);
        for message in &request.messages {
            if let Message::User(user) = &**message {
                said.clone_from(&user.text);
            } else if let Message::Tool(tool) = &**message {
                result = Some(tool.content.clone());
            }
        }
        let call =
            |tool: &str, arguments: &str| AnswerPart::Call { tool: tool.into(), arguments: arguments.into() };
        let part = match (said.as_str(), result) {
            ("wait", _) => return Ok(Box::pin(stream::pending())),
            ("fail", _) => return Err(ModelError::new(ModelErrorKind::Refused, "it is told to fail")),
            ("speak slowly", _) => return Ok(slowly()),
            ("refund", None) => call("refund", r#"{"order":7,"api_key":"sk-live"}"#),
            ("scan", None) => call("scan", r#"{"order":7}"#),
            ("note", None) => call("note", "{}"),
            ("delegate", None) => call("helper", r#"{"tasks":["hello","bye"]}"#),
            ("delegate a refund", None) => call("helper", r#"{"tasks":["refund"]}"#),
            ("fail slowly", _) => return Ok(cut_off()),
            ("refund twice", None) => return Ok(twice("refund", r#"{"order":7}"#)),
            (
                "refund" | "refund twice" | "scan" | "note" | "delegate" | "delegate a refund",
                Some(result),
            ) => AnswerPart::Text(format!("It says: {result}")),
            (said, _) => AnswerPart::Text(format!("You said: {said}")),
        };
        let calls = matches!(part, AnswerPart::Call { .. });
        let stop = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
        let usage = TokenUsage { input: 3, output: 2, ..TokenUsage::default() };
        let answer = ModelAnswer { parts: vec![part], stop, usage };
        Ok(Box::pin(stream::iter([Ok(ModelEvent::Finished(answer))])))
    }
}

/// Returns an answer with two calls.
fn twice(tool: &str, arguments: &str) -> ModelStream {
    let part = AnswerPart::Call { tool: tool.into(), arguments: arguments.into() };
    let usage = TokenUsage { input: 3, output: 2, ..TokenUsage::default() };
    let answer = ModelAnswer { parts: vec![part.clone(), part], stop: StopReason::ToolUse, usage };
    Box::pin(stream::iter([Ok(ModelEvent::Finished(answer))]))
}

/// Returns an answer that is cut off after some words, and cannot be had again.
fn cut_off() -> ModelStream {
    let words = stream::iter(["so ", "far ", "and ", "no "]).then(async |word| {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(ModelEvent::Text(word.to_owned()))
    });
    let error = ModelError::new(ModelErrorKind::Refused, "it was cut off");
    Box::pin(words.chain(stream::iter([Err(error)])))
}

/// Returns an answer whose words come one after another, slowly enough that readers see them come.
fn slowly() -> ModelStream {
    let words = (0..6).map(|word| format!("word {word} "));
    let whole: String = words.clone().collect();
    let usage = TokenUsage { input: 3, output: 2, ..TokenUsage::default() };
    let answer = ModelAnswer { parts: vec![AnswerPart::Text(whole)], stop: StopReason::EndTurn, usage };
    let words = stream::iter(words).then(async |word| {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(ModelEvent::Text(word))
    });
    Box::pin(words.chain(stream::iter([Ok(ModelEvent::Finished(answer))])))
}

fn refund() -> FunctionTool<Value> {
    FunctionTool::new(ToolName::new("refund").unwrap(), "Pays back", |order: Value, _| async move {
        Ok(ToolOutput::text(format!("order {} is paid back", order["order"])))
    })
}

fn asks_to_refund() -> RuleGate {
    RuleGate::new(vec![ApprovalRule::new("refund", RuleAction::Ask).because("money leaves the house")])
}

/// An agent whose sub-agent asks before it pays back.
pub(crate) fn boss() -> Arc<Agent> {
    let helper = SubAgent::new("helper", "Helps.").instructions("You help.");
    let helper = helper.tools([ToolName::new("refund").unwrap()]).gate(asks_to_refund());
    let boss = Agent::builder("boss").model(Obedient).tool(refund()).gate(asks_to_refund());
    Arc::new(boss.sub_agent(helper).build().unwrap())
}

pub(crate) fn clerk() -> Arc<Agent> {
    let note = FunctionTool::new(ToolName::new("note").unwrap(), "Takes a note", |_: Value, _| async move {
        Ok(ToolOutput::text("noted").set("noted", 7).set("api_key", "sk-live"))
    });
    let scan = FunctionTool::<Value>::on_client(ToolName::new("scan").unwrap(), "Scans a receipt");
    let clerk =
        Agent::builder("clerk").model(Obedient).tool(refund()).tool(note).tool(scan).gate(asks_to_refund());
    Arc::new(clerk.build().unwrap())
}

/// An agent with a sub-agent, to which it gives two tasks.
pub(crate) fn chief() -> Arc<Agent> {
    let helper = SubAgent::new("helper", "Helps.").instructions("You help.");
    Arc::new(Agent::builder("chief").model(Obedient).sub_agent(helper).build().unwrap())
}

pub(crate) fn runtime(store: impl StateStore) -> Runtime {
    let options = RuntimeOptions::default().effects_override(Some("memory".into()));
    Runtime::new(store, Agents::new().with(clerk()), options)
}

/// A server on this machine. Its worker and its streams stop when it is dropped.
pub(crate) struct Server {
    pub(crate) base: String,
    pub(crate) stop: CancellationToken,
    #[cfg(feature = "mcp")]
    pub(crate) runtime: Runtime,
    client: reqwest::Client,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(callers(), |options| options).await
    }

    pub(crate) async fn with(access: Access, set: impl FnOnce(FrontOptions) -> FrontOptions) -> Self {
        Self::on(runtime(MemoryStore::new()), access, set).await
    }

    pub(crate) async fn on(
        runtime: Runtime,
        access: Access,
        set: impl FnOnce(FrontOptions) -> FrontOptions,
    ) -> Self {
        let stop = CancellationToken::new();
        let options = FrontOptions::new(access).agents(Agents::new().with(clerk())).stop(stop.clone());
        // The router is nested under a path, as it may be in a real program.
        let router = Router::new().nest("/front", router(runtime.clone(), set(options)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/front", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let worker = Worker::new(runtime.clone(), WorkerOptions::default());
        drop(worker.spawn(stop.clone()));
        // Another test may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self {
            base,
            stop,
            #[cfg(feature = "mcp")]
            runtime,
            client,
        }
    }

    /// Begins a request of Ann.
    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        self.anonymous(method, path).bearer_auth(ANN)
    }

    pub(crate) fn anonymous(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base)).timeout(PATIENCE)
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        told(self.ask(Method::GET, path).send().await.unwrap()).await.1
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        told(self.ask(Method::POST, path).json(body).send().await.unwrap()).await
    }

    /// Sends a request with this first line as Ann, and returns the answer as it comes.
    pub(crate) async fn raw(&self, line: &str) -> String {
        let address = self.base.strip_prefix("http://").unwrap().strip_suffix("/front").unwrap();
        let mut connection = TcpStream::connect(address).await.unwrap();
        let head =
            format!("{line}\r\nhost: {address}\r\nauthorization: Bearer {ANN}\r\nconnection: close\r\n\r\n");
        connection.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// Starts a session with a message, and returns its path.
    pub(crate) async fn session(&self, message: &str) -> String {
        let (status, started) =
            self.post("/v1/sessions", &json!({ "agent": "clerk", "message": message })).await;
        assert_eq!(status, StatusCode::CREATED, "{started}");
        format!("/v1/sessions/{}", started["session"].as_str().unwrap())
    }

    /// Reads the events of a session until its turn is over or waits.
    pub(crate) async fn parked(&self, session: &str) -> Vec<Frame> {
        let path = format!("{session}/events?until=parked&messages=true");
        let text = self.ask(Method::GET, &path).send().await.unwrap().text().await.unwrap();
        frames(&text)
    }

    /// Waits until a run holds the session.
    pub(crate) async fn runs(&self, session: &str) {
        let begun = async {
            while self.get(session).await["status"] != "active" {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, begun).await.unwrap();
    }

    /// Starts a session that waits for an answer. Returns its path, and the pending call.
    pub(crate) async fn waiting(&self, message: &str) -> (String, Value) {
        let session = self.session(message).await;
        self.parked(&session).await;
        let pending = self.get(&format!("{session}/pending")).await;
        assert_eq!(pending["items"].as_array().unwrap().len(), 1, "{pending}");
        (session, pending["items"][0].clone())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Returns the status and the JSON body of an answer.
pub(crate) async fn told(answer: Response) -> (StatusCode, Value) {
    let status = answer.status();
    let text = answer.text().await.unwrap();
    let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() };
    (status, body)
}

/// A Server-Sent Event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// Reads the events of a stream that has ended. An event that was cut off is left out.
pub(crate) fn frames(text: &str) -> Vec<Frame> {
    let (whole, _cut) = text.rsplit_once("\n\n").unwrap_or_default();
    let read = |frame: &str| {
        let field = |name: &str| {
            let begins = format!("{name}: ");
            frame.lines().find_map(|line| line.strip_prefix(&begins).map(str::to_owned))
        };
        let data = field("data")?;
        Some(Frame { id: field("id"), name: field("event")?, data: serde_json::from_str(&data).unwrap() })
    };
    whole.split("\n\n").filter_map(read).collect()
}
