//! The router.

use std::sync::Arc;

use aide::axum::ApiRouter;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use holdover_runtime_local::Runtime;

use crate::desk::Desk;
use crate::openapi::described;
use crate::options::FrontOptions;
use crate::problem::Problem;
use crate::{agui, api, chat};

/// Returns the router of the front. It runs no sessions; workers do.
///
/// The router can be nested under a path without parameters, and merged with routers that have no fallback. It checks
/// [who sends a request](crate::Access), and leaves TLS, rates, time limits and the number of connections to the server
/// that serves it.
///
/// ```
/// use holdover_core::ids::TenantId;
/// use holdover_front::{Access, Caller, FrontOptions, router};
/// # use holdover_runtime_local::{Agents, Runtime};
///
/// # fn serve(runtime: Runtime, agents: Agents) -> Result<axum::Router, Box<dyn std::error::Error>> {
/// let me = Caller::of(TenantId::new("acme")?).named("ann");
/// let front = router(runtime, FrontOptions::new(Access::Anyone(me)).agents(agents));
/// Ok(axum::Router::new().nest("/agents", front))
/// # }
/// ```
pub fn router(runtime: Runtime, options: FrontOptions) -> Router {
    let bytes = options.body_bytes_max;
    let desk = Arc::new(Desk::new(runtime, options));
    let (api, document) = described(routes());
    let document = Bytes::from(document.to_string());
    let json = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let document = get(async move || ([json], document));
    let routes = Router::new()
        .merge(api.with_state(Arc::clone(&desk)))
        .route("/openapi.json", document)
        .fallback(no_path)
        .method_not_allowed_fallback(no_method)
        .layer(DefaultBodyLimit::max(bytes))
        .layer(from_fn(to_its_end));
    // A tool runs to its end by itself, and learns if the client goes away.
    #[cfg(feature = "mcp")]
    let routes = routes.merge(crate::mcp::routes().with_state(desk));
    routes
}

/// Returns all routes that the description names.
pub(crate) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new().nest("/v1", api::routes()).nest("/api", chat::routes().merge(agui::routes()))
}

/// Carries out a request that changes something to its end, also if the client goes away meanwhile: a session that was claimed
/// for it is given back, and a session that was begun is started.
async fn to_its_end(request: Request, next: Next) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    match tokio::spawn(next.run(request)).await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(%error, "a request failed");
            Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "panicked",
                "a fault of this program; its log says more",
            )
            .into_response()
        }
    }
}

async fn no_path() -> impl IntoResponse {
    Problem::not_found("no_path", "there is no such path")
}

async fn no_method() -> impl IntoResponse {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no_method", "this path has no such method")
}
