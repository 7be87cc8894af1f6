//! The routes of `/api/ag-ui`: sessions for pages that speak [AG-UI](https://docs.ag-ui.com), such as those with CopilotKit.
//!
//! A thread is a session. A run of AG-UI sends a message, a decision or a result, and ends when the turn is over or waits.

mod encode;
mod event;
mod input;
mod messages;

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::post_with;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use holdover_core::store::EventCursor;
use holdover_runtime_local::Follow;
use schemars::JsonSchema;
use serde::Deserialize;

use self::encode::Encoder;
use self::input::{Chosen, Input};
use crate::access::{By, Held, May, ToSend};
use crate::api::Here;
use crate::body::{Body, In};
use crate::desk::Desk;
use crate::openapi::answers_with_a_stream;
use crate::problem::Problem;
use crate::ui::{Answer, From, deliver_new, deliver_replies, newest, newest_answer, stream};

const UNBUFFERED: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));

pub(crate) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new().api_route(
        "/ag-ui/{agent}",
        post_with(run, |it| {
            answers_with_a_stream(it).id("runAgent").tag("ag-ui").summary(
                "Sends a message, a decision or a result of a page, and streams the run in events of AG-UI.",
            )
        }),
    )
}

/// An agent in the path.
#[derive(Deserialize, JsonSchema)]
struct OfAgent {
    /// The name of the agent with which a new session is begun.
    agent: String,
}

async fn run(
    State(desk): Here,
    By(caller, _): By<ToSend>,
    held: Held,
    In(of): In<OfAgent>,
    Body(input): Body<Input>,
) -> Result<Response, Problem> {
    caller.needs(May::Read)?;
    let seat = desk.streams.open(&caller)?;
    let key = caller.key(input.session()?);
    let (after, from) = match input.chosen()? {
        Chosen::New { id, said } => deliver_new(&desk, &key, Some(&of.agent), id, said).await?,
        Chosen::Replies(replies) => {
            let now = newest(&desk, &key).await?;
            deliver_replies(&desk, &caller, &key, replies).await?;
            (now, From::Cursor)
        }
        Chosen::Attach => match desk.runtime.session(&key).await? {
            None => (EventCursor::START, From::Cursor),
            Some(session) => match newest_answer(&desk, &session).await?.filter(|newest| newest.runs) {
                Some(newest) => (newest.after, From::Message),
                None => (EventCursor::after(session.incarnation, session.last_event), From::Cursor),
            },
        },
    };
    // Errors that are known at once are told while the answer can have a status.
    if let Some(Err(error)) = desk.runtime.follow(&key, after, Follow::Available).next().await {
        return Err(error.into());
    }
    let answer = Answer::follow(desk.runtime.clone(), key.clone(), after, from);
    let encoder = Encoder::new(desk.runtime.clone(), key, input.run_id);
    Ok(([UNBUFFERED], stream(Arc::clone(&desk), held, seat, answer, encoder)).into_response())
}
