//! The route for the outcomes of tasks that this program gave.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use holdover_core::children::ChildNames;
use holdover_core::remote::Remote;
use holdover_runtime_local::{RuntimeError, RuntimeErrorKind};

use crate::address::Claimed;
use crate::body::Body;
use crate::problem::Problem;
use crate::router::Desk;
use crate::token::token_of;
use crate::words::Told;

/// Handles `POST /outcomes/{token}`.
pub(crate) async fn take(
    State(desk): State<Arc<Desk>>,
    token: Result<Path<String>, PathRejection>,
    Body(told): Body<Told<'static>>,
) -> Result<StatusCode, Problem> {
    let claimed = token.ok().and_then(|Path(token)| Claimed::read(&token)).ok_or_else(unknown)?;
    let parent = &claimed.parent;
    let waits = desk.runtime.waits_elsewhere(&parent.session, &parent.pending).await;
    let remote = match waits {
        Ok(waits) => waits.ok_or_else(nobody)?,
        Err(error) if is_gone(&error) => return Err(nobody()),
        Err(error) => return Err(error.into()),
    };
    if !claimed.is_signed_with(&key_of(&remote)?) {
        return Err(unknown());
    }
    let names = ChildNames::of(&parent.pending, parent.index).map_err(|_| unknown())?;
    if names.id != told.id {
        return Err(Problem::invalid("id: this address is for the outcome of another task"));
    }
    match desk.runtime.task_ended(parent, told.outcome.into_owned()).await {
        Ok(()) => Ok(StatusCode::OK),
        Err(error) if is_gone(&error) => Err(nobody()),
        Err(error) => Err(error.into()),
    }
}

/// Returns the key that signs the addresses for outcomes from this remote agent: its token, or an empty key if it
/// requires no token.
fn key_of(remote: &Remote) -> Result<String, Problem> {
    match token_of(remote) {
        Ok(token) => Ok(token.unwrap_or_default()),
        Err(why) => {
            tracing::error!("an outcome from elsewhere cannot be checked: {why}");
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "outcomes cannot be checked now"))
        }
    }
}

fn is_gone(error: &RuntimeError) -> bool {
    [RuntimeErrorKind::NotFound, RuntimeErrorKind::Gone].contains(&error.kind())
}

fn unknown() -> Problem {
    Problem::not_found("this is no address for outcomes")
}

fn nobody() -> Problem {
    Problem::new(StatusCode::GONE, "nobody waits for this outcome")
}
