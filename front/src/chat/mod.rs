//! The routes of `/api/chat`: sessions for pages that use the AI SDK (`useChat`) or a library on top of it.
//!
//! The answer to a message is a [UI message stream](https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol). The server's log is
//! the truth: of the history that a page sends, only the last message counts.

mod chunk;
mod encode;
mod history;
mod input;

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, NoContent, Response};
use futures::{StreamExt, TryStreamExt, future};
use holdover_core::event::Event;
use holdover_core::ids::{EventSeq, MessageSeq, SessionKey};
use holdover_core::message::ClientAnswer;
use holdover_core::store::{EventCursor, PendingCall, PendingKind, Session, SessionStatus};
use holdover_runtime_local::{Approval, Denial, Execute, Follow, PendingEntry, RuntimeError};
use schemars::JsonSchema;
use serde::Deserialize;

use self::encode::{Dialect, Encoder};
use self::history::{Chat, chat};
use self::input::{Chosen, Input, Reply, Said};
use crate::access::{By, Caller, Held, May, ToRead, ToSend};
use crate::api::{Here, Of, operation};
use crate::body::{Asked, Body, In};
use crate::desk::Desk;
use crate::openapi::answers_with_a_stream;
use crate::problem::Problem;
use crate::streams::Seat;
use crate::ui::{Answer, Edit, From, deliver_edit, key_of, newest_question, stream};

/// The number of events among which the last one that is no row of a history is looked for.
const LAST_EVENTS: u64 = 16;

/// The version of the protocol, as clients look for it.
const PROTOCOL: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-vercel-ai-ui-message-stream"), HeaderValue::from_static("v1"));
const UNBUFFERED: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));

pub(crate) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route(
            "/chat",
            post_with(post, |it| {
                answers_with_a_stream(it).id("chat").tag("chat").summary("Sends a message, a decision or a result of a page, and streams the answer.")
            }),
        )
        .api_route(
            "/chat/{session}/stream",
            get_with(resume, |it| {
                answers_with_a_stream(it).id("resumeChat").tag("chat").summary("Streams the newest answer from its start, or answers 204 if it is over.")
            }),
        )
        .api_route(
            "/chat/{session}/messages",
            get_with(messages, operation!("chatMessages", "chat", "Reads the newest messages, as a page shows them.")),
        )
        .api_route(
            "/chat/{session}/stop",
            post_with(stop, operation!("stopChat", "chat", "Stops the turn. The session stays usable.")),
        )
}

/// The words that a client understands.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Words {
    /// The major version of the AI SDK. With 7 or more, the output of an attempt that died is taken back with `reset-step`.
    v: Option<u32>,
}

async fn post(
    State(desk): Here,
    By(caller, _): By<ToSend>,
    held: Held,
    Asked(words): Asked<Words>,
    Body(input): Body<Input>,
) -> Result<Response, Problem> {
    caller.require(May::Read)?;
    let seat = desk.streams.open(&caller)?;
    let key = caller.key(input.session()?);
    let (after, from) = match input.chosen()? {
        Chosen::New { id, said } => new(&desk, &key, &input, &id, said).await?,
        Chosen::Edit { id, said } => {
            let after = here(&desk, &key).await?.ok_or_else(|| RuntimeError::NotFound { key: key.clone() })?;
            let edit = Edit { id: id.to_owned(), text: said.text, images: said.images };
            let delivered = deliver_edit(&desk.runtime, &key, edit).await?;
            (after, From::Item(delivered.item))
        }
        Chosen::Replies { replies, cursor } => {
            let now = here(&desk, &key).await?.ok_or_else(|| RuntimeError::NotFound { key: key.clone() })?;
            answer(&desk, &caller, &key, replies).await?;
            (cursor.unwrap_or(now), From::Cursor)
        }
    };
    stream_of(&desk, held, seat, key, after, from, Dialect::of(words.v)).await
}

/// Sends a new message. A repeat of one that was taken before is answered from its start.
async fn new(
    desk: &Desk,
    key: &SessionKey,
    input: &Input,
    id: &str,
    said: Said,
) -> Result<(EventCursor, From), Problem> {
    let before = here(desk, key).await?.unwrap_or(EventCursor::START);
    let agent = Arc::clone(desk.agent_or_only(input.agent.as_deref())?);
    let mut request = Execute::new(key.tenant.clone(), agent, said.text)
        .in_session(key.id.clone())
        .once(key_of(id, None)?)
        .showing(said.images);
    if desk.served_elsewhere {
        request = request.served_elsewhere();
    }
    let started = desk.runtime.start(request).await?;
    if started.duplicate
        && let Some(taken) = desk.runtime.taken(key, started.item).await?
        && let Some(after) = desk.runtime.cursor_before(key, taken.message).await?
    {
        return Ok((after, From::Message));
    }
    Ok((before, From::Item(started.item)))
}

/// Returns the cursor after the newest event of a session, if there is such a session.
async fn here(desk: &Desk, key: &SessionKey) -> Result<Option<EventCursor>, Problem> {
    let session = desk.runtime.session(key).await?;
    Ok(session.map(|session| EventCursor::after(session.incarnation, session.last_event)))
}

