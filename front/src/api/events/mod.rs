//! Follows a session with Server-Sent Events. The ids of the events are cursors.

mod described;
mod items;
mod last_seen;
mod reader;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, TryStreamExt};
use holdover_core::store::EventCursor;
use holdover_runtime_local::{Follow, Shown};
use schemars::JsonSchema;
use serde::Deserialize;

use self::described::described;
use self::last_seen::LastSeen;
use self::reader::frames;
use super::{Answer, Here, Of};
use crate::access::{By, Held, ToRead};
use crate::body::{Asked, In};
use crate::desk::Desk;

/// The interval of the comments that keep an idle connection open.
const HEARTBEAT: Duration = Duration::from_secs(15);

pub(super) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new().api_route("/sessions/{session}/events", get_with(follow, described))
}

/// The point at which a stream ends.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Until {
    /// It does not end by itself.
    #[default]
    Forever,
    /// The turn is over.
    Rest,
    /// The turn is over, or waits.
    Parked,
    /// All that has happened so far was shown.
    Available,
}

/// The part of a session that is followed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// The cursor of the last item that was read. By default, the beginning. A `Last-Event-ID` header counts instead.
    after: Option<EventCursor>,
    /// Also shows what a model is writing now, and the progress of calls. True by default.
    deltas: Option<bool>,
    /// Adds its message to each event that announces one.
    #[serde(default)]
    messages: bool,
    /// Also shows the moves of the session's machine, for people who study the engine.
    #[serde(default)]
    history: bool,
    /// The point at which the stream ends.
    #[serde(default)]
    until: Until,
}

async fn follow(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    In(of): In<Of>,
    held: Held,
    LastSeen(seen): LastSeen,
    Asked(query): Asked<Query>,
) -> Answer<Response> {
    let seat = desk.streams.open(&caller)?;
    let key = caller.key(of.session);
    let after = seen.or(query.after).unwrap_or(EventCursor::START);
    // Errors, such as an unknown session or a cursor of another one, are told while the answer can have a status.
    if let Some(Err(error)) = desk.runtime.follow(&key, after, Follow::Available).next().await {
        return Err(error.into());
    }
    let follow = match query.until {
        Until::Forever => Follow::Forever,
        Until::Rest => Follow::UntilRest,
        Until::Parked => Follow::UntilParked,
        Until::Available => Follow::Available,
    };
    let shown = match query.deltas {
        Some(false) => desk.runtime.events(&key, after, follow).map_ok(Shown::Event).boxed(),
        Some(true) | None => desk.runtime.follow(&key, after, follow),
    };
    let frames = frames(Arc::clone(&desk), key, held, shown, after, query);
    // The seat is free once the connection is closed.
    let frames = frames.map(move |frame| {
        let _ = &seat;
        Ok::<_, Infallible>(frame)
    });
    let sse = Sse::new(frames).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    let unbuffered = (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(([unbuffered], sse).into_response())
}
