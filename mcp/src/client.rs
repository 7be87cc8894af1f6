//! The client of one server. It connects when needed, and reconnects after the connection is lost.

use std::sync::Arc;

use holdover_core::tool::{Bound, EffectClass, RunsOn, Tool, ToolCall, ToolError, ToolReturn, ToolSpec};
use rmcp::model::{CallToolRequestParams, RequestMetaObject, Tool as ServerTool, ToolAnnotations};
use rmcp::service::ServiceError;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::connection::{Connection, McpError, one_line};
use crate::failure;
use crate::results;
use crate::server::{InvalidServer, McpServer};
use crate::tool::McpTool;

/// The field of a request's `_meta` that holds the idempotency key of the call.
pub const IDEMPOTENCY_KEY: &str = "holdover/idempotencyKey";

/// A client of one server. It can serve any number of tools and calls at once. Once opened, the connection stays open,
/// and the server's program runs, until the client is dropped or the server ends the connection.
pub struct McpClient {
    server: McpServer,
    open: Mutex<Option<Arc<Connection>>>,
}

impl McpClient {
    /// Creates a client of `server`. Nothing is started or connected yet.
    ///
    /// # Errors
    /// The errors of [`McpServer::check`].
    pub fn new(server: McpServer) -> Result<Self, InvalidServer> {
        server.check()?;
        Ok(Self { server, open: Mutex::new(None) })
    }

    /// Returns the description of the server.
    pub fn server(&self) -> &McpServer {
        &self.server
    }

    /// Returns the tools of the server. If no connection is open, connects to the server and lists its tools, within 30
    /// seconds. If a connection is open, returns the list that was read when it was opened.
    ///
    /// # Errors
    /// The server cannot be started or reached, does not answer in time or not as an MCP server does, or lacks a tool
    /// that [`McpServer::tools`] names; or the variable that [`McpServer::bearer_env`] names is not set. The call also
    /// fails if the server has tools that an agent cannot have: more than 512, a name that is too long, or two tools
    /// that would have the same name.
    pub async fn discover(&self) -> Result<Vec<ToolSpec>, McpError> {
        let connection = self.connection().await?;
        Ok(connection.tools().iter().map(|(name, tool)| self.spec(name.clone(), tool)).collect())
    }

    /// Returns the tool of a spec that [`discover`](Self::discover) returned, in this process or in another.
    pub fn tool(self: &Arc<Self>, spec: ToolSpec) -> Arc<dyn Tool> {
        Arc::new(McpTool::new(Arc::clone(self), spec))
    }

    async fn connection(&self) -> Result<Arc<Connection>, McpError> {
        let mut open = self.open.lock().await;
        if let Some(connection) = open.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(Arc::clone(connection));
        }
        let connection = Arc::new(Connection::open(&self.server).await?);
        *open = Some(Arc::clone(&connection));
        Ok(connection)
    }

    fn spec(&self, name: holdover_core::ids::ToolName, tool: &ServerTool) -> ToolSpec {
        let promised = tool.annotations.as_ref().filter(|_| self.server.trusted);
        let (effect, dangerous) = promised.map_or((EffectClass::AtMostOnce, true), believed);
        ToolSpec {
            name,
            description: tool.description.as_deref().unwrap_or_default().to_owned(),
            parameters: Value::Object(tool.input_schema.as_ref().clone()),
            effect,
            dangerous,
            runs_on: RunsOn::Server,
            timeout_ms: self.server.timeout_seconds.map(|bound| match bound {
                Bound::At(seconds) => Bound::At(seconds.saturating_mul(1_000)),
                Bound::Never => Bound::Never,
            }),
        }
    }

    /// Performs a call of the tool with this spec.
    pub(crate) async fn call(&self, spec: &ToolSpec, call: ToolCall) -> Result<ToolReturn, ToolError> {
        let connection = self.connection().await.map_err(|error| ToolError::NotRun(error.to_string()))?;
        let Some(tool) = connection.tools().get(&spec.name) else {
            let why = McpError::new(&self.server, format!("it has no tool {} any more", spec.name));
            return Err(ToolError::NotRun(why.to_string()));
        };
        let mut meta = RequestMetaObject::new();
        meta.insert(IDEMPOTENCY_KEY.to_owned(), Value::String(call.idempotency_key));
        let mut request = CallToolRequestParams::new(tool.name.clone());
        request.meta = Some(meta);
        request.arguments = call.arguments.as_object().cloned();
        if call.handle.stop_request().is_some() {
            return Err(ToolError::NotRun("it was stopped before it was sent".to_owned()));
        }
        let lost = |why: &str| {
            let lost = format!("{}: its tool {} was called: {why}", failure::place(&self.server), tool.name);
            Err(ToolError::Lost(McpError::new(&self.server, lost).to_string()))
        };
        match connection.call(request, &call.handle).await {
            Ok(Some(response)) => results::read(response),
            Ok(None) => lost("it was stopped"),
            // The server answered with an error: the model is told.
            Err(ServiceError::McpError(error)) => Err(ToolError::Failed(one_line(&error.message))),
            // After any other error, the request may have arrived.
            Err(error) => lost(&failure::of_request(&self.server, &error)),
        }
    }
}

impl std::fmt::Debug for McpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpClient").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Returns the effect class according to the hints of a trusted server, and true if the tool is dangerous. By the
/// protocol's defaults, a tool is destructive.
fn believed(hints: &ToolAnnotations) -> (EffectClass, bool) {
    if hints.read_only_hint == Some(true) {
        return (EffectClass::ReadOnly, false);
    }
    let effect = match hints.idempotent_hint {
        Some(true) => EffectClass::Idempotent,
        Some(false) | None => EffectClass::AtMostOnce,
    };
    (effect, hints.destructive_hint != Some(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_give_a_class_and_silence_gives_the_strictest() {
        let hints = |read_only, destructive, idempotent| {
            believed(&ToolAnnotations::from_raw(None, read_only, destructive, idempotent, None))
        };
        assert_eq!(hints(Some(true), None, None), (EffectClass::ReadOnly, false));
        assert_eq!(hints(None, Some(false), Some(true)), (EffectClass::Idempotent, false));
        assert_eq!(hints(Some(false), None, Some(true)), (EffectClass::Idempotent, true));
        assert_eq!(hints(None, Some(false), None), (EffectClass::AtMostOnce, false));
        assert_eq!(hints(None, None, None), (EffectClass::AtMostOnce, true));
    }
}
