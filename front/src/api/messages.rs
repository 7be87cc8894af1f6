//! Messages: the transcript, and new messages.

use std::num::NonZeroU32;
use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use axum::Json;
use axum::extract::State;
use holdover_core::ids::MessageSeq;
use holdover_core::image::Images;
use holdover_core::message::{Mentions, MessagePolicy};
use holdover_core::mode::{Briefing, Mode};
use holdover_core::store::Wake;
use holdover_core::time::Timestamp;
use holdover_runtime_local::Deliver;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Here, Of, operation};
use crate::access::{By, ToRead, ToSend};
use crate::body::{Asked, Body, In, Once};
use crate::desk::Desk;
use crate::problem::Problem;
use crate::wire::{Accepted, Delivery, Transcript};

pub(super) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route(
            "/sessions/{session}/messages",
            get_with(
                list,
                operation!("listMessages", "messages", "Reads the transcript, oldest message first."),
            )
            .post_with(send, operation!("sendMessage", "messages", "Sends a message to a session.")),
        )
        .api_route(
            "/sessions/{session}/corrections",
            post_with(
                correct,
                operation!("sendCorrection", "messages", "Corrects the course of a turn that runs."),
            ),
        )
}

/// The part of a transcript that is read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Since {
    /// The position of the last message that was read. 0 stands for the beginning.
    #[serde(default)]
    after: MessageSeq,
    /// The most messages: 200 at most, and by default. An answer has at most 8 MiB, so it may have fewer.
    limit: Option<NonZeroU32>,
}

async fn list(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    In(of): In<Of>,
    Asked(since): Asked<Since>,
) -> Answer<Json<Transcript>> {
    Ok(Json(Transcript::read(&desk.runtime, &caller.key(of.session), since.after, since.limit).await?))
}

/// A message to a session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewMessage")]
struct Sent {
    /// The text.
    text: String,
    /// The position of a message that this one replaces. All that came after it is hidden from the model, and a turn that
    /// runs is stopped.
    instead_of: Option<MessageSeq>,
    /// The rule for the message while a turn runs or is parked. By default, that of the agent.
    policy: Option<MessagePolicy>,
    /// The rule for waking the session.
    wake: Option<Wake>,
    /// The mode of the agent from this message on.
    mode: Option<Mode>,
    /// A system prompt in place of the agent's from this message on. An empty text restores the agent's own.
    system_prompt: Option<String>,
    /// Pictures for the model.
    #[serde(default)]
    images: Images,
    /// Files that the message mentions.
    #[serde(default)]
    mentions: Mentions,
    /// The instant before which the message is not taken, in milliseconds since 1970.
    not_before: Option<Timestamp>,
}

async fn send(
    State(desk): Here,
    By(caller, _): By<ToSend>,
    In(of): In<Of>,
    Once(key): Once,
    Body(sent): Body<Sent>,
) -> Answer<Accepted<Delivery>> {
    let briefing = Briefing { mode: sent.mode, system_prompt: sent.system_prompt };
    let deliver = match sent.instead_of {
        Some(_) if sent.policy.is_some() || sent.wake.is_some() => {
            return Err(Problem::invalid(
                "instead_of: a message in place of another has no policy and no wake",
            ));
        }
        Some(earlier) => Deliver::instead_of(earlier, sent.text),
        None => Deliver::message_that(sent.text, sent.wake.unwrap_or_default()).under(sent.policy),
    };
    let deliver = deliver.briefed(briefing).showing(sent.images).mentioning(sent.mentions);
    let deliver = deliver.at(sent.not_before).once(key);
    let delivered = desk.runtime.deliver_item(&caller.key(of.session), deliver).await?;
    Ok(Accepted(delivered.into()))
}

/// A correction. Its author is the caller.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Correction {
    /// The text. The model reads it before its next call.
    text: String,
}

async fn correct(
    State(desk): Here,
    By(caller, _): By<ToSend>,
    In(of): In<Of>,
    Once(key): Once,
    Body(said): Body<Correction>,
) -> Answer<Accepted<Delivery>> {
    let name = caller.name().unwrap_or("front").to_owned();
    let deliver = Deliver::correction(name, said.text).once(key);
    let delivered = desk.runtime.deliver_item(&caller.key(of.session), deliver).await?;
    Ok(Accepted(delivered.into()))
}
