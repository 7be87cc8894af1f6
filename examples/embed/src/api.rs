//! The routes: each is one word to the engine.

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use holdover::{
    Agent, CancellationToken, CheckpointId, ClientAnswer, Decision, Deliver, Delivery, Digest, Execute, Fork,
    InterruptOutcome, InvalidId, ItemKey, Message, PageCursor, PageRequest, PendingCall, PendingEntry,
    PendingKind, PendingQuery, Runtime, RuntimeError, SessionId, SessionKey, TenantId,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::{Body, Error, Path, Query};
use crate::events;

/// No request body is larger.
const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;

/// What every route needs.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) runtime: Runtime,
    pub(crate) agent: Arc<Agent>,
    pub(crate) tenant: TenantId,
    pub(crate) stop: CancellationToken,
}

pub(crate) fn routes(desk: Desk) -> Router {
    Router::new()
        .route("/sessions", post(start))
        .route("/sessions/{session}", get(show))
        .route("/sessions/{session}/messages", post(say).get(messages))
        .route("/sessions/{session}/events", get(events::follow))
        .route("/sessions/{session}/answers/{call}", post(answer))
        .route("/sessions/{session}/interrupt", post(interrupt))
        .route("/sessions/{session}/fork", post(fork))
        .route("/approvals", get(approvals))
        .route("/approvals/{session}/{call}", post(decide))
        .fallback(async || Error::NotFound("there is no such path".to_owned()))
        .method_not_allowed_fallback(async || {
            Error::Request(StatusCode::METHOD_NOT_ALLOWED, "this path has no such method".to_owned())
        })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(desk)
}

type Answer = Result<(StatusCode, Json<Value>), Error>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    message: String,
    id: Option<SessionId>,
}

