//! A connection to a server, and the tools that the server has.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdover_core::ids::ToolName;
use holdover_core::tool::CallHandle;
use process_wrap::tokio::{CommandWrap, KillOnDrop, ProcessGroup};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation,
    Tool as ServerTool,
};
use rmcp::service::{RunningService, ServiceError};
use rmcp::transport::TokioChildProcess;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::{RoleClient, ServiceExt};
use rustls::crypto::CryptoProvider;
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, Command};
use tokio::task::JoinHandle;

use crate::failure;
use crate::request::Client;
use crate::server::McpServer;
use crate::told::told;

/// The time limit for starting a server and listing its tools.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// The maximum number of tools of one server.
const TOOLS_MAX: usize = 512;

/// The maximum number of bytes of a program's standard error that are kept for an error message.
const STDERR_BYTES_MAX: usize = 2_048;

/// The maximum wait until a failed server program closes its standard error. After that, the error shows the output
/// read so far.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The environment variables that every server program gets.
const ENVIRONMENT: [&str; 5] = ["PATH", "HOME", "LANG", "USER", "TMPDIR"];

/// The error for a server that cannot be started or reached, or whose tools cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("mcp server {server:?}: {detail}")]
#[non_exhaustive]
pub struct McpError {
    /// The name of the server.
    pub server: String,
    /// The reason, in one line.
    pub detail: String,
}

impl McpError {
    pub(crate) fn new(server: &McpServer, detail: impl std::fmt::Display) -> Self {
        Self { server: server.name.clone(), detail: one_line(&detail.to_string()) }
    }
}

/// Returns `text` as one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An open connection to a server.
pub(crate) struct Connection {
    service: RunningService<RoleClient, Client>,
    tools: BTreeMap<ToolName, ServerTool>,
}

impl Connection {
    /// Starts the server or connects to it, and lists its tools.
    pub(crate) async fn open(server: &McpServer) -> Result<Self, McpError> {
        let mut said = Said::default();
        let opened = tokio::time::timeout(CONNECT_LIMIT, Self::opened(server, &mut said)).await;
        let why = match opened {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(why)) => why,
            Err(_) => {
                format!("{}: no answer within {} s", failure::place(server), CONNECT_LIMIT.as_secs())
            }
        };
        let said = said.all().await;
        Err(McpError::new(server, if said.is_empty() { why } else { format!("{why}; it said: {said}") }))
    }

    /// Opens the connection without a time limit. The error is the reason, without the program's output.
    async fn opened(server: &McpServer, said: &mut Said) -> Result<Self, String> {
        let refuse = |why: String| format!("{}: {why}", failure::place(server));
        let client = Client::new(ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("holdover", env!("CARGO_PKG_VERSION")),
        ));
        let begun = match &server.url {
            Some(url) => client.serve(http(server, url)?).await,
            None => {
                let (process, stderr) = TokioChildProcess::builder(program(server))
                    .stderr(Stdio::piped())
                    .spawn()
                    .map_err(|error| refuse(format!("could not be started: {}", failure::of_io(&error))))?;
                if let Some(stderr) = stderr {
                    said.reader = Some(tokio::spawn(keep_end(stderr, Arc::clone(&said.text))));
                }
                client.serve(process).await
            }
        };
        let service = begun.map_err(|error| refuse(failure::of_beginning(server, &error)))?;
        let listed = service.peer().list_all_tools().await.map_err(|error| {
            refuse(format!("asked what tools it has: {}", failure::of_request(server, &error)))
        })?;
        let tools = named(server, listed)?;
        Ok(Self { service, tools })
    }

    /// Returns the server's tools, by the names that models use.
    pub(crate) fn tools(&self) -> &BTreeMap<ToolName, ServerTool> {
        &self.tools
    }

    /// Performs a tool call, as [`Client::call`] says.
    pub(crate) async fn call(
        &self,
        params: CallToolRequestParams,
        call: &CallHandle,
    ) -> Result<Option<CallToolResponse>, ServiceError> {
        self.service.service().call(self.service.peer(), params, call).await
    }

    /// Returns true if the connection accepts no more requests.
    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }
}

/// Returns the tools that the agent may use, by the names that models use.
fn named(server: &McpServer, listed: Vec<ServerTool>) -> Result<BTreeMap<ToolName, ServerTool>, String> {
    if listed.len() > TOOLS_MAX {
        return Err(format!("it has {} tools, more than {TOOLS_MAX}", listed.len()));
    }
    let mut wanted = server.tools.iter().flatten();
    if let Some(missing) = wanted.find(|name| listed.iter().all(|tool| tool.name != name.as_str())) {
        return Err(format!("tools: it has no tool {missing:?}"));
    }
    let is_wanted = |tool: &ServerTool| {
        server.tools.as_ref().is_none_or(|wanted| wanted.iter().any(|name| tool.name == name.as_str()))
    };
    let mut tools = BTreeMap::new();
    for tool in listed.into_iter().filter(is_wanted) {
        let own = tool.name.clone();
        let name = told(&server.name, &own).map_err(|why| format!("tool {own:?}: {why}"))?;
        if let Some(other) = tools.insert(name.clone(), tool) {
            return Err(format!("tools {:?} and {own:?} would both be called {name}", other.name));
        }
    }
    Ok(tools)
}

fn program(server: &McpServer) -> CommandWrap {
    let mut words = server.command.iter();
    let mut command = Command::new(words.next().map(String::as_str).unwrap_or_default());
    let seen = ENVIRONMENT.into_iter().chain(server.pass_environment.iter().map(String::as_str));
    command.args(words).env_clear().envs(seen.filter_map(|name| Some((name, std::env::var_os(name)?))));
    let mut wrapped = CommandWrap::from(command);
    wrapped.wrap(ProcessGroup::leader()).wrap(KillOnDrop);
    wrapped
}

/// Chooses the TLS cryptography for this process, unless it was chosen already. The HTTP client has no default.
fn choose_cryptography() {
    if CryptoProvider::get_default().is_none() {
        // Another thread may choose at the same time; either choice works.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

fn http(server: &McpServer, url: &str) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    if let Some(variable) = &server.bearer_env {
        let token = std::env::var(variable)
            .map_err(|_| format!("bearer_env: the environment variable {variable} is not set"))?;
        config = config.auth_header(token);
    }
    choose_cryptography();
    Ok(StreamableHttpClientTransport::from_config(config))
}

/// The end of a program's output on its standard error.
#[derive(Default)]
struct Said {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Said {
    /// Returns the text as one line. Waits at most [`LAST_WORDS`] for the program to close its standard error.
    async fn all(self) -> String {
        if let Some(reader) = self.reader {
            let _ = tokio::time::timeout(LAST_WORDS, reader).await;
        }
        one_line(&self.text.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reads a program's standard error, so that the program never blocks, and keeps the end of it.
async fn keep_end(mut stderr: ChildStderr, said: Arc<Mutex<String>>) {
    let mut bytes = [0; 1_024];
    while let Ok(read @ 1..) = stderr.read(&mut bytes).await {
        let text = String::from_utf8_lossy(&bytes[..read]);
        log::debug!("mcp server says: {}", text.trim_end());
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.push_str(&text);
        let surplus = said.len().saturating_sub(STDERR_BYTES_MAX);
        let cut = (surplus..=said.len()).find(|at| said.is_char_boundary(*at)).unwrap_or_default();
        said.drain(..cut);
    }
}
