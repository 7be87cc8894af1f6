//! Follows a session with Server-Sent Events. The event ids are cursors.

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

/// The interval of the signals that keep an idle connection open.
const HEARTBEAT: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct From {
    after: Option<EventCursor>,
}

/// Streams the events of a session after the cursor, as they happen. A reader that reconnects with the last id it saw
/// misses nothing and gets nothing twice, even from another process.
pub(crate) async fn follow(
    State(desk): State<Desk>,
    Given(Path(session)): Given<Path<SessionId>>,
    Given(Query(from)): Given<Query<From>>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, axum::Error>>>, Error> {
    let after = last_seen(&headers)?.or(from.after).unwrap_or(EventCursor::START);
    let key = desk.key(session);
    // Errors, such as an unknown session or a cursor of another one, are reported here, while the response can still
    // have a status.
    if let Some(Err(error)) = desk.runtime.follow(&key, after, Follow::Available).next().await {
        return Err(error.into());
    }
    let shown = desk.runtime.follow(&key, after, Follow::Forever);
    // The engine's internal rows are not shown to customers.
    let shown = shown.filter(|shown| future::ready(!matches!(shown, Ok(shown) if shown.is_history())));
    // A follower never ends by itself, so this ends it at shutdown.
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