/// Starts a session, at most once under its id or its `Idempotency-Key`. The worker runs it.
async fn start(State(desk): State<Desk>, headers: HeaderMap, Body(asked): Body<Start>) -> Answer {
    let request = Execute::new(desk.tenant, desk.agent, asked.message);
    let request = match (asked.id, idempotency_key(&headers)?) {
        // The id says which session it is, so its first message has one key, whoever sends it.
        (Some(id), _) => request.in_session(id).once(ItemKey::new("first message")?),
        (None, Some(key)) => request.once(key),
        (None, None) => request,
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
    Path(session): Path<SessionId>,
    headers: HeaderMap,
    Body(said): Body<Said>,
) -> Answer {
    let deliver = Deliver::message(said.message);
    let deliver = match idempotency_key(&headers)? {
        Some(key) => deliver.once(key),
        None => deliver,
    };
    desk.deliver(&desk.key(session), deliver).await
}

async fn messages(State(desk): State<Desk>, Path(session): Path<SessionId>) -> Answer {
    let messages = desk.runtime.messages(&desk.key(session)).await?;
    let shown =
        messages.iter().map(|entry| json!({ "seq": entry.seq, "at": entry.at, "message": entry.message }));
    Ok((StatusCode::OK, Json(json!({ "messages": shown.collect::<Vec<_>>() }))))
}

async fn show(State(desk): State<Desk>, Path(session): Path<SessionId>) -> Answer {
    let key = desk.key(session);
    let session = desk.runtime.session(&key).await?.ok_or(RuntimeError::NotFound { key: key.clone() })?;
    let outcome = desk.runtime.outcome(&session)?;
    let query = PendingQuery { session: Some(key.id.clone()), ..PendingQuery::all(key.tenant) };
    let pending = desk.runtime.list_pending(&query).await?;
    let shown = json!({
        "session": key.id,
        "status": session.status,
        "unread": session.unread,
        "outcome": outcome.map(|outcome| json!({ "kind": outcome.kind(), "detail": outcome })),
        "pending": pending.items.iter().map(asked).collect::<Vec<_>>(),
    });
    Ok((StatusCode::OK, Json(shown)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    after: Option<String>,
    limit: Option<NonZeroU32>,
}

/// The calls that wait for a person, of all sessions, soonest deadline first.
async fn approvals(State(desk): State<Desk>, Query(list): Query<List>) -> Answer {
    let after = list.after.map(|after| after.parse::<PageCursor>()).transpose();
    let after = after.map_err(|error| Error::Request(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
    let query = PendingQuery {
        kind: Some(PendingKind::Approval),
        page: PageRequest { after, limit: list.limit },
        ..PendingQuery::all(desk.tenant)
    };
    let page = desk.runtime.list_pending(&query).await?;
    let approvals: Vec<Value> = page.items.iter().map(asked).collect();
    let next = page.next.map(|next| next.to_string());
    Ok((StatusCode::OK, Json(json!({ "approvals": approvals, "next": next }))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decide {
    approve: bool,
    by: String,
    reason: Option<String>,
    /// What the call runs with instead.
    arguments: Option<Value>,
    /// The digest that was shown: the decision is refused if other arguments stand there now.
    saw: Option<Digest>,
}

async fn decide(
    State(desk): State<Desk>,
    Path((session, call)): Path<(SessionId, String)>,
    Body(said): Body<Decide>,
) -> Answer {
    let key = desk.key(session);
    let PendingEntry { call: pending, body } = desk.open(&key, &call, PendingKind::Approval).await?;
    let shown = body.digest;
    if said.saw.is_some_and(|saw| saw != shown) {
        let line = format!("session {key}: call {call}: its arguments have digest {shown}");
        return Err(Error::Conflict(line));
    }
    let decision = Decision {
        approve: said.approve,
        saw: shown,
        arguments: said.arguments.map(|arguments| arguments.to_string()),
        always: false,
        reason: said.reason,
        by: Some(said.by),
    };
    desk.deliver(&key, Deliver::decision(&pending, decision).once(one_answer(&pending)?)).await
}

async fn answer(
    State(desk): State<Desk>,
    Path((session, call)): Path<(SessionId, String)>,
    Body(answer): Body<ClientAnswer>,
) -> Answer {
    let key = desk.key(session);
    let pending = desk.open(&key, &call, PendingKind::ClientTool).await?.call;
    desk.deliver(&key, Deliver::client_answer(&pending, answer).once(one_answer(&pending)?)).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Interrupt {
    reason: String,
}

/// Ends the turn; the session stays usable.
async fn interrupt(
    State(desk): State<Desk>,
    Path(session): Path<SessionId>,
    Body(asked): Body<Interrupt>,
) -> Answer {
    let key = desk.key(session);
    match desk.runtime.interrupt(&key, asked.reason).await? {
        InterruptOutcome::Requested | InterruptOutcome::AlreadyWaiting { .. } => {
            Ok((StatusCode::ACCEPTED, Json(json!({ "interrupted": true }))))
        }
        InterruptOutcome::AtRest => Ok((StatusCode::OK, Json(json!({ "interrupted": false })))),
        InterruptOutcome::Aborted => Err(RuntimeError::Aborted { key }.into()),
        InterruptOutcome::NotFound => Err(RuntimeError::NotFound { key }.into()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Branch {
    /// From which checkpoint; the newest if left out.
    at: Option<CheckpointId>,
    id: Option<SessionId>,
}

/// Begins another session as this one stood at a checkpoint.
async fn fork(State(desk): State<Desk>, Path(session): Path<SessionId>, Body(asked): Body<Branch>) -> Answer {
    let fork = asked.at.map_or_else(Fork::newest, Fork::at);
    let fork = match asked.id {
        Some(id) => fork.to(id),
        None => fork,
    };
    let forked = desk.runtime.fork(&desk.key(session), fork).await?;
    let body = json!({ "session": forked.key.id, "at": forked.at, "status": forked.status });
    Ok((StatusCode::CREATED, Json(body)))
}

impl Desk {
    pub(crate) fn key(&self, session: SessionId) -> SessionKey {
        SessionKey::new(self.tenant.clone(), session)
    }

    async fn deliver(&self, key: &SessionKey, deliver: Deliver) -> Answer {
        let line = match self.runtime.deliver(key, deliver).await? {
            Delivery::Accepted { .. } => {
                return Ok((StatusCode::ACCEPTED, Json(json!({ "accepted": true }))));
            }
            Delivery::Duplicate { .. } => return Ok((StatusCode::OK, Json(json!({ "accepted": false })))),
            Delivery::NotFound => return Err(RuntimeError::NotFound { key: key.clone() }.into()),
            Delivery::Aborted => return Err(RuntimeError::Aborted { key: key.clone() }.into()),
            Delivery::Conflict { .. } => "something else was said before",
            Delivery::AlreadyAnswered => "it was answered before",
            Delivery::NotPending => "no answer is waited for any more",
        };
        Err(Error::Conflict(format!("session {key}: {line}")))
    }

    /// The call, if it waits for an answer of this kind.
    async fn open(&self, key: &SessionKey, call: &str, asked: PendingKind) -> Result<PendingEntry, Error> {
        match self.runtime.pending_call(key, call).await? {
            Some(open) if open.call.kind == asked => Ok(open),
            Some(open) => {
                let (key, call, found) = (key.clone(), call.to_owned(), open.call.kind);
                Err(RuntimeError::OtherAnswer { key, call, found, asked }.into())
            }
            None => {
                let line = format!("session {key}: call {call}");
                let known = self.runtime.messages(key).await?.into_iter().any(|entry| {
                    matches!(entry.message, Message::Assistant(said) if said.calls().any(|asked| asked.id.as_str() == call))
                });
                Err(match known {
                    true => Error::Conflict(format!("{line}: no answer is waited for any more")),
                    false => Error::NotFound(format!("{line}: there is no such call")),
                })
            }
        }
    }
}

/// Each asking takes one answer: the same one again is a duplicate, another one a conflict.
fn one_answer(asking: &PendingCall) -> Result<ItemKey, InvalidId> {
    ItemKey::new(asking.id.as_str())
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<ItemKey>, Error> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    Ok(Some(ItemKey::new(key.to_str().unwrap_or_default())?))
}

/// A call that waits, as whoever owes the answer is shown it.
fn asked(open: &PendingEntry) -> Value {
    let PendingEntry { call, body } = open;
    json!({
        "session": call.key.id,
        "call": call.call,
        "kind": call.kind,
        "tool": body.tool,
        "arguments": body.arguments,
        "digest": body.digest,
        "prompt": body.prompt,
        "opened_at": call.opened_at,
        "deadline": call.deadline,
    })
}
