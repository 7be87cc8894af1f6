//! The routes of `/v1`. Each handler makes one call of the engine.

mod agents;
mod branch;
mod events;
mod health;
mod letters;
mod look;
mod messages;
mod pending;
mod queue;
mod sessions;
mod stop;

use std::sync::Arc;

use aide::axum::ApiRouter;
use axum::extract::{DefaultBodyLimit, State};
use holdover_core::ids::{PendingId, SessionId};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::desk::Desk;
use crate::problem::Problem;

/// The largest body of a request that takes neither pictures nor edits of arguments, in bytes.
const SMALL_BYTES_MAX: usize = 256 << 10;

/// The state that every handler gets.
pub(crate) type Here = State<Arc<Desk>>;

/// The answer of a handler.
type Answer<T> = Result<T, Problem>;

/// A session in the path.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Of {
    /// The id of the session.
    pub(crate) session: SessionId,
}

/// A pending call in the path.
#[derive(Deserialize, JsonSchema)]
struct OfPending {
    /// The id of the session, or of a session above it in its tree.
    session: SessionId,
    /// The id of the pending call.
    pending: PendingId,
}

pub(crate) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .merge(agents::routes())
        .merge(sessions::routes())
        .merge(messages::routes())
        .merge(queue::routes())
        .merge(pending::routes())
        .merge(small(letters::routes()))
        .merge(small(stop::routes()))
        .merge(small(branch::routes()))
        .merge(small(look::routes()))
        .merge(events::routes())
        .merge(health::routes())
}

/// Bounds the bodies of routes that take neither pictures nor edits of arguments.
fn small(routes: ApiRouter<Arc<Desk>>) -> ApiRouter<Arc<Desk>> {
    routes.layer(DefaultBodyLimit::max(SMALL_BYTES_MAX))
}

/// Describes an operation: its id, its tag and its summary.
macro_rules! operation {
    ($id:literal, $tag:literal, $summary:literal) => {
        |operation: aide::transform::TransformOperation<'_>| operation.id($id).tag($tag).summary($summary)
    };
}
pub(crate) use operation;
