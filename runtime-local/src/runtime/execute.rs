//! Starts a turn with a message.

use std::sync::Arc;

use holdover_core::agent::AgentSpec;
use holdover_core::children::ReplyTo;
use holdover_core::engine::{
    STATE_FORMAT, STATE_FORMAT_ALONE, STATE_FORMAT_LATER, STATE_FORMAT_LED, STATE_FORMAT_LINKED,
};
use holdover_core::ids::{Incarnation, InvalidId, ItemKey, SessionId, SessionKey, StateFormat, TenantId};
use holdover_core::image::Images;
use holdover_core::message::{Mentions, MessagePolicy, Said};
use holdover_core::mode::{Briefing, Mode};
use holdover_core::payload::{Digest, Payload};
use holdover_core::store::{InboxItem, Labels, NewSession, Start, Wake};
use holdover_core::time::Timestamp;
use uuid::Uuid;

use super::keys::{self, Once};
use super::mailbox::kind_of;
use super::named;
use super::recorded::AgentRecord;
use crate::agent::Agent;
use crate::error::RuntimeError;
use crate::host::draw_id;

/// A message that starts a turn, in a new or an existing session.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Execute {
    /// The tenant of the session.
    pub tenant: TenantId,
    /// The session. If none is given, the session of the idempotency key is used; without a key, a new session is
    /// created.
    pub session: Option<SessionId>,
    /// The agent that answers. An existing session keeps the version of the agent that it was created with.
    pub agent: Arc<Agent>,
    /// The text of the message.
    pub message: String,
    /// The idempotency key: at most one turn is started under it, however often the message is sent (INV-27).
    /// It is a key of messages, as in [`Deliver::once`](super::Deliver::once).
    pub idempotency_key: Option<ItemKey>,
    /// True if this is the first message of its session. Such a message needs no idempotency key.
    pub first: bool,
    /// The policy for the message while a turn of the session runs or is parked. If none is set, the agent's policy
    /// applies. If the agent has none either, [`execute`](super::Runtime::execute) [refuses](RuntimeError::Held) the
    /// message while a run holds the session, and takes a parked session up with the message.
    pub policy: Option<MessagePolicy>,
    /// The labels of a new session, by which it can be listed.
    pub labels: Labels,
    /// The mode and system prompt of the agent from this message on.
    pub briefing: Briefing,
    /// The pictures of the message.
    pub images: Images,
    /// The files that the message mentions, as its sender saw them.
    pub mentions: Mentions,
    /// True if another program may serve the agent when it is not found here.
    pub served_elsewhere: bool,
    /// The instant, on the store's clock, before which no turn takes the message. `None`: now.
    pub not_before: Option<Timestamp>,
    /// The address in another program that gets the outcome of the turn, too.
    reply: Option<Box<ReplyTo>>,
}

impl Execute {
    /// Creates a message to `agent`, in a new session of `tenant`.
    pub fn new(tenant: TenantId, agent: Arc<Agent>, message: impl Into<String>) -> Self {
        Self {
            tenant,
            session: None,
            agent,
            message: message.into(),
            idempotency_key: None,
            first: false,
            policy: None,
            labels: Labels::default(),
            briefing: Briefing::default(),
            images: Images::none(),
            mentions: Mentions::none(),
            served_elsewhere: false,
            not_before: None,
            reply: None,
        }
    }

    /// Allows a new session whose agent is not found in this program, because another program serves it with
    /// a source that has the agent. Otherwise such a session is [refused](RuntimeError::NotServed).
    #[must_use]
    pub fn served_elsewhere(self) -> Self {
        Self { served_elsewhere: true, ..self }
    }

    /// Sets the session. It is created if it does not exist.
    #[must_use]
    pub fn in_session(self, session: impl Into<Option<SessionId>>) -> Self {
        Self { session: session.into(), ..self }
    }

    /// Starts at most one turn under this key.
    #[must_use]
    pub fn once(self, idempotency_key: impl Into<Option<ItemKey>>) -> Self {
        Self { idempotency_key: idempotency_key.into(), ..self }
    }

    /// Sends the message as the first of its session. A repeat starts nothing, and a different first message is
    /// [refused](RuntimeError::NotFirst). Use this for sessions whose id the caller chooses.
    #[must_use]
    pub fn first(self) -> Self {
        Self { first: true, ..self }
    }

    /// Sets the policy for the message while a turn of the session runs or is parked.
    #[must_use]
    pub fn under(self, policy: impl Into<Option<MessagePolicy>>) -> Self {
        Self { policy: policy.into(), ..self }
    }

    /// Sends the message for later: no turn takes it before this instant on the store's clock, whatever else happens to
    /// the session. The session wakes up for it by itself, so a worker must serve it then, or a caller must wait for it. A
    /// message with an instant in the past is taken at once. Until a turn takes it, the message is
    /// [queued](super::Runtime::queued), and can be [withdrawn](super::Runtime::withdraw). With the policy
    /// [`Reject`](MessagePolicy::Reject), it is accepted while a turn runs, and waits for the end of the turn that runs at
    /// the instant.
    #[must_use]
    pub fn at(self, not_before: impl Into<Option<Timestamp>>) -> Self {
        Self { not_before: not_before.into(), ..self }
    }

