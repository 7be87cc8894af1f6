//! Dead letters: sessions whose turn was given up.

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use axum::Json;
use axum::extract::State;
use holdover_core::error::ErrorInfo;
use holdover_core::ids::{PendingId, SessionId};
use holdover_core::store::PageRequest;
use holdover_core::time::Timestamp;
use holdover_runtime_local::DeadLetter;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Here, OfPending, operation};
use crate::access::{By, ToOperate, ToRead};
use crate::body::{Asked, In};
use crate::desk::Desk;
use crate::wire::{Accepted, Delivery, Page};

pub(super) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route(
            "/dead-letters",
            get_with(
                list,
                operation!("listDeadLetters", "operation", "Lists the sessions whose turn was given up."),
            ),
        )
        .api_route(
            "/sessions/{session}/dead-letters/{pending}/replay",
            post_with(
                replay,
                operation!("replayDeadLetter", "operation", "Lets a session try its turn again."),
            ),
        )
}

/// A dead letter.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DeadLetter")]
struct LetterView {
    /// The id under which the turn is tried again.
    id: PendingId,
    /// The session.
    session: SessionId,
    /// The time at which the turn was given up.
    at: Timestamp,
    /// The reason.
    error: ErrorInfo,
    /// The number of runs that died on the turn.
    attempts: u32,
    /// True if a replay was asked for.
    replayed: bool,
}

impl From<DeadLetter> for LetterView {
    fn from(of: DeadLetter) -> Self {
        let replayed = of.is_replayed();
        Self {
            id: of.call.id,
            session: of.call.key.id,
            at: of.call.opened_at,
            error: of.letter.error,
            attempts: of.letter.attempts,
            replayed,
        }
    }
}

async fn list(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    Asked(page): Asked<PageRequest>,
) -> Answer<Json<Page<LetterView>>> {
    let page = desk.runtime.dead_letters(caller.tenant(), page).await?;
    Ok(Json(Page { items: page.items.into_iter().map(Into::into).collect(), next: page.next }))
}

async fn replay(
    State(desk): Here,
    By(caller, _): By<ToOperate>,
    In(of): In<OfPending>,
) -> Answer<Accepted<Delivery>> {
    let replayed = desk.runtime.replay_letter(&caller.key(of.session), &of.pending).await?;
    Ok(Accepted(replayed.into()))
}
