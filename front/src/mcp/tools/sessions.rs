//! Starts sessions, sends messages, stops turns.

use std::sync::Arc;

use holdover_core::ids::{ItemKey, SessionId};
use holdover_core::store::Labels;
use holdover_runtime_local::{Deliver, Execute};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::asking;
use super::super::host::Host;
use super::super::offer::{Answer, Call, Effect, Offer, given, taken, told};
use super::wait::{Seconds, State, wait_and_ask};
use crate::access::May;
use crate::body::check_labels;
use crate::problem::Problem;
use crate::wire::Delivery;

pub(super) const START_SESSION: Offer = Offer {
    name: "start_session",
    title: "Start a session",
    description: "Starts a session of an agent with a message. A worker runs it. With wait_seconds, also waits for it, as the \
                  tool wait does; otherwise call wait next.",
    needs: &[May::Send],
    effect: Effect::Adds,
    takes: taken::<Start>,
    gives: told::<Started>,
    run: |host, call| Box::pin(start(host, call)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Start {
    /// The name of the agent.
    agent: String,
    /// The version of the agent. By default, the newest.
    version: Option<String>,
    /// The message.
    message: String,
    /// Labels by which the session can be listed.
    #[serde(default)]
    labels: Labels,
    /// A key under which the session is started at most once, however often the call is repeated.
    idempotency_key: Option<String>,
    /// The number of seconds to wait for the session: 300 at most. By default, the call does not wait.
    wait_seconds: Option<Seconds>,
}

/// A session that was started.
#[derive(Serialize, JsonSchema)]
struct Started {
    /// The id of the session.
    session: SessionId,
    /// True if the same call started the session before.
    duplicate: bool,
    /// The state of the session after the wait. Absent if the call did not wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<State>,
}

async fn start(host: &Host, call: Call) -> Answer {
    let asked: Start = call.arguments()?;
    let time = asked.wait_seconds.map(Seconds::time).transpose()?;
    if time.is_some() {
        host.caller.needs(May::Read)?;
    }
    // A repeat with an answer of the person goes on with the session that it names.
    let (session, duplicate) = match asking::repeated(&call)? {
        Some((before, _)) => (before.session, false),
        None => begin(host, asked).await?,
    };
    let Some(time) = time else { return given(Started { session, duplicate, state: None }) };
    let key = host.caller.key(session.clone());
    wait_and_ask(host, &call, &key, time, |state| Started { session, duplicate, state: Some(state) }).await
}

async fn begin(host: &Host, asked: Start) -> Result<(SessionId, bool), Problem> {
    let desk = &host.desk;
    let agent = Arc::clone(desk.agent(&asked.agent, asked.version.as_deref())?);
    check_labels(&asked.labels)?;
    let mut request = Execute::new(host.caller.tenant().clone(), agent, asked.message)
        .once(key_of(asked.idempotency_key)?)
        .labelled(asked.labels);
    if desk.served_elsewhere {
        request = request.served_elsewhere();
    }
    let started = desk.runtime.start(request).await?;
    Ok((started.key.id, started.duplicate))
}

fn key_of(key: Option<String>) -> Result<Option<ItemKey>, Problem> {
    key.map(ItemKey::new).transpose().map_err(|why| Problem::invalid(format!("idempotency_key: {why}")))
}

pub(super) const SEND_MESSAGE: Offer = Offer {
    name: "send_message",
    title: "Send a message",
    description: "Sends a message to a session. It begins a turn, or joins the one that runs. Then call wait.",
    needs: &[May::Send],
    effect: Effect::Adds,
    takes: taken::<Message>,
    gives: told::<Delivery>,
    run: |host, call| Box::pin(send(host, call)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Message {
    /// The id of the session.
    session: SessionId,
    /// The text.
    text: String,
    /// A key under which the message is delivered at most once, however often the call is repeated.
    idempotency_key: Option<String>,
}

async fn send(host: &Host, call: Call) -> Answer {
    let said: Message = call.arguments()?;
    let deliver = Deliver::message(said.text).once(key_of(said.idempotency_key)?);
    let delivered = host.desk.runtime.deliver_item(&host.caller.key(said.session), deliver).await?;
    given(Delivery::from(delivered))
}

pub(super) const INTERRUPT: Offer = Offer {
    name: "interrupt",
    title: "Stop the turn",
    description: "Stops the turn of a session. The session stays usable: a message begins a new turn.",
    needs: &[May::Send],
    effect: Effect::Final,
    takes: taken::<Interrupt>,
    gives: told::<Stopped>,
    run: |host, call| Box::pin(interrupt(host, call)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Interrupt {
    /// The id of the session.
    session: SessionId,
    /// The reason, for people.
    reason: String,
}

#[derive(Serialize, JsonSchema)]
struct Stopped {
    /// True if a run has yet to carry the stop out. False if there is nothing left to stop.
    waits: bool,
}

async fn interrupt(host: &Host, call: Call) -> Answer {
    let asked: Interrupt = call.arguments()?;
    let outcome = host.desk.runtime.interrupt(&host.caller.key(asked.session), asked.reason).await?;
    given(Stopped { waits: outcome.is_waiting() })
}
