//! The routes that accept, look up and stop tasks.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use holdover_core::ids::SessionId;
use holdover_core::remote::{RemoteTask, TaskStanding};

use crate::body::Body;
use crate::callers::Caller;
use crate::problem::Problem;
use crate::router::Desk;
use crate::words::{IDEMPOTENCY_KEY, fitting};

/// The maximum length of an address for outcomes, in bytes.
const REPLY_TO_BYTES_MAX: usize = 8 * 1024;

type Named<T> = Result<Path<T>, PathRejection>;

/// Handles `POST /agents/{agent}/tasks`.
pub(crate) async fn take(
    State(desk): State<Arc<Desk>>,
    Caller(tenant): Caller,
    agent: Named<String>,
    headers: HeaderMap,
    Body(task): Body<RemoteTask>,
) -> Result<Response, Problem> {
    let agent = desk.agent(&named(agent)?)?;
    check(&task, &headers)?;
    Ok(answer(desk.runtime.take_task(&tenant, agent, task).await?))
}

/// Handles `GET /agents/{agent}/tasks/{id}`.
pub(crate) async fn look(
    State(desk): State<Arc<Desk>>,
    Caller(tenant): Caller,
    path: Named<(String, String)>,
) -> Result<Response, Problem> {
    let (agent, id) = named(path)?;
    let standing = desk.runtime.task(&tenant, desk.agent(&agent)?, &task_id(id)?).await?;
    standing.map(answer).ok_or_else(|| Problem::new(StatusCode::GONE, "there is no such task"))
}

/// Handles `DELETE /agents/{agent}/tasks/{id}`.
pub(crate) async fn stop(
    State(desk): State<Arc<Desk>>,
    Caller(tenant): Caller,
    path: Named<(String, String)>,
) -> Result<StatusCode, Problem> {
    let (agent, id) = named(path)?;
    desk.runtime.stop_task(&tenant, desk.agent(&agent)?, &task_id(id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn named<T>(path: Named<T>) -> Result<T, Problem> {
    let refused = |error: PathRejection| Problem::new(StatusCode::BAD_REQUEST, error.body_text());
    path.map(|Path(named)| named).map_err(refused)
}

fn task_id(id: String) -> Result<SessionId, Problem> {
    SessionId::try_from(id).map_err(|error| Problem::invalid(format!("id: {error}")))
}

fn check(task: &RemoteTask, headers: &HeaderMap) -> Result<(), Problem> {
    if task.task.trim().is_empty() {
        return Err(Problem::invalid("task: it is empty"));
    }
    let key = headers.get(IDEMPOTENCY_KEY);
    if key.is_some_and(|key| key.as_bytes() != task.id.as_str().as_bytes()) {
        return Err(Problem::invalid("the idempotency key is not the id of the task"));
    }
    match &task.reply_to {
        Some(url) if url.len() > REPLY_TO_BYTES_MAX => {
            let why =
                format!("reply_to: it has {} bytes, at most {REPLY_TO_BYTES_MAX} are allowed", url.len());
            Err(Problem::invalid(why))
        }
        Some(url) if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) => {
            Err(Problem::invalid("reply_to: it does not begin with http:// or https://"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns a standing as an answer, with its text cut to the size that is sent. Standings change, so proxies must not
/// cache them.
fn answer(standing: TaskStanding) -> Response {
    let standing = match standing {
        TaskStanding::Open => TaskStanding::Open,
        TaskStanding::Ended(outcome) => TaskStanding::Ended(fitting(&outcome)),
    };
    ([(CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(standing)).into_response()
}
