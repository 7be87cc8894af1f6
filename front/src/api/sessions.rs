//! Sessions: start, list, show, delete.

use std::num::NonZeroU32;
use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use holdover_core::ids::SessionId;
use holdover_core::image::Images;
use holdover_core::message::{Mentions, MessagePolicy};
use holdover_core::mode::{Briefing, Mode};
use holdover_core::store::{
    DeleteMode, Deletion, Labels, PageCursor, PageRequest, SessionQuery, SessionStatus, TimeRange,
};
use holdover_core::time::Timestamp;
use holdover_runtime_local::Execute;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Here, Of, operation};
use crate::access::{By, ToOperate, ToRead, ToSend};
use crate::body::{Asked, Body, In, Once, check_labels};
use crate::desk::Desk;
use crate::wire::{Created, Details, Listed, NamedLabel, Page, SessionView, Started};

pub(super) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route(
            "/sessions",
            post_with(start, operation!("startSession", "sessions", "Starts a session with a message."))
                .get_with(list, operation!("listSessions", "sessions", "Lists sessions, newest first.")),
        )
        .api_route(
            "/sessions/{session}",
            get_with(show, operation!("getSession", "sessions", "Shows a session, with what it waits for."))
                .delete_with(delete, operation!("deleteSession", "sessions", "Deletes a session for ever.")),
        )
}

/// A message that starts a session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewSession")]
struct Start {
    /// The name of the agent.
    agent: String,
    /// The version of the agent. By default, the newest.
    version: Option<String>,
    /// The message.
    message: String,
    /// The id of the new session. By default, one is derived from the `Idempotency-Key` or drawn at random. If the session
    /// exists, it must have begun with the same message.
    session: Option<SessionId>,
    /// Labels by which the session can be listed.
    #[serde(default)]
    labels: Labels,
    /// The mode of the agent.
    mode: Option<Mode>,
    /// A system prompt in place of the agent's.
    system_prompt: Option<String>,
    /// Pictures for the model.
    #[serde(default)]
    images: Images,
    /// Files that the message mentions.
    #[serde(default)]
    mentions: Mentions,
    /// The instant before which the message is not taken, in milliseconds since 1970.
    not_before: Option<Timestamp>,
    /// The rule for the message if a turn of the session runs.
    policy: Option<MessagePolicy>,
}

async fn start(
    State(desk): Here,
    By(caller, _): By<ToSend>,
    Once(key): Once,
    Body(asked): Body<Start>,
) -> Answer<Created<Started>> {
    let agent = Arc::clone(desk.agent(&asked.agent, asked.version.as_deref())?);
    check_labels(&asked.labels)?;
    let first = asked.session.is_some();
    let mut request = Execute::new(caller.tenant().clone(), agent, asked.message)
        .in_session(asked.session)
        .once(key)
        .under(asked.policy)
        .at(asked.not_before)
        .labelled(asked.labels)
        .showing(asked.images)
        .mentioning(asked.mentions);
    request.briefing = Briefing { mode: asked.mode, system_prompt: asked.system_prompt };
    if first {
        request = request.first();
    }
    if desk.served_elsewhere {
        request = request.served_elsewhere();
    }
    let started = desk.runtime.start(request).await?;
    Ok(Created(Started { session: started.key.id, item: started.item, duplicate: started.duplicate }))
}

/// A filter of sessions, and a page of the list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// Only sessions with one of these statuses.
    #[serde(default)]
    status: Listed<SessionStatus>,
    /// Only sessions with these labels. The name of the agent is the label `agent`.
    #[serde(default)]
    labels: Labels,
    /// Only sessions with these labels, too, each as `name=value`, for clients that cannot send an object in a query.
    #[serde(default)]
    label: Vec<NamedLabel>,
    /// Only sessions that were created at or after this instant, in milliseconds since 1970.
    created_since: Option<Timestamp>,
    /// Only sessions that were created before this instant.
    created_before: Option<Timestamp>,
    /// Only sessions that were changed at or after this instant.
    changed_since: Option<Timestamp>,
    /// Only sessions that were changed before this instant.
    changed_before: Option<Timestamp>,
    /// The most sessions on the page: 50 by default, 200 at most.
    limit: Option<NonZeroU32>,
    /// The cursor of the page.
    after: Option<PageCursor>,
}

async fn list(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    Asked(asked): Asked<Query>,
) -> Answer<Json<Page<SessionView>>> {
    let mut labels = asked.labels;
    labels.0.extend(asked.label.into_iter().map(|NamedLabel(name, value)| (name, value)));
    let query = SessionQuery {
        status: asked.status.0,
        labels,
        created: TimeRange { since: asked.created_since, before: asked.created_before },
        changed: TimeRange { since: asked.changed_since, before: asked.changed_before },
        page: PageRequest { after: asked.after, limit: asked.limit },
        ..SessionQuery::all(caller.tenant().clone())
    };
    let page = desk.runtime.list(&query).await?;
    Ok(Json(Page { items: page.items.into_iter().map(Into::into).collect(), next: page.next }))
}

async fn show(State(desk): Here, By(caller, _): By<ToRead>, In(of): In<Of>) -> Answer<Json<Details>> {
    let key = caller.key(of.session);
    Ok(Json(Details::read(&desk.runtime, &key).await?))
}

/// The way in which a session is deleted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Delete {
    /// Also deletes a session that a run holds.
    #[serde(default)]
    force: bool,
}

async fn delete(
    State(desk): Here,
    By(caller, _): By<ToOperate>,
    In(of): In<Of>,
    Asked(how): Asked<Delete>,
) -> Answer<NoContent> {
    let mode = if how.force { DeleteMode::Force } else { DeleteMode::UnlessActive };
    desk.runtime.delete(&caller.key(of.session), Deletion { mode, ..Deletion::UNLESS_ACTIVE }).await?;
    Ok(NoContent)
}
