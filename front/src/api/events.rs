//! Follows a session with Server-Sent Events. The ids of the events are cursors.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use aide::OperationInput;
use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use aide::generate::GenContext;
use aide::openapi::Operation;
use aide::operation::{ParamLocation, add_parameters, parameters_from_schema};
use aide::transform::TransformOperation;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use holdover_core::ids::SessionKey;
use holdover_core::store::EventCursor;
use holdover_runtime_local::{Follow, RuntimeError, Shown};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::{Answer, Here, Of};
use crate::access::{By, Held, May, ToRead};
use crate::body::{Asked, In};
use crate::desk::Desk;
use crate::openapi::answers_with_a_stream;
use crate::problem::Problem;
use crate::wire::EventView;

/// The interval of the comments that keep an idle connection open.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// The interval at which the token of a reader is looked up again.
const CHECK_EVERY: Duration = Duration::from_secs(5);

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

/// The cursor that a client sends when it connects again.
struct LastSeen(Option<EventCursor>);

const LAST_SEEN: &str = "last-event-id";

impl<S: Send + Sync> FromRequestParts<S> for LastSeen {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(id) = parts.headers.get(LAST_SEEN) else { return Ok(Self(None)) };
        let cursor = id.to_str().ok().and_then(|id| id.parse().ok());
        cursor.map(|cursor| Self(Some(cursor))).ok_or_else(|| Problem::invalid("Last-Event-ID: is no cursor"))
    }
}

/// The header, as the description shows it.
#[derive(Deserialize, JsonSchema)]
struct Header {
    /// The id of the last event that was read. Clients send it by themselves when they connect again.
    #[serde(rename = "Last-Event-ID")]
    _id: Option<EventCursor>,
}

impl OperationInput for LastSeen {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        let schema = ctx.schema.subschema_for::<Header>();
        let parameters = parameters_from_schema(ctx, schema, ParamLocation::Header);
        add_parameters(ctx, operation, parameters);
    }
}

/// The content of the last event of a stream, which has the name `end`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EndOfStream")]
struct End {
    /// The reason: `reached` if the point was reached at which the stream was to end, `stopping` if this process stops, so
    /// that the reader goes on elsewhere, `unauthorized` if the token no longer holds.
    reason: &'static str,
    /// The cursor from which to go on.
    cursor: EventCursor,
}

fn described(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    let operation =
        operation.id("followEvents").tag("events").summary("Follows a session with Server-Sent Events.");
    let operation = operation.description(
        "The `id` of each event is a cursor. A reader that connects again with the cursor of the last event that it read \
         misses nothing and gets nothing twice, also from another process.\n\n\
         The names of the events: `event` (committed, final), `delta` (provisional), `dropped` (the deltas of a stream are \
         void, because its attempt died or failed), `problem` (the stream ends), `end` (the stream ends).",
    );
    answers_with_a_stream(operation).with(|operation| {
        aide::generate::in_context(|ctx| {
            // The contents of the events, which the description names.
            for schema in [
                ctx.schema.subschema_for::<EventView>(),
                ctx.schema.subschema_for::<holdover_core::delta::Delta>(),
                ctx.schema.subschema_for::<End>(),
            ] {
                drop(schema);
            }
        });
        operation
    })
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

/// The state of a stream.
struct Reader {
    desk: Arc<Desk>,
    key: SessionKey,
    held: Held,
    checks: Interval,
    shown: BoxStream<'static, Result<Shown, RuntimeError>>,
    cursor: EventCursor,
    query: Query,
    over: bool,
}

/// Returns the frames of a stream. The last one says why it ends.
fn frames(
    desk: Arc<Desk>,
    key: SessionKey,
    held: Held,
    shown: BoxStream<'static, Result<Shown, RuntimeError>>,
    cursor: EventCursor,
    query: Query,
) -> impl Stream<Item = Frame> + Send + 'static {
    let mut checks = interval_at(Instant::now() + CHECK_EVERY, CHECK_EVERY);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let reader = Reader { desk, key, held, checks, shown, cursor, query, over: false };
    stream::unfold(reader, |mut reader| async move {
        if reader.over {
            return None;
        }
        let frame = reader.next().await;
        Some((frame, reader))
    })
}

impl Reader {
    async fn next(&mut self) -> Frame {
        loop {
            let stop = self.desk.stop.clone();
            let next = tokio::select! {
                biased;
                () = stop.cancelled() => return self.end("stopping"),
                _ = self.checks.tick() => match self.desk.access.still_allows(&self.held, May::Read).await {
                    true => continue,
                    false => return self.end("unauthorized"),
                },
                next = self.shown.next() => next,
            };
            let shown = match next {
                None => return self.end("reached"),
                Some(Err(error)) => return self.failed(error.into()),
                Some(Ok(shown)) => shown,
            };
            self.cursor = shown.cursor();
            if self.hides(&shown) {
                continue;
            }
            return self.frame(shown).await;
        }
    }

    fn hides(&self, shown: &Shown) -> bool {
        shown.is_history() && !self.query.history
    }

    async fn frame(&mut self, shown: Shown) -> Frame {
        let (id, name) = (shown.cursor().to_string(), shown.kind());
        let data = if let Shown::Event(entry) = shown {
            match EventView::of(&self.desk.runtime, &self.key, entry, self.query.messages).await {
                Ok(view) => Frame::default().json_data(view),
                Err(error) => return self.failed(error.into()),
            }
        } else {
            Frame::default().json_data(&shown)
        };
        // All maps in these types have text keys, so they can be written as JSON.
        data.unwrap_or_default().id(id).event(name)
    }

    fn failed(&mut self, problem: Problem) -> Frame {
        self.over = true;
        Frame::default().event("problem").json_data(problem.told()).unwrap_or_default()
    }

    fn end(&mut self, reason: &'static str) -> Frame {
        self.over = true;
        let end = End { reason, cursor: self.cursor };
        Frame::default().id(self.cursor.to_string()).event("end").json_data(end).unwrap_or_default()
    }
}
