//! Answers for load balancers.

use std::sync::Arc;
use std::time::Duration;

use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use aide::transform::TransformOperation;
use axum::Json;
use axum::extract::State;
use holdover_core::ids::{SessionId, SessionKey, TenantId};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::timeout;

use super::{Answer, Here};
use crate::desk::Desk;
use crate::problem::Problem;

/// The time within which the store must answer.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route(
            "/health",
            get_with(health, |operation| described(operation, "health", "Says that this process lives.")),
        )
        .api_route(
            "/ready",
            get_with(ready, |operation| {
                described(operation, "ready", "Says that this process takes requests and reaches its store.")
            }),
        )
}

/// Describes an operation that needs no token. Only a [`Guard`](crate::Guard) refuses it.
fn described<'a>(operation: TransformOperation<'a>, id: &str, summary: &str) -> TransformOperation<'a> {
    let operation = operation.id(id).tag("operation").summary(summary);
    operation.response_with::<403, Problem, _>(|response| {
        response.description("The request names a host, or is sent by a site, that is not served here.")
    })
}

/// A process that lives.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// Always `ok`.
    status: &'static str,
    /// The version of the program.
    version: &'static str,
}

const OK: Health = Health { status: "ok", version: env!("CARGO_PKG_VERSION") };

async fn health() -> Json<Health> {
    Json(OK)
}

async fn ready(State(desk): Here) -> Answer<Json<Health>> {
    if desk.leaves.is_cancelled() || desk.stop.is_cancelled() {
        return Err(Problem::unavailable("this process is told to stop"));
    }
    let key = || {
        let (tenant, session) = (TenantId::new("ready").ok()?, SessionId::new("ready").ok()?);
        Some(SessionKey::new(tenant, session))
    };
    let Some(key) = key() else { return Ok(Json(OK)) };
    match timeout(PATIENCE, desk.runtime.session(&key)).await {
        Ok(Ok(_)) => Ok(Json(OK)),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Problem::unavailable("the store does not answer")),
    }
}
