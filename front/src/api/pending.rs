//! Calls that wait for an answer: lists, decisions, and answers of clients.

use std::num::NonZeroU32;
use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use holdover_core::custom::StateChange;
use holdover_core::gate::ArgumentPatterns;
use holdover_core::image::Images;
use holdover_core::message::{ClientAnswer, Settlement};
use holdover_core::payload::Digest;
use holdover_core::store::{PageCursor, PageRequest, PendingKind, PendingQuery};
use holdover_runtime_local::{Approval, Denial};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Here, Of, OfPending, operation};
use crate::access::{By, ToDecide, ToRead, ToSend};
use crate::body::{Asked, Body, In};
use crate::desk::Desk;
use crate::problem::Problem;
use crate::wire::{Accepted, Delivery, PendingList, PendingView};

pub(super) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route(
            "/pending",
            get_with(
                list,
                operation!(
                    "listPending",
                    "pending",
                    "Lists the calls of all sessions that wait for an answer."
                ),
            ),
        )
        .api_route(
            "/sessions/{session}/pending",
            get_with(
                of_session,
                operation!(
                    "listPendingOfSession",
                    "pending",
                    "Lists the calls of a session and its children that wait."
                ),
            ),
        )
        .api_route(
            "/sessions/{session}/pending/{pending}",
            get_with(show, operation!("getPending", "pending", "Shows a call that waits for an answer.")),
        )
        .api_route(
            "/sessions/{session}/pending/{pending}/approve",
            post_with(
                approve,
                operation!("approve", "pending", "Approves a call, as it was shown or edited."),
            ),
        )
        .api_route(
            "/sessions/{session}/pending/{pending}/deny",
            post_with(deny, operation!("deny", "pending", "Denies a call.")),
        )
        .api_route(
            "/sessions/{session}/pending/{pending}/answer",
            post_with(answer, operation!("answer", "pending", "Answers a call that a client runs.")),
        )
        .api_route(
            "/sessions/{session}/pending/{pending}/settle",
            post_with(settle, operation!("settle", "pending", "Says what became of a call in doubt.")),
        )
}

/// A filter of pending calls, and a page of the list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// Only calls that wait for this kind of answer.
    kind: Option<PendingKind>,
    /// The most calls on the page: 50 by default, 200 at most.
    limit: Option<NonZeroU32>,
    /// The cursor of the page.
    after: Option<PageCursor>,
}

async fn list(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    Asked(asked): Asked<Query>,
) -> Answer<Json<PendingList>> {
    let page = PageRequest { after: asked.after, limit: asked.limit };
    let query = PendingQuery { kind: asked.kind, page, ..PendingQuery::all(caller.tenant().clone()) };
    Ok(Json(desk.runtime.list_pending(&query).await?.into()))
}

async fn of_session(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    In(of): In<Of>,
) -> Answer<Json<PendingList>> {
    let standing = desk.runtime.standing(&caller.key(of.session)).await?;
    Ok(Json(PendingList::of(standing.pending, standing.unreadable)))
}

async fn show(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    In(of): In<OfPending>,
) -> Answer<Json<PendingView>> {
    let found = desk.runtime.pending_call(&caller.key(of.session), &of.pending).await?;
    let gone = || Problem::new(StatusCode::GONE, "not_pending", format!("call {}: it is closed", of.pending));
    let found = found.ok_or_else(gone);
    Ok(Json(found?.into()))
}

/// An approval. Its author is the caller.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Approval")]
struct Approve {
    /// The digest of the arguments that the person saw.
    digest: Digest,
    /// Arguments, as JSON text, with which the call runs instead.
    arguments: Option<String>,
    /// The reason.
    reason: Option<String>,
    /// Also approves later calls of this tool in this session.
    #[serde(default)]
    always: bool,
    /// Limits `always` to calls whose arguments match.
    #[serde(default)]
    only: ArgumentPatterns,
}

async fn approve(
    State(desk): Here,
    By(caller, _): By<ToDecide>,
    In(of): In<OfPending>,
    Body(said): Body<Approve>,
) -> Answer<Accepted<Delivery>> {
    let key = caller.key(of.session.clone());
    desk.refuse_unseen(&key, &of.pending, said.digest).await?;
    let mut approval =
        Approval::from(caller.name().map(str::to_owned)).reason(said.reason).arguments(said.arguments);
    (approval.always, approval.only) = (said.always, said.only);
    Ok(Accepted(desk.runtime.approve(&key, &of.pending, approval).await?.into()))
}

/// A denial. Its author is the caller.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Denial")]
struct Deny {
    /// The digest of the arguments that the person saw.
    digest: Digest,
    /// The reason. The model reads it.
    reason: Option<String>,
    /// Also cancels the other calls of the step.
    #[serde(default)]
    aborts: bool,
}

async fn deny(
    State(desk): Here,
    By(caller, _): By<ToDecide>,
    In(of): In<OfPending>,
    Body(said): Body<Deny>,
) -> Answer<Accepted<Delivery>> {
    let key = caller.key(of.session.clone());
    desk.refuse_unseen(&key, &of.pending, said.digest).await?;
    let denial = Denial::from(caller.name().map(str::to_owned)).reason(said.reason).aborting(said.aborts);
    Ok(Accepted(desk.runtime.deny(&key, &of.pending, denial).await?.into()))
}

/// The answer of a client that ran a call.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ClientAnswer")]
struct Answered {
    /// The digest of the arguments with which the call was run.
    digest: Digest,
    /// The text that the model reads.
    content: String,
    /// True if the client could not run the call. The text then says why.
    #[serde(default)]
    is_error: bool,
    /// Pictures for the model.
    #[serde(default)]
    images: Images,
    /// Changes to the custom state of the session.
    #[serde(default)]
    changes: Vec<StateChange>,
}

async fn answer(
    State(desk): Here,
    By(caller, _): By<ToSend>,
    In(of): In<OfPending>,
    Body(said): Body<Answered>,
) -> Answer<Accepted<Delivery>> {
    let key = caller.key(of.session.clone());
    desk.refuse_unseen(&key, &of.pending, said.digest).await?;
    let answer =
        if said.is_error { ClientAnswer::failed(said.content) } else { ClientAnswer::done(said.content) };
    let answer = answer.showing(said.images).changing(said.changes);
    Ok(Accepted(desk.runtime.answer(&key, &of.pending, answer).await?.into()))
}

/// A finding about a call in doubt. The author is the caller.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewSettlement")]
struct Settle {
    /// The digest of the arguments of the call.
    digest: Digest,
    /// True if the call was done, false if it did not act.
    done: bool,
    /// The result of the call, if it was done.
    #[serde(default)]
    result: String,
    /// The way in which this was found out.
    reason: Option<String>,
}

async fn settle(
    State(desk): Here,
    By(caller, _): By<ToDecide>,
    In(of): In<OfPending>,
    Body(said): Body<Settle>,
) -> Answer<Accepted<Delivery>> {
    let key = caller.key(of.session.clone());
    desk.refuse_unseen(&key, &of.pending, said.digest).await?;
    let mut settlement = if said.done { Settlement::done(said.result) } else { Settlement::not_done() };
    settlement.reason = said.reason;
    settlement.by = caller.name().map(str::to_owned);
    Ok(Accepted(desk.runtime.settle(&key, &of.pending, settlement).await?.into()))
}
