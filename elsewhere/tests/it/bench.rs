//! Shared helpers: programs with agents, and servers whose answers a test sets.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use holdover_core::ids::{SessionId, TenantId};
use holdover_core::message::Message;
use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, TokenUsage,
};
use holdover_core::remote::{Remote, RemoteTask, TaskLimits, TaskOutcome, TaskStanding};
use holdover_elsewhere::{Callers, HttpElsewhere, router};
use holdover_runtime_local::{
    Agent, Agents, CancellationToken, Elsewhere, Runtime, RuntimeOptions, Worker, WorkerOptions,
};
use holdover_store_memory::MemoryStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The name of a variable whose value serves as a token. Cargo sets it for every test; tests cannot safely set
/// variables themselves.
pub(crate) const TOKEN: &str = "CARGO_PKG_NAME";
pub(crate) const OTHER_TOKEN: &str = "CARGO_PKG_VERSION";

/// The longest time that a test waits for something.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn value_of(variable: &str) -> String {
    std::env::var(variable).unwrap()
}

pub(crate) fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

pub(crate) fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

pub(crate) fn task(name: &str, text: &str) -> RemoteTask {
    RemoteTask { id: id(name), task: text.to_owned(), limits: TaskLimits::default(), reply_to: None }
}

pub(crate) fn wire() -> HttpElsewhere {
    HttpElsewhere::new()
}

