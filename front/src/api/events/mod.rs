//! Follows a session, alone or with the sessions below it, with Server-Sent Events. The ids of the events are cursors.

mod ahead;
mod described;
mod items;
mod last_seen;
mod place;
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
use futures::StreamExt;
use holdover_core::ids::SessionKey;
use holdover_core::store::EventCursor;
use holdover_runtime_local::{Follow, TreeCursor};
use schemars::JsonSchema;
use serde::Deserialize;

use self::last_seen::LastSeen;
use self::place::Place;
use self::reader::Reader;
use super::{Answer, Here, Of};
use crate::access::{By, Caller, Held, ToRead};
use crate::body::{Asked, In};
use crate::desk::Desk;

/// The interval of the comments that keep an idle connection open.
const HEARTBEAT: Duration = Duration::from_secs(15);

pub(super) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route("/sessions/{session}/events", get_with(follow, described::session))
        .api_route("/sessions/{session}/tree/events", get_with(follow_tree, described::tree))
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
struct Query<C> {
    /// The cursor of the last item that was read. By default, the beginning. A `Last-Event-ID` header counts instead.
    #[schemars(with = "Option<String>")]
    after: Option<C>,
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

/// The items that are shown.
#[derive(Clone, Copy)]
struct How {
    deltas: bool,
    messages: bool,
    history: bool,
    follow: Follow,
}

impl<C> Query<C> {
    fn how(&self) -> How {
        let follow = match self.until {
            Until::Forever => Follow::Forever,
            Until::Rest => Follow::UntilRest,
            Until::Parked => Follow::UntilParked,
            Until::Available => Follow::Available,
        };
        How { deltas: self.deltas.unwrap_or(true), messages: self.messages, history: self.history, follow }
    }
}

async fn follow(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    In(of): In<Of>,
    held: Held,
    LastSeen(seen): LastSeen<EventCursor>,
    Asked(query): Asked<Query<EventCursor>>,
) -> Answer<Response> {
    let how = query.how();
    let place = Place::Session(seen.or(query.after).unwrap_or(EventCursor::START));
    streamed(desk, &caller, caller.key(of.session), held, how, place).await
}

async fn follow_tree(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    In(of): In<Of>,
    held: Held,
    LastSeen(seen): LastSeen<TreeCursor>,
    Asked(query): Asked<Query<TreeCursor>>,
) -> Answer<Response> {
    let how = query.how();
    let place = Place::Tree(seen.or(query.after).unwrap_or_else(|| EventCursor::START.into()));
    streamed(desk, &caller, caller.key(of.session), held, how, place).await
}

async fn streamed(
    desk: Arc<Desk>,
    caller: &Caller,
    key: SessionKey,
    held: Held,
    how: How,
    place: Place,
) -> Answer<Response> {
    let seat = desk.streams.open(caller)?;
    // Errors, such as an unknown session or a cursor of another one, are told while the answer can have a status.
    if let Some(Err(error)) = place.items(&desk, &key, Follow::Available, true).next().await {
        return Err(error.into());
    }
    let frames = Reader::new(desk, key, held, how, place).frames();
    // The seat is free once the connection is closed.
    let frames = frames.map(move |frame| {
        let _ = &seat;
        Ok::<_, Infallible>(frame)
    });
    let sse = Sse::new(frames).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    let unbuffered = (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(([unbuffered], sse).into_response())
}
