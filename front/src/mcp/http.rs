//! MCP over HTTP: the streamable transport, without sessions of its own.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_LENGTH;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures::StreamExt;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::time::timeout;

use super::host::Host;
use crate::access::Held;
use crate::body::BODY_TIME;
use crate::desk::Desk;
use crate::problem::Problem;

/// The interval of the comments that keep an idle answer open.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Returns the route `/mcp`. Each request is answered by itself, so that any process may answer the next one.
pub(crate) fn routes() -> Router<Arc<Desk>> {
    Router::new().route("/mcp", any(answer))
}

async fn answer(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    match answered(desk, request).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn answered(desk: Arc<Desk>, request: Request) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let caller = desk.access.caller(&parts).await?;
    // An answer may be a stream, so each request counts as one until its answer is over.
    let seat = Arc::new(desk.streams.open(&caller)?);
    let most = desk.body_bytes_max;
    let too_large = |_| {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", format!("the body has over {most} bytes"))
    };
    let late = |_| Problem::too_slow(BODY_TIME);
    let bytes = timeout(BODY_TIME, to_bytes(body, most)).await.map_err(late)?.map_err(too_large)?;
    parts.headers.remove(CONTENT_LENGTH);
    // `Guard` checks hosts and origins, as on every other route.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(most)
        .with_sse_retry(None)
        .with_sse_keep_alive(Some(HEARTBEAT));
    let host = Host::new(desk, caller, Held::of(&parts.headers), Some(Arc::clone(&seat)));
    let service = StreamableHttpService::new(
        move || Ok(host.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let response = service.handle(Request::from_parts(parts, Body::from(bytes))).await;
    let (parts, body) = response.into_parts();
    // The seat is free once the answer is over or the connection is closed, and the tool has ended.
    let body = Body::new(body).into_data_stream().map(move |chunk| {
        let _ = &seat;
        chunk
    });
    Ok(Response::from_parts(parts, Body::from_stream(body)))
}
