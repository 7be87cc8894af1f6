//! The routes. Each handler in this file makes one call of the engine.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use holdover::pending::{ClientAnswer, PendingId, PendingKind, PendingQuery};
use holdover::prelude::*;
use holdover::session::{Delivered, Fork, MessageSeq, PageRequest, Standing};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::{Body, Error, Given};
use crate::events;

/// The maximum size of a request body, in bytes.
const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The maximum number of messages in one response.
const MESSAGES_MAX: u32 = 200;

/// The state that every route needs.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) runtime: Runtime,
    pub(crate) agent: Arc<Agent>,
    pub(crate) tenant: TenantId,
    pub(crate) stop: CancellationToken,
}

impl Desk {
    pub(crate) fn key(&self, session: SessionId) -> SessionKey {
        SessionKey::new(self.tenant.clone(), session)
    }
}

pub(crate) fn routes(desk: Desk) -> Router {
    let no_path = async || Error(StatusCode::NOT_FOUND, "there is no such path".to_owned());
    let no_method = async || Error(StatusCode::METHOD_NOT_ALLOWED, "this path has no such method".to_owned());
    Router::new()
        .route("/sessions", post(start))
        .route("/sessions/{session}", get(show))
        .route("/sessions/{session}/messages", post(say).get(messages))
        .route("/sessions/{session}/events", get(events::follow))
        .route("/sessions/{session}/answers/{id}", post(answer))
        .route("/sessions/{session}/interrupt", post(interrupt))
        .route("/sessions/{session}/fork", post(fork))
        .route("/approvals", get(approvals))
        .route("/approvals/{session}/{id}", post(decide))
        .fallback(no_path)
        .method_not_allowed_fallback(no_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(desk)
}

type Answer = Result<(StatusCode, Json<Value>), Error>;
type Session = Given<Path<SessionId>>;
type Asking = Given<Path<(SessionId, PendingId)>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    message: String,
    id: Option<SessionId>,
}

/// Starts a session, at most once for its id or its `Idempotency-Key`. The worker runs it.
async fn start(State(desk): State<Desk>, headers: HeaderMap, Body(asked): Body<Start>) -> Answer {
    let request = Execute::new(desk.tenant, desk.agent, asked.message).once(idempotency_key(&headers)?);
    let request = match asked.id {
        Some(id) => request.in_session(id).first(),
        None => request,
    };
    let started = desk.runtime.start(request).await?;
    let status = if started.duplicate { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(json!({ "session": started.key.id }))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    message: String,
}

async fn say(
    State(desk): State<Desk>,
    Given(Path(session)): Session,
    headers: HeaderMap,
    Body(said): Body<Said>,
) -> Answer {
    let deliver = Deliver::message(said.message).once(idempotency_key(&headers)?);
    delivered(desk.runtime.deliver(&desk.key(session), deliver).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Since {
    #[serde(default)]
    after: MessageSeq,
}

async fn messages(
    State(desk): State<Desk>,
    Given(Path(session)): Session,
    Given(Query(since)): Given<Query<Since>>,
) -> Answer {
    let messages = desk.runtime.messages_after(&desk.key(session), since.after, MESSAGES_MAX).await?;
    Ok((StatusCode::OK, Json(json!({ "messages": messages }))))
}

async fn show(State(desk): State<Desk>, Given(Path(session)): Session) -> Result<Json<Standing>, Error> {
    Ok(Json(desk.runtime.standing(&desk.key(session)).await?))
}

/// Lists the calls of all sessions that wait for a person, soonest deadline first. `unreadable` lists those that this
/// version of the program cannot read, such as those of a newer version.
async fn approvals(State(desk): State<Desk>, Given(Query(page)): Given<Query<PageRequest>>) -> Answer {
    let kind = Some(PendingKind::Approval);
    let query = PendingQuery { kind, page, ..PendingQuery::all(desk.tenant) };
    let page = desk.runtime.list_pending(&query).await?;
    Ok((
        StatusCode::OK,
        Json(json!({ "approvals": page.items, "unreadable": page.unreadable, "next": page.next })),
    ))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decide {
    approve: bool,
    by: String,
    reason: Option<String>,
    /// The arguments to run the call with, instead of those that the model gave.
    arguments: Option<Value>,
}

/// Decides exactly the request that was shown under this id, and no later one.
async fn decide(
    State(desk): State<Desk>,
    Given(Path((session, id))): Asking,
    Body(said): Body<Decide>,
) -> Answer {
    let (key, reason) = (desk.key(session), said.reason);
    if !said.approve {
        let denial = Denial::by(said.by).reason(reason);
        return delivered(desk.runtime.deny(&key, &id, denial).await?);
    }
    let arguments = said.arguments.map(|arguments| arguments.to_string());
    let approval = Approval::by(said.by).reason(reason).arguments(arguments);
    delivered(desk.runtime.approve(&key, &id, approval).await?)
}

async fn answer(
    State(desk): State<Desk>,
    Given(Path((session, id))): Asking,
    Body(answer): Body<ClientAnswer>,
) -> Answer {
    delivered(desk.runtime.answer(&desk.key(session), &id, answer).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Interrupt {
    reason: String,
}

/// Interrupts the turn. The session stays usable.
async fn interrupt(
    State(desk): State<Desk>,
    Given(Path(session)): Session,
    Body(asked): Body<Interrupt>,
) -> Answer {
    let interrupted = desk.runtime.interrupt(&desk.key(session), asked.reason).await?.is_waiting();
    let status = if interrupted { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok((status, Json(json!({ "interrupted": interrupted }))))
}

/// Creates a new session as a copy of this one at a checkpoint.
async fn fork(State(desk): State<Desk>, Given(Path(session)): Session, Body(fork): Body<Fork>) -> Answer {
    let forked = desk.runtime.fork(&desk.key(session), fork).await?;
    let body = json!({ "session": forked.key.id, "at": forked.at, "status": forked.status });
    Ok((StatusCode::CREATED, Json(body)))
}

fn delivered(delivered: Delivered) -> Answer {
    let (status, accepted) = match delivered {
        Delivered::Accepted => (StatusCode::ACCEPTED, true),
        Delivered::Duplicate => (StatusCode::OK, false),
    };
    Ok((status, Json(json!({ "accepted": accepted }))))
}

/// Returns the customer's idempotency key, or `None` if the request has none. It cannot collide with the key of an
/// answer.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<ItemKey>, Error> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let key = std::str::from_utf8(key.as_bytes())
        .map_err(|_| Error::not_understood("Idempotency-Key: is no UTF-8"))?;
    ItemKey::new(key).map(Some).map_err(|why| Error::not_understood(format!("Idempotency-Key: {why}")))
}
