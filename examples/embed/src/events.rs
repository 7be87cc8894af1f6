//! Following a session: Server-Sent Events whose ids are cursors.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::{Stream, StreamExt};
use holdover::{EventCursor, Follow, RuntimeError, SessionId, Shown};
use serde::Deserialize;
use serde_json::json;

use crate::api::Desk;
use crate::errors::{Error, Path, Query};

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
    Path(session): Path<SessionId>,
    Query(from): Query<From>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, axum::Error>>>, Error> {
    let after = last_seen(&headers)?.or(from.after).unwrap_or(EventCursor::START);
    let key = desk.key(session);
    // An unknown session, or a cursor of a deleted one, is said while there is a status to say it with.
    if let Some(Err(error)) = desk.runtime.follow(&key, after, Follow::Available).next().await {
        return Err(error.into());
    }
    let shown = desk.runtime.follow(&key, after, Follow::Forever);
    // A follower never leaves by itself, so it is let go at shutdown.
    let shown = shown.take_until(desk.stop.cancelled_owned()).map(sent);
    Ok(Sse::new(shown).keep_alive(KeepAlive::new().interval(HEARTBEAT)))
}

fn last_seen(headers: &HeaderMap) -> Result<Option<EventCursor>, Error> {
    let Some(id) = headers.get("last-event-id") else { return Ok(None) };
    let cursor = id.to_str().ok().and_then(|id| id.parse().ok());
    let refused =
        || Error::Request(StatusCode::UNPROCESSABLE_ENTITY, "Last-Event-ID: not a cursor".to_owned());
    cursor.map(Some).ok_or_else(refused)
}

fn sent(shown: Result<Shown, RuntimeError>) -> Result<Event, axum::Error> {
    let shown = match shown {
        Ok(shown) => shown,
        Err(error) => {
            return Event::default().event("error").json_data(json!({ "error": error.to_string() }));
        }
    };
    let event = Event::default().id(shown.cursor().to_string());
    match shown {
        Shown::Event(entry) => {
            event.event("event").json_data(json!({ "seq": entry.seq, "at": entry.at, "event": entry.event }))
        }
        Shown::Delta(entry) => event
            .event("delta")
            .json_data(json!({ "stream": entry.stream, "place": entry.place, "delta": entry.delta })),
        Shown::Dropped { stream, .. } => event.event("dropped").json_data(json!({ "stream": stream })),
    }
}
