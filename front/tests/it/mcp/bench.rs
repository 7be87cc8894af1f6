//! A client of the protocol, and the person at it.

use std::sync::{Arc, Mutex};

use holdover_front::{Caller, FrontOptions, serve_mcp};
use holdover_runtime_local::Agents;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig,
    ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData, Implementation,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, Tool,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext,
    RunningService,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::bench::{ANN, PATIENCE, Server, callers, clerk, tenant};

/// The transport, and the generation of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    HttpOld,
    HttpNew,
    StreamsOld,
    StreamsNew,
}

impl Way {
    pub(super) const ALL: [Self; 4] = [Self::HttpOld, Self::HttpNew, Self::StreamsOld, Self::StreamsNew];

    fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            Self::HttpOld | Self::StreamsOld => ClientLifecycleMode::Initialize,
            Self::HttpNew | Self::StreamsNew => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
            }
        }
    }
}

/// The person at a client, who may be able to fill in forms.
#[derive(Clone, Default)]
pub(super) struct Person {
    says: Option<ElicitResult>,
    asked: Arc<Mutex<Vec<String>>>,
    notes: Arc<Mutex<Vec<String>>>,
}

impl Person {
    pub(super) fn without_forms() -> Self {
        Self::default()
    }

    pub(super) fn who_says(content: Value) -> Self {
        let says = ElicitResult::new(ElicitationAction::Accept).with_content(content);
        Self { says: Some(says), ..Self::default() }
    }

    pub(super) fn who_declines() -> Self {
        Self { says: Some(ElicitResult::new(ElicitationAction::Decline)), ..Self::default() }
    }

    /// Returns the questions so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns the notes of progress so far.
    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let can = match self.says {
            Some(_) => ClientCapabilities::builder().enable_elicitation().build(),
            None => ClientCapabilities::default(),
        };
        ClientConfig::new(can, Implementation::new("test", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else {
            panic!("{request:?}");
        };
        self.asked.lock().unwrap().push(message);
        Ok(self.says.clone().unwrap())
    }

    async fn on_progress(&self, note: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.notes.lock().unwrap().extend(note.message);
    }
}

async fn over_http(
    uri: String,
    token: &str,
    person: Person,
    way: Way,
) -> Result<RunningService<RoleClient, Person>, ClientInitializeError> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(uri);
    config.auth_header = Some(token.to_owned());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let transport = StreamableHttpClientTransport::with_client(client, config);
    person.serve_with_lifecycle(transport, way.lifecycle()).await
}

/// A client that is connected.
pub(super) struct Client {
    pub(super) service: RunningService<RoleClient, Person>,
}

impl Client {
    pub(super) async fn connect(server: &Server, token: &str, person: Person, way: Way) -> Self {
        let service = match way {
            Way::HttpOld | Way::HttpNew => {
                over_http(format!("{}/mcp", server.base), token, person, way).await
            }
            Way::StreamsOld | Way::StreamsNew => {
                assert_eq!(token, ANN);
                let (here, there) = tokio::io::duplex(1 << 16);
                let (reader, writer) = tokio::io::split(there);
                let caller = Caller::of(tenant("acme")).named("ann");
                let options = FrontOptions::new(callers()).agents(Agents::new().with(clerk()));
                let runtime = server.runtime.clone();
                tokio::spawn(serve_mcp(runtime, options.stop(server.stop.clone()), caller, reader, writer));
                person.serve_with_lifecycle(here, way.lifecycle()).await
            }
        };
        Self { service: service.unwrap() }
    }

    pub(super) async fn tools(&self) -> Vec<Tool> {
        self.service.list_all_tools().await.unwrap()
    }

    async fn called(&self, tool: &str, arguments: Value) -> CallToolResult {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        timeout(PATIENCE, self.service.call_tool(call)).await.unwrap().unwrap()
    }

    /// Connects and calls a tool, again and again while too many streams are open.
    pub(super) async fn insist(
        uri: String,
        token: String,
        way: Way,
        tool: &'static str,
        arguments: Value,
    ) -> CallToolResult {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let call = CallToolRequestParams::new(tool).with_arguments(arguments);
        loop {
            if let Ok(service) = over_http(uri.clone(), &token, Person::without_forms(), way).await
                && let Ok(result) = service.call_tool(call.clone()).await
            {
                return result;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Calls a tool that asks a question. Returns the state that the client is to send back, and the questions.
    pub(super) async fn question(&self, tool: &'static str, arguments: Value) -> (String, Value) {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let call = CallToolRequestParams::new(tool).with_arguments(arguments);
        let answer = timeout(PATIENCE, self.service.call_tool_once(call)).await.unwrap().unwrap();
        let CallToolResponse::InputRequired(asks) = answer else { panic!("{answer:?}") };
        (asks.request_state.unwrap(), serde_json::to_value(asks.input_requests).unwrap())
    }

    /// Repeats a call with the answers to its questions.
    pub(super) async fn repeat(
        &self,
        tool: &'static str,
        arguments: Value,
        state: &str,
        answers: Value,
    ) -> CallToolResult {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let mut call = CallToolRequestParams::new(tool).with_arguments(arguments);
        call.request_state = Some(state.to_owned());
        call.input_responses = Some(serde_json::from_value(answers).unwrap());
        let answer = timeout(PATIENCE, self.service.call_tool_once(call)).await.unwrap().unwrap();
        let CallToolResponse::Complete(result) = answer else { panic!("{answer:?}") };
        result
    }

    /// Calls a tool, and returns its content.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.called(tool, arguments).await;
        assert_ne!(result.is_error, Some(true), "{tool}: {result:?}");
        result.structured_content.unwrap()
    }

    /// Calls a tool that refuses, and returns the line that says why.
    pub(super) async fn refused(&self, tool: &str, arguments: Value) -> String {
        let result = self.called(tool, arguments).await;
        assert_eq!(result.is_error, Some(true), "{tool}: {result:?}");
        result.content[0].as_text().unwrap().text.clone()
    }

    /// Reads a resource.
    pub(super) async fn resource(&self, uri: &str) -> Value {
        let read = self.service.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
        let read = serde_json::to_value(read).unwrap();
        serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap()
    }
}

/// Returns the first request of a client.
pub(super) fn hello() -> Value {
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}
