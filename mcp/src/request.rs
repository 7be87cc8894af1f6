//! One request for a tool call: the server's progress is shown, and the server is told if the call should stop.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use holdover_core::tool::{CallHandle, Progress};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, CallToolResult, ClientConfig, ClientRequest,
    ProgressNotificationParam, ProgressToken, ServerResult,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestHandle, ServiceError};
use rmcp::{ClientHandler, Peer, RoleClient};
use serde_json::Value;
use tokio::time::timeout;

/// The reason that a server gets for a call whose future was dropped.
const DROPPED: &str = "nobody waits for it any more";

/// The client as a server sees it. It passes progress on to the call that it belongs to.
#[derive(Clone)]
pub(crate) struct Client {
    config: ClientConfig,
    calls: Calls,
}

/// The running calls, by the token that the server names with their progress.
type Calls = Arc<Mutex<HashMap<ProgressToken, CallHandle>>>;

impl Client {
    pub(crate) fn new(config: ClientConfig) -> Self {
        Self { config, calls: Calls::default() }
    }

    /// Sends a request for a tool call, and waits for the response. If the call should stop and the server does not respond
    /// within half of the grace, or if this future is dropped, the server is told that the request is cancelled. Returns
    /// `None` if it was cancelled; the server may have acted.
    ///
    /// # Errors
    /// Those of the connection, and an error with which the server answers.
    pub(crate) async fn call(
        &self,
        peer: &Peer<RoleClient>,
        params: CallToolRequestParams,
        call: &CallHandle,
    ) -> Result<Option<CallToolResponse>, ServiceError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        let mut out = Out::new(&self.calls, sent, call);
        let stop = tokio::select! {
            biased;
            result = out.answered() => return response(result?).map(Some),
            stop = call.stopped() => stop,
        };
        match timeout(stop.grace / 2, out.answered()).await {
            Ok(result) => response(result?).map(Some),
            Err(_) => {
                out.cancel(stop.reason.as_str());
                Ok(None)
            }
        }
    }
}

/// Returns the response to a tool call, whatever its kind. A server may leave out an empty content.
#[allow(clippy::wildcard_enum_match_arm, reason = "other results answer other requests")]
fn response(result: ServerResult) -> Result<CallToolResponse, ServiceError> {
    match result {
        ServerResult::CallToolResult(result) => Ok(CallToolResponse::Complete(result)),
        ServerResult::InputRequiredResult(result) => Ok(CallToolResponse::InputRequired(result)),
        ServerResult::CreateTaskResult(result) => Ok(CallToolResponse::Task(result)),
        ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => Ok(without_content()),
        ServerResult::CustomResult(result) if has_only_meta(&result.0) => Ok(without_content()),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

fn without_content() -> CallToolResponse {
    CallToolResponse::Complete(CallToolResult::success(Vec::new()))
}

fn has_only_meta(result: &Value) -> bool {
    result.as_object().is_some_and(|fields| fields.keys().all(|name| name == "_meta"))
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = calls.get(&told.progress_token) {
            let progress = Progress::text(told.message.unwrap_or_default());
            call.report(progress.of(whole(told.progress), told.total.map(whole)));
        }
    }
}

/// Returns the number without its fraction. A negative number counts as zero.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn whole(number: f64) -> u64 {
    number as u64
}

/// A request that was sent. Dropping it before it is answered cancels it.
struct Out<'a> {
    calls: &'a Calls,
    token: ProgressToken,
    sent: Option<RequestHandle<RoleClient>>,
}

impl<'a> Out<'a> {
    fn new(calls: &'a Calls, sent: RequestHandle<RoleClient>, call: &CallHandle) -> Self {
        let token = sent.progress_token.clone();
        calls.lock().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), call.clone());
        Self { calls, token, sent: Some(sent) }
    }

    async fn answered(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(sent) = &mut self.sent else { return Err(ServiceError::TransportClosed) };
        let result = (&mut sent.rx).await;
        self.sent = None;
        result.map_err(|_| ServiceError::TransportClosed)?
    }

    /// Tells the server that nobody waits for the response, in a task of its own.
    fn cancel(&mut self, reason: &str) {
        if let Some(sent) = self.sent.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let reason = Some(reason.to_owned());
            // The connection may be gone, and the server with it.
            runtime.spawn(async move { drop(sent.cancel(reason).await) });
        }
    }
}

impl Drop for Out<'_> {
    fn drop(&mut self) {
        self.cancel(DROPPED);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.token);
    }
}
