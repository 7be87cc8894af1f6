//! Stops and continues turns.

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::post_with;
use axum::extract::State;
use axum::response::NoContent;
use holdover_core::ids::{CallId, SessionId, SessionKey};
use holdover_core::message::SignalBody;
use holdover_core::store::InterruptOutcome;
use holdover_runtime_local::{Delivered, is_due};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Here, Of, operation};
use crate::access::{By, ToOperate, ToSend};
use crate::body::{Body, In};
use crate::desk::Desk;
use crate::wire::{Accepted, Delivery, Repeats};

pub(super) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route(
            "/sessions/{session}/interrupt",
            post_with(
                interrupt,
                operation!("interrupt", "turns", "Stops the turn. The session stays usable."),
            ),
        )
        .api_route(
            "/sessions/{session}/abort",
            post_with(abort, operation!("abort", "operation", "Stops the session for ever.")),
        )
        .api_route(
            "/sessions/{session}/calls/{call}/stop",
            post_with(stop_call, operation!("stopCall", "turns", "Stops one call. The turn goes on.")),
        )
        .api_route(
            "/sessions/{session}/resume",
            post_with(resume, operation!("resume", "turns", "Continues a turn that was interrupted.")),
        )
        .api_route(
            "/sessions/{session}/retry",
            post_with(retry, operation!("retry", "turns", "Tries a turn again that failed.")),
        )
        .api_route(
            "/sessions/{session}/compact",
            post_with(compact, operation!("compact", "turns", "Summarises the old messages for the model.")),
        )
}

/// A reason.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "StopReason")]
struct Reason {
    /// The reason, for people.
    reason: String,
}

/// The state of a stop.
#[derive(Serialize, JsonSchema)]
struct Stopped {
    /// True if a run has yet to carry the stop out. False if there is nothing left to stop.
    waits: bool,
    /// True if nothing was stopped, but a turn is about to begin. A stop does not harm the next turn: to keep it from
    /// beginning, withdraw its message from the queue.
    due: bool,
}

impl Repeats for Stopped {
    fn is_repeat(&self) -> bool {
        !self.waits
    }
}

/// Returns the state of a session after a stop.
async fn stopped(desk: &Desk, key: &SessionKey, outcome: InterruptOutcome) -> Answer<Accepted<Stopped>> {
    let due = outcome == InterruptOutcome::AtRest
        && desk.runtime.session(key).await?.is_some_and(|session| is_due(&session, desk.runtime.now()));
    Ok(Accepted(Stopped { waits: outcome.is_waiting(), due }))
}

async fn interrupt(
    State(desk): Here,
    By(caller, _): By<ToSend>,
    In(of): In<Of>,
    Body(why): Body<Reason>,
) -> Answer<Accepted<Stopped>> {
    let key = caller.key(of.session);
    let outcome = desk.runtime.interrupt(&key, why.reason).await?;
    stopped(&desk, &key, outcome).await
}

async fn abort(
    State(desk): Here,
    By(caller, _): By<ToOperate>,
    In(of): In<Of>,
    Body(why): Body<Reason>,
) -> Answer<Accepted<Stopped>> {
    let key = caller.key(of.session);
    let outcome = desk.runtime.abort(&key, why.reason).await?;
    stopped(&desk, &key, outcome).await
}

/// A call in the path.
#[derive(Deserialize, JsonSchema)]
struct OfCall {
    /// The id of the session.
    session: SessionId,
    /// The id of the call.
    call: CallId,
}

async fn stop_call(State(desk): Here, By(caller, _): By<ToSend>, In(of): In<OfCall>) -> Answer<NoContent> {
    desk.runtime.stop_call(&caller.key(of.session), &of.call).await?;
    Ok(NoContent)
}

/// Asks the workers to continue a turn, or to summarise.
macro_rules! goes_on {
    ($($method:ident => $signal:ident),*) => {
        $(
            async fn $method(
                State(desk): Here,
                By(caller, _): By<ToSend>,
                In(of): In<Of>,
            ) -> Answer<Accepted<Delivery>> {
                desk.runtime.request_again(&caller.key(of.session), SignalBody::$signal).await?;
                Ok(Accepted(Delivered::Accepted.into()))
            }
        )*
    };
}

goes_on!(resume => Resume, retry => Retry, compact => Compact);
