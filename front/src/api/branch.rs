//! Sessions that begin from another one: forks and handoffs.

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use axum::Json;
use axum::extract::State;
use holdover_core::ids::{CheckpointId, MessageSeq, OperationId, SessionId};
use holdover_core::store::{Labels, PageRequest, SessionStatus};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{Fork, HandOff};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Here, Of, operation};
use crate::access::{By, ToRead, ToSend};
use crate::body::{Asked, Body, In, Once, check_labels};
use crate::desk::Desk;
use crate::problem::Problem;
use crate::wire::{Created, Page, Repeats};

pub(super) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route(
            "/sessions/{session}/fork",
            post_with(
                fork,
                operation!("forkSession", "branches", "Copies a session up to a checkpoint into a new one."),
            ),
        )
        .api_route(
            "/sessions/{session}/handoff",
            post_with(
                hand_off,
                operation!(
                    "handOff",
                    "branches",
                    "Begins a session that works on a goal, with an extract of this one."
                ),
            ),
        )
        .api_route(
            "/sessions/{session}/checkpoints",
            get_with(
                checkpoints,
                operation!("listCheckpoints", "branches", "Lists the checkpoints, newest first."),
            ),
        )
}

/// Where a fork begins.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForkFrom {
    /// The checkpoint. By default, the newest.
    at: Option<CheckpointId>,
    /// The id of the new session. By default, one is derived from the `Idempotency-Key` or drawn at random.
    to: Option<SessionId>,
    /// Labels in addition to those of the source.
    #[serde(default)]
    labels: Labels,
}

/// A fork.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Fork")]
struct ForkView {
    /// The new session.
    session: SessionId,
    /// The checkpoint from which it began. Absent if a key was given without a checkpoint: a repeat cannot tell which one was
    /// the newest at the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<CheckpointId>,
    /// The status of the fork.
    status: SessionStatus,
}

impl Repeats for ForkView {
    fn is_repeat(&self) -> bool {
        false
    }
}

async fn fork(
    State(desk): Here,
    By(caller, _): By<ToSend>,
    In(of): In<Of>,
    Once(key): Once,
    Body(from): Body<ForkFrom>,
) -> Answer<Created<ForkView>> {
    check_labels(&from.labels)?;
    let tells_at = key.is_none() || from.at.is_some();
    let fork = from.at.map_or_else(Fork::newest, Fork::at);
    let fork = from.labels.0.into_iter().fold(fork, |fork, (name, value)| fork.label(name, value));
    let fork = from.to.into_iter().fold(fork, Fork::to);
    let once = key.map(|key| OperationId::new(key.as_str())).transpose();
    let once = once.map_err(|why| Problem::invalid(format!("Idempotency-Key: {why}")))?;
    let fork = once.into_iter().fold(fork, Fork::once);
    let forked = desk.runtime.fork(&caller.key(of.session), fork).await?;
    let at = Some(forked.at).filter(|_| tells_at);
    Ok(Created(ForkView { session: forked.key.id, at, status: forked.status }))
}

/// The work of the new session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewGoal {
    /// The goal.
    goal: String,
    /// The agent that works on it. By default, that of the source.
    agent: Option<String>,
    /// The version of that agent. By default, the newest.
    version: Option<String>,
    /// Lets the new session wait until it is resumed or gets a message.
    #[serde(default)]
    draft: bool,
    /// The checkpoint. By default, the newest.
    at: Option<CheckpointId>,
    /// The id of the new session. By default, one is derived from the `Idempotency-Key` or drawn at random.
    to: Option<SessionId>,
    /// Labels in addition to those of the source.
    #[serde(default)]
    labels: Labels,
}

/// A session that works on a goal.
#[derive(Serialize, JsonSchema)]
struct HandedOff {
    /// The new session.
    session: SessionId,
}

impl Repeats for HandedOff {
    fn is_repeat(&self) -> bool {
        false
    }
}

async fn hand_off(
    State(desk): Here,
    By(caller, _): By<ToSend>,
    In(of): In<Of>,
    Once(key): Once,
    Body(new): Body<NewGoal>,
) -> Answer<Created<HandedOff>> {
    check_labels(&new.labels)?;
    let mut handoff = HandOff::for_goal(new.goal).once(key);
    if let Some(name) = &new.agent {
        handoff = handoff.by(Arc::clone(desk.agent(name, new.version.as_deref())?));
    }
    if desk.served_elsewhere {
        handoff = handoff.served_elsewhere();
    }
    if new.draft {
        handoff = handoff.draft();
    }
    handoff = new.at.into_iter().fold(handoff, HandOff::at);
    handoff = new.to.into_iter().fold(handoff, HandOff::to);
    handoff = new.labels.0.into_iter().fold(handoff, |handoff, (name, value)| handoff.label(name, value));
    let handed = desk.runtime.hand_off(&caller.key(of.session), handoff).await?;
    Ok(Created(HandedOff { session: handed.key.id }))
}

/// A checkpoint.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Checkpoint")]
struct CheckpointView {
    /// The id of the checkpoint.
    id: CheckpointId,
    /// The position of the newest message at the checkpoint.
    last_message: MessageSeq,
    /// The time of the checkpoint.
    at: Timestamp,
    /// The state of the session's machine at the checkpoint.
    state: String,
}

async fn checkpoints(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    In(of): In<Of>,
    Asked(page): Asked<PageRequest>,
) -> Answer<Json<Page<CheckpointView>>> {
    let page = desk.runtime.checkpoints(&caller.key(of.session), page).await?;
    let items = page.items.into_iter().map(|entry| CheckpointView {
        id: entry.checkpoint.id,
        last_message: entry.checkpoint.last_message,
        at: entry.checkpoint.at,
        state: entry.machine.state.kind().as_str().to_owned(),
    });
    Ok(Json(Page { items: items.collect(), next: page.next }))
}
