//! Follows a session with Server-Sent Events, whose ids are cursors.

use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::{Stream, StreamExt, future};
use holdover::prelude::*;
use serde::Deserialize;
use serde_json::json;

use crate::api::Desk;
use crate::errors::{Error, Given};

/// Keeps the connection open while nothing happens.
const HEARTBEAT: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct From {
    after: Option<EventCursor>,
}

/// What a session shows after the cursor, as it happens. A reader that comes back with the id it saw last
/// misses nothing and is shown nothing twice, whichever process answers.
pub(crate) async fn follow(
    State(desk): State<Desk>,
    Given(Path(session)): Given<Path<SessionId>>,
    Given(Query(from)): Given<Query<From>>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, axum::Error>>>, Error> {
    let after = last_seen(&headers)?.or(from.after).unwrap_or(EventCursor::START);
    let key = desk.key(session);
    // An unknown session, or a cursor of a deleted one, is said while there is a status to say it with.
    if let Some(Err(error)) = desk.runtime.follow(&key, after, Follow::Available).next().await {
        return Err(error.into());
    }
    let shown = desk.runtime.follow(&key, after, Follow::Forever);
    // The engine's own rows are no business of a customer's.
    let shown = shown.filter(|shown| future::ready(!matches!(shown, Ok(shown) if shown.is_history())));
    // A follower never leaves by itself, so it is let go at shutdown.
    let shown = shown.take_until(desk.stop.cancelled_owned()).map(sent);
    Ok(Sse::new(shown).keep_alive(KeepAlive::new().interval(HEARTBEAT)))
}

fn last_seen(headers: &HeaderMap) -> Result<Option<EventCursor>, Error> {
    let Some(id) = headers.get("last-event-id") else { return Ok(None) };
    let cursor = id.to_str().ok().and_then(|id| id.parse().ok());
    cursor.map(Some).ok_or_else(|| Error::not_understood("Last-Event-ID: not a cursor"))
}

fn sent(shown: Result<Shown, RuntimeError>) -> Result<Event, axum::Error> {
    match shown {
        Ok(shown) => Event::default().id(shown.cursor().to_string()).event(shown.kind()).json_data(&shown),
        Err(error) => Event::default().event("error").json_data(json!({ "error": error.to_string() })),
    }
}
