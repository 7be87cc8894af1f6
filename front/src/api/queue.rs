//! Messages that no turn has taken yet.

use std::num::NonZeroU32;
use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, put_with};
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use holdover_core::ids::{InboxSeq, ItemKey, SessionId};
use holdover_core::message::{Mentions, MessagePolicy};
use holdover_core::time::Timestamp;
use holdover_runtime_local::QueuedMessage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Here, Of, operation};
use crate::access::{By, ToRead, ToSend};
use crate::body::{Asked, Body, In};
use crate::desk::Desk;

/// The most messages in one answer.
const QUEUED_MAX: u32 = 200;

pub(super) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route(
            "/sessions/{session}/queue",
            get_with(
                list,
                operation!("listQueue", "messages", "Lists the messages that no turn has taken yet."),
            ),
        )
        .api_route(
            "/sessions/{session}/queue/{item}",
            put_with(
                replace,
                operation!("replaceQueued", "messages", "Replaces a message that no turn has taken yet."),
            )
            .delete_with(
                withdraw,
                operation!("withdrawQueued", "messages", "Withdraws a message that no turn has taken yet."),
            ),
        )
}

/// A message that no turn has taken yet.
#[derive(Serialize, JsonSchema)]
struct Queued {
    /// The number of the message in the inbox.
    item: InboxSeq,
    /// The key of the message.
    key: ItemKey,
    /// The time of the delivery.
    at: Timestamp,
    /// The text.
    text: String,
    /// The rule for the message while a turn runs. Absent if it is that of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<MessagePolicy>,
    /// The instant before which no turn takes the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<Timestamp>,
    /// The files that the message mentions.
    mentions: Mentions,
}

impl From<QueuedMessage> for Queued {
    fn from(of: QueuedMessage) -> Self {
        let QueuedMessage { item, key, at, text, policy, not_before, mentions, .. } = of;
        Self { item, key, at, text, policy, not_before, mentions }
    }
}

/// The part of the queue that is listed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Since {
    /// The number of the last message that was read. 0 stands for the beginning.
    #[serde(default)]
    after: InboxSeq,
    /// The most messages: 200 at most, and by default.
    limit: Option<NonZeroU32>,
}

/// A part of the queue.
#[derive(Serialize, JsonSchema)]
struct QueuedPage {
    /// The messages, in order of arrival.
    items: Vec<Queued>,
    /// The number from which to read on. Absent if these are the last messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<InboxSeq>,
}

async fn list(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    In(of): In<Of>,
    Asked(since): Asked<Since>,
) -> Answer<Json<QueuedPage>> {
    let limit = since.limit.map_or(QUEUED_MAX, NonZeroU32::get).min(QUEUED_MAX);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // A later item may change any message, so the whole inbox is read.
    let queued = desk.runtime.queued(&caller.key(of.session)).await?;
    let mut rest = queued.into_iter().filter(|queued| queued.item > since.after).map(Queued::from);
    let items: Vec<Queued> = rest.by_ref().take(limit).collect();
    let next = rest.next().and_then(|_| items.last().map(|last| last.item));
    Ok(Json(QueuedPage { items, next }))
}

/// A queued message in the path.
#[derive(Deserialize, JsonSchema)]
struct OfItem {
    /// The id of the session.
    session: SessionId,
    /// The number of the message in the inbox.
    item: InboxSeq,
}

/// The new content of a queued message.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "QueuedReplacement")]
struct Replacement {
    /// The new text.
    text: String,
    /// The files that it mentions.
    #[serde(default)]
    mentions: Mentions,
}

async fn replace(
    State(desk): Here,
    By(caller, _): By<ToSend>,
    In(of): In<OfItem>,
    Body(new): Body<Replacement>,
) -> Answer<NoContent> {
    let key = caller.key(of.session);
    desk.runtime.replace_mentioning(&key, of.item, new.text, new.mentions).await?;
    Ok(NoContent)
}

async fn withdraw(State(desk): Here, By(caller, _): By<ToSend>, In(of): In<OfItem>) -> Answer<NoContent> {
    desk.runtime.withdraw(&caller.key(of.session), of.item).await?;
    Ok(NoContent)
}