/// Delivers decisions of a person, and results of tools that the page ran. A repeat changes nothing, and neither does an
/// answer to a call that is closed.
async fn answer(desk: &Desk, caller: &Caller, key: &SessionKey, replies: Vec<Reply>) -> Result<(), Problem> {
    if replies.is_empty() {
        return Ok(());
    }
    let open = desk.runtime.pending(key).await?;
    for reply in replies {
        match reply {
            Reply::Decision { pending, saw, approved, reason } => {
                caller.require(May::Decide)?;
                let Some(asked) = open.iter().find(|entry| *entry.id() == pending) else { continue };
                if asked.body.digest != saw {
                    let detail = format!("call {pending}: these are not the arguments that wait for an answer");
                    return Err(Problem::conflict("not_seen", detail));
                }
                let by = caller.name().map(str::to_owned);
                if approved {
                    desk.runtime.approve(key, &pending, Approval::from(by).reason(reason)).await?;
                } else {
                    desk.runtime.deny(key, &pending, Denial::from(by).reason(reason)).await?;
                }
            }
            Reply::Result { call, content, is_error } => {
                let is_asked = |entry: &&PendingEntry| {
                    let PendingCall { key: of, call: asked, kind, .. } = &entry.call;
                    of == key && *asked == call && *kind == PendingKind::ClientTool
                };
                let Some(asked) = open.iter().find(is_asked) else { continue };
                let answer = if is_error { ClientAnswer::failed(content) } else { ClientAnswer::done(content) };
                desk.runtime.answer(key, asked.id(), answer).await?;
            }
        }
    }
    Ok(())
}

/// The state of the page that asks for the newest answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Resume {
    /// As for a new message.
    v: Option<u32>,
    /// The cursor of the messages that the page has. If anything has happened since, the newest answer is streamed although
    /// it is over.
    after: Option<EventCursor>,
}

async fn resume(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    held: Held,
    In(of): In<Of>,
    Asked(asked): Asked<Resume>,
) -> Result<Response, Problem> {
    let seat = desk.streams.open(&caller)?;
    let key = caller.key(of.session);
    let Some(session) = desk.runtime.session(&key).await? else {
        // A page asks before its first message.
        return Ok(NoContent.into_response());
    };
    let newest = EventCursor::after(session.incarnation, session.last_event);
    let due = session.alarm.is_some_and(|alarm| alarm <= desk.runtime.now());
    let runs = due || session.status == SessionStatus::Active;
    let seen_all = asked.after.is_none_or(|seen| seen == newest);
    let after = if runs && is_between_turns(&desk, &session).await? {
        // The message that is answered next has not been taken yet.
        Some(newest)
    } else if runs || !seen_all {
        newest_answer(&desk, &key).await?
    } else {
        None
    };
    match after {
        Some(after) => stream_of(&desk, held, seat, key, after, From::Message, Dialect::of(asked.v)).await,
        None => Ok(NoContent.into_response()),
    }
}

/// Returns true if no turn has begun yet, or if the newest one is over.
async fn is_between_turns(desk: &Desk, session: &Session) -> Result<bool, Problem> {
    let before = EventSeq(session.last_event.0.saturating_sub(LAST_EVENTS));
    let after = EventCursor::after(session.incarnation, before);
    let events = desk.runtime.events(&session.key, after, Follow::Available);
    let told = events.try_filter(|entry| future::ready(!matches!(entry.event, Event::History { .. })));
    let last = told.try_collect::<Vec<_>>().await?.pop();
    Ok(last.is_none_or(|entry| matches!(entry.event, Event::Done { .. })))
}

/// Returns the cursor before the newest answer.
async fn newest_answer(desk: &Desk, key: &SessionKey) -> Result<Option<EventCursor>, Problem> {
    match newest_question(&desk.runtime, key).await? {
        Some(asked) => Ok(desk.runtime.cursor_before(key, asked).await?),
        None => Ok(None),
    }
}

/// Returns the stream of an answer. Errors that are known at once are told while the answer can have a status.
async fn stream_of(
    desk: &Arc<Desk>,
    held: Held,
    seat: Seat,
    key: SessionKey,
    after: EventCursor,
    from: From,
    dialect: Dialect,
) -> Result<Response, Problem> {
    let encoder = match from {
        From::Item(_) | From::Message => Encoder::of_an_answer(dialect),
        From::Cursor => {
            let asked = newest_question(&desk.runtime, &key).await?;
            Encoder::of_the_answer_to(asked.unwrap_or_default(), dialect)
        }
    };
    if let Some(Err(error)) = desk.runtime.follow(&key, after, Follow::Available).next().await {
        return Err(error.into());
    }
    let answer = Answer::follow(desk.runtime.clone(), key, after, from);
    Ok(([PROTOCOL, UNBUFFERED], stream(Arc::clone(desk), held, seat, answer, encoder)).into_response())
}

/// The part of a transcript that a page shows.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Before {
    /// Only messages before this position. By default, the newest.
    before: Option<MessageSeq>,
}

async fn messages(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    In(of): In<Of>,
    Asked(asked): Asked<Before>,
) -> Result<Json<Chat>, Problem> {
    Ok(Json(chat(&desk.runtime, &caller.key(of.session), asked.before).await?))
}

async fn stop(State(desk): Here, By(caller, _): By<ToSend>, In(of): In<Of>) -> Result<NoContent, Problem> {
    let by = caller.name().map_or_else(|| "the page".to_owned(), str::to_owned);
    desk.runtime.interrupt(&caller.key(of.session), format!("stopped by {by}")).await?;
    Ok(NoContent)
}