    /// Sets the labels of a new session, by which it can be listed: user, tags, metadata. The runtime adds
    /// labels for the agent's name and version ([`AGENT`](Labels::AGENT),
    /// [`AGENT_VERSION`](Labels::AGENT_VERSION)) and for this [program](Labels::PROGRAM).
    #[must_use]
    pub fn labelled(self, labels: Labels) -> Self {
        Self { labels, ..self }
    }

    /// Sets the pictures of the message, and replaces any that were set before.
    #[must_use]
    pub fn showing(self, images: Images) -> Self {
        Self { images, ..self }
    }

    /// Sets the files that the message mentions, as the sender saw them, and replaces any that were set before. They
    /// are stored with the message and shown to hooks and in events, and the model is told their paths and sizes. A
    /// message that is sent again under its key is the same message, whatever became of the files.
    #[must_use]
    pub fn mentioning(self, mentions: Mentions) -> Self {
        Self { mentions, ..self }
    }

    /// Sets the mode from this message on.
    #[must_use]
    pub fn in_mode(mut self, mode: Mode) -> Self {
        self.briefing.mode = Some(mode);
        self
    }

    /// Sets a system prompt from this message on. It replaces the agent's whole prompt: mode paragraph,
    /// identity, index of skills and instructions. Tools and skills stay. An empty prompt restores the
    /// agent's own.
    #[must_use]
    pub fn system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.briefing.system_prompt = Some(prompt.into());
        self
    }

    /// Returns the session of the message, or `None` if it is a new session whose id is not drawn yet.
    pub fn session_key(&self) -> Result<Option<SessionKey>, RuntimeError> {
        let id = match (&self.session, &self.idempotency_key) {
            (Some(id), _) => id.clone(),
            (None, Some(key)) => derived_id(&self.tenant, key)?,
            (None, None) => return Ok(None),
        };
        Ok(Some(SessionKey::new(self.tenant.clone(), id)))
    }

    /// Sets an address that gets the outcome of the turn, too.
    pub(super) fn replying(self, reply: ReplyTo) -> Self {
        Self { reply: Some(Box::new(reply)), ..self }
    }

    pub(super) fn prepare(self) -> Result<Prepared, RuntimeError> {
        let derived = self.session.is_none() && self.idempotency_key.is_some();
        let key = match self.session_key()? {
            Some(key) => key,
            None => SessionKey::new(self.tenant.clone(), SessionId::new(Uuid::now_v7().to_string())?),
        };
        let Self { policy, briefing, images, mentions, reply, not_before, .. } = self;
        // A worker of an older format would not send the outcome to the address.
        let linked = if reply.is_some() { STATE_FORMAT_LINKED } else { STATE_FORMAT_ALONE };
        let led = led_by(self.agent.spec()).unwrap_or(linked);
        // One of an older format would not set the alarm again.
        let format = if not_before.is_some() { led.max(STATE_FORMAT_LATER) } else { led };
        let said = Said { policy, briefing, images, mentions, reply, not_before, ..Said::new(self.message) };
        let payload = Payload::json(&said);
        let once = match self.idempotency_key {
            _ if self.first => Once::First,
            Some(key) => Once::Key(key),
            None => Once::Never,
        };
        let item = InboxItem {
            key: keys::of_message(&once)?,
            kind: kind_of(not_before, Wake::Now)?,
            incarnation: None,
            payload: payload.map_err(|error| RuntimeError::unreadable(&key, "message", error))?,
        };
        let (labels, served_elsewhere) = (self.labels, self.served_elsewhere);
        let agent = self.agent.record();
        Ok(Prepared { key, derived, agent, once, item, policy, labels, served_elsewhere, not_before, format })
    }
}

/// Returns the format of the sessions of an agent that a procedure or code leads. A worker of an older format would not
/// follow the procedure, or would ask a model in place of code.
pub(super) fn led_by(spec: &AgentSpec) -> Option<StateFormat> {
    match spec {
        spec if spec.planned => Some(STATE_FORMAT),
        spec if spec.procedure.is_some() => Some(STATE_FORMAT_LED),
        _ => None,
    }
}

/// Returns the id of the session that belongs to an idempotency key. It is the same in every process, for
/// ever.
fn derived_id(tenant: &TenantId, key: &ItemKey) -> Result<SessionId, InvalidId> {
    let text = format!("holdover session\0{}\0{tenant}\0{key}", tenant.as_str().len());
    let digest = Digest::of(text.as_bytes()).to_string();
    SessionId::new(format!("k-{}", &digest[..40]))
}

pub(super) struct Prepared {
    pub(super) key: SessionKey,
    /// True if the id of the session was derived from the idempotency key.
    pub(super) derived: bool,
    pub(super) agent: AgentRecord,
    pub(super) once: Once,
    pub(super) item: InboxItem,
    pub(super) policy: Option<MessagePolicy>,
    pub(super) labels: Labels,
    pub(super) served_elsewhere: bool,
    pub(super) not_before: Option<Timestamp>,
    pub(super) format: StateFormat,
}

impl Prepared {
    pub(super) fn new_session(&self, program: &str, start: Start, items: Vec<InboxItem>) -> NewSession {
        NewSession {
            key: self.key.clone(),
            incarnation: Incarnation(Uuid::new_v4()),
            operation: draw_id(),
            queue: self.agent.queue.clone(),
            labels: named::labelled(self.labels.clone(), &self.agent, program),
            definition: self.agent.definition.clone(),
            format: self.format,
            items,
            start,
        }
    }
}
