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
use holdover_core::ids::MessageSeq;
use holdover_core::store::EventCursor;
use holdover_runtime_local::RuntimeError;
use schemars::JsonSchema;
use serde::Deserialize;

use self::encode::{Dialect, Encoder};
use self::history::{Chat, chat};
use self::input::{Chosen, Input};
use crate::access::{By, Held, May, ToRead, ToSend};
use crate::api::{Here, Of, operation};
use crate::body::{Asked, Body, In};
use crate::desk::Desk;
use crate::openapi::answers_with_a_stream;
use crate::problem::Problem;
use crate::ui::{
    From, Place, Reading, answer_stream, check_place, deliver_edit, deliver_new, deliver_replies, here,
    newest_answer, now,
};

/// The version of the protocol, as clients look for it.
const PROTOCOL: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-vercel-ai-ui-message-stream"), HeaderValue::from_static("v1"));

pub(crate) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route(
            "/chat",
            post_with(post, |it| {
                answers_with_a_stream(it)
                    .id("chat")
                    .tag("chat")
                    .summary("Sends a message, a decision or a result of a page, and streams the answer.")
            }),
        )
        .api_route(
            "/chat/{session}/stream",
            get_with(resume, |it| {
                answers_with_a_stream(it)
                    .id("resumeChat")
                    .tag("chat")
                    .summary("Streams the newest answer from its start, or answers 204 if it is over.")
            }),
        )
        .api_route(
            "/chat/{session}/messages",
            get_with(
                messages,
                operation!("chatMessages", "chat", "Reads the newest messages, as a page shows them."),
            ),
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
    caller.needs(May::Read)?;
    let seat = desk.streams.open(&caller)?;
    let key = caller.key(input.session()?);
    let agent = input.agent.as_deref();
    let dialect = Dialect::of(words.v);
    let mut encoder = Encoder::of_an_answer(dialect);
    let (place, from) = match input.chosen()? {
        Chosen::New { id, said } => deliver_new(&desk, &key, agent, id, said).await?,
        Chosen::Edit { id, said } => deliver_edit(&desk, &key, agent, id, said).await?,
        Chosen::Replies { replies, answer, cursor } => {
            let now = now(&desk, &key).await?;
            let place = cursor.map_or(now, |cursor| Place { cursor, ..now });
            check_place(&desk, &key, place).await?;
            deliver_replies(&desk, &caller, &key, replies).await?;
            encoder = Encoder::of_the_rest_of(answer.to_owned(), dialect);
            (place, From::Here)
        }
        Chosen::Attach => {
            let session = desk.runtime.session(&key).await?;
            let session = session.ok_or_else(|| RuntimeError::NotFound { key: key.clone() })?;
            match newest_answer(&desk, &session).await? {
                Some(newest) => (newest.place, newest.from),
                None => (here(&session), From::Message(None)),
            }
        }
    };
    Ok(respond(&desk, Reading { held, seat, key }, place, from, encoder))
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
    let Some(newest) = newest_answer(&desk, &session).await? else {
        return Ok(NoContent.into_response());
    };
    let seen_all = asked.after.is_none_or(|seen| seen == here(&session).cursor);
    if seen_all && !newest.runs {
        return Ok(NoContent.into_response());
    }
    let encoder = Encoder::of_an_answer(Dialect::of(asked.v));
    Ok(respond(&desk, Reading { held, seat, key }, newest.place, newest.from, encoder))
}

fn respond(desk: &Arc<Desk>, reading: Reading, place: Place, from: From, encoder: Encoder) -> Response {
    ([PROTOCOL], answer_stream(Arc::clone(desk), reading, place, from, encoder)).into_response()
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