/// Repeats `condition` until it returns a value. Panics after `PATIENCE`.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(mut condition: impl FnMut() -> F) -> T {
    let comes = async {
        loop {
            if let Some(it) = condition().await {
                return it;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, comes).await.unwrap()
}

/// An answer of the scripted model.
#[derive(Clone)]
pub(crate) enum Say {
    /// Ends the turn with this text.
    Text(String),
    /// First gives these tasks to the agent `digger`; ends the turn once the result is there.
    Gives(&'static str),
    /// Never answers.
    Nothing,
}

/// A model whose answer to a task comes from a function.
#[derive(Clone)]
pub(crate) struct Script {
    say: fn(&str) -> Say,
    asked: Arc<Mutex<usize>>,
}

impl Script {
    pub(crate) fn new(say: fn(&str) -> Say) -> Self {
        Self { say, asked: Arc::default() }
    }

    pub(crate) fn asked(&self) -> usize {
        *self.asked.lock().unwrap()
    }
}

#[async_trait]
impl Model for Script {
    fn name(&self) -> &str {
        "test:script"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        *self.asked.lock().unwrap() += 1;
        let Message::User(said) = &*request.messages[0] else { panic!("a task") };
        let has_result = request.messages.iter().any(|message| matches!(&**message, Message::Tool(_)));
        let (part, stop) = match (self.say)(&said.text) {
            Say::Nothing => return Ok(Box::pin(futures::stream::pending())),
            Say::Gives(arguments) if !has_result => {
                let call = AnswerPart::Call { tool: "digger".into(), arguments: arguments.into() };
                (call, StopReason::ToolUse)
            }
            Say::Gives(_) => (AnswerPart::Text("done".into()), StopReason::EndTurn),
            Say::Text(text) => (AnswerPart::Text(text), StopReason::EndTurn),
        };
        let usage = TokenUsage { input: 1, output: 1, ..TokenUsage::default() };
        let answer = ModelAnswer { parts: vec![part], stop, usage };
        Ok(Box::pin(futures::stream::iter([Ok(ModelEvent::Finished(answer))])))
    }
}

/// Returns the answer of the agent `digger` to a task.
pub(crate) fn digs(task: &str) -> Say {
    match task {
        "for ever" => Say::Nothing,
        "at length" => Say::Text("é".repeat(600_000)),
        task => Say::Text(format!("found {task}")),
    }
}

/// A program with one agent, its runtime and its router.
pub(crate) struct Program {
    pub(crate) runtime: Runtime,
    pub(crate) agent: Arc<Agent>,
    pub(crate) model: Script,
    /// The base URL of the program's router.
    pub(crate) base: String,
}

impl Program {
    /// Starts a program whose agent `digger` takes tasks.
    pub(crate) async fn digger(callers: Callers) -> Self {
        Self::digger_with(callers, None).await
    }

    pub(crate) async fn digger_with(callers: Callers, wire: Option<HttpElsewhere>) -> Self {
        let model = Script::new(digs);
        let agent = Arc::new(Agent::builder("digger").model(model.clone()).build().unwrap());
        let (listener, base) = listen().await;
        Self::serve(listener, base, model, agent, callers, wire)
    }

    pub(crate) fn serve(
        listener: TcpListener,
        base: String,
        model: Script,
        agent: Arc<Agent>,
        callers: Callers,
        wire: Option<HttpElsewhere>,
    ) -> Self {
        let wire = wire.map(|wire| -> Arc<dyn Elsewhere> { Arc::new(wire) });
        let options = RuntimeOptions::default().effects_override(Some("memory".into())).elsewhere(wire);
        let agents = Agents::new().with(Arc::clone(&agent));
        let runtime = Runtime::new(MemoryStore::new(), Arc::new(agents), options);
        // The router is nested under a path, as it may be in a real program.
        let router = Router::new().nest("/holdover", router(runtime.clone(), [Arc::clone(&agent)], callers));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { runtime, agent, model, base }
    }

    /// Returns the address of the program's agent.
    pub(crate) fn remote(&self) -> Remote {
        Remote::new(format!("{}/agents/{}/tasks", self.base, self.agent.spec().name))
    }

    /// Starts workers, which stop when the returned guard is dropped.
    pub(crate) fn works(&self) -> impl Drop + use<> {
        let stop = CancellationToken::new();
        let worker = Worker::new(self.runtime.clone(), WorkerOptions::default());
        drop(worker.spawn(stop.clone()));
        stop.drop_guard()
    }

    /// Waits until a task ends, and returns its outcome.
    pub(crate) async fn ends(&self, remote: &Remote, task: &str) -> TaskOutcome {
        until(|| async {
            match wire().look(remote, &id(task)).await.unwrap() {
                Some(TaskStanding::Ended(outcome)) => Some(outcome),
                Some(TaskStanding::Open) | None => None,
            }
        })
        .await
    }
}

/// Returns a listener, and the base URL of a router on it.
pub(crate) async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/holdover", listener.local_addr().unwrap());
    (listener, base)
}

/// A server that sends the given bytes verbatim, and then closes the connection.
#[derive(Clone)]
pub(crate) struct Parrot {
    pub(crate) origin: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Parrot {
    /// Starts a server that sends these answers in order, and repeats the last one. For `None`, it sends nothing and
    /// keeps the connection open.
    pub(crate) async fn new(answers: impl IntoIterator<Item = Option<Vec<u8>>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let parrot = Self { origin, asked: Arc::default() };
        let (asked, mut answers) = (Arc::clone(&parrot.asked), VecDeque::from_iter(answers));
        tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = request(&mut stream).await;
                asked.lock().unwrap().push(request);
                let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
                match answer.flatten() {
                    Some(answer) => {
                        // The client may have closed the connection early.
                        let _ = stream.write_all(&answer).await;
                        let _ = stream.shutdown().await;
                    }
                    None => held.push(stream),
                }
            }
        });
        parrot
    }

    pub(crate) async fn saying(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Self {
        Self::new([answer(status, headers, body)]).await
    }

    pub(crate) fn remote(&self) -> Remote {
        Remote::new(format!("{}/agents/digger/tasks", self.origin))
    }

    /// Returns all requests so far, verbatim.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Returns an answer with a `content-length` header.
pub(crate) fn answer(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
        body.len()
    );
    Some([head.as_bytes(), body].concat())
}

/// Reads a request up to its `content-length`.
async fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase().lines().find_map(|line| {
                line.strip_prefix("content-length: ").map(|length| length.parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return text;
        }
    }
}
