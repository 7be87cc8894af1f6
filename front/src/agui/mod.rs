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
use axum::response::{IntoResponse, Response};
use holdover_runtime_local::RuntimeError;
use schemars::JsonSchema;
use serde::Deserialize;

use self::encode::Encoder;
use self::input::{Input, Request};
use crate::access::{By, Held, May, ToSend};
use crate::api::Here;
use crate::body::{Body, In};
use crate::desk::Desk;
use crate::openapi::answers_with_a_stream;
use crate::problem::Problem;
use crate::ui::{From, Place, Reading, answer_stream, deliver_new, deliver_replies, here, newest_answer};

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
    let Request { replies, messages } = input.request()?;
    let (mut place, mut from) = match desk.runtime.session(&key).await? {
        Some(session) if replies.is_empty() && messages.is_empty() => {
            let newest = newest_answer(&desk, &session).await?.filter(|newest| newest.runs);
            newest.map_or((here(&session), From::Here), |newest| (newest.place, newest.from))
        }
        Some(session) => (here(&session), From::Here),
        None if messages.is_empty() => return Err(RuntimeError::NotFound { key }.into()),
        None => (Place::START, From::Here),
    };
    let known = place.message;
    deliver_replies(&desk, &caller, &key, replies).await?;
    for (id, said) in messages {
        (place, from) = deliver_new(&desk, &key, Some(&of.agent), id, said).await?;
    }
    let encoder = Encoder::new(desk.runtime.clone(), key.clone(), input.run_id, known);
    Ok(answer_stream(Arc::clone(&desk), Reading { held, seat, key }, place, from, encoder).into_response())
}
