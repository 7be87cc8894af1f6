//! Agents as their sessions record them. A process that lacks the code of an agent can start sessions of it.

use holdover_core::engine::STATE_FORMAT_ALONE;
use holdover_core::ids::{ItemKey, QueueLabel, SessionId, SessionKey, TenantId};
use holdover_core::message::Said;
use holdover_core::payload::Payload;
use holdover_core::store::{InboxItem, Labels, Wake};
use serde::{Deserialize, Serialize};

use super::execute::{Prepared, led_by};
use super::keys::{self, Once};
use super::mailbox::kind_of;
use super::{Runtime, Started};
use crate::agent::{Agent, Definition};
use crate::error::RuntimeError;

/// An agent as its sessions record it: everything that a new session needs, without code. It can be written and read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct AgentRecord {
    pub(super) label: QueueLabel,
    pub(super) queue: QueueLabel,
    pub(super) name: String,
    pub(super) version: Option<String>,
    pub(super) definition: Payload,
}

impl AgentRecord {
    /// Returns the label of the agent: its name, and `@version` if it has one.
    pub fn label(&self) -> &QueueLabel {
        &self.label
    }

    /// Returns the queue under which sessions of the agent wait.
    pub fn queue(&self) -> &QueueLabel {
        &self.queue
    }

    /// Returns the definition that is stored with each session: a [`Definition`] as JSON.
    pub fn definition(&self) -> &Payload {
        &self.definition
    }
}

/// The written form of an agent record.
#[derive(Serialize, Deserialize)]
struct Written {
    label: QueueLabel,
    queue: QueueLabel,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    definition: String,
}

impl TryFrom<Written> for AgentRecord {
    type Error = serde_json::Error;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let Written { label, queue, version, definition } = written;
        let definition = Payload::new(definition.into_bytes());
        let name = Definition::read(&definition)?.spec.name;
        Ok(Self { label, queue, name, version, definition })
    }
}

impl From<AgentRecord> for Written {
    fn from(record: AgentRecord) -> Self {
        let AgentRecord { label, queue, version, definition, .. } = record;
        let definition = String::from_utf8_lossy(definition.bytes()).into_owned();
        Self { label, queue, version, definition }
    }
}

impl Agent {
    /// Returns the agent as its sessions record it.
    pub fn record(&self) -> AgentRecord {
        AgentRecord {
            label: self.label().clone(),
            queue: self.queue().clone(),
            name: self.spec().name.clone(),
            version: self.version().map(str::to_owned),
            definition: self.definition().clone(),
        }
    }
}

/// A message that starts a turn of an agent whose code need not be in this process.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StartRecorded {
    /// The session. It is created if it does not exist.
    pub session: SessionKey,
    /// The agent that answers. An existing session keeps the version of the agent that it was created with.
    pub agent: AgentRecord,
    /// The text of the message.
    pub message: String,
    /// The idempotency key: at most one turn is started under it, however often the message is sent.
    pub idempotency_key: Option<ItemKey>,
    /// The labels of a new session.
    pub labels: Labels,
}

impl StartRecorded {
    /// Creates a message to `agent` in this session.
    pub fn new(tenant: TenantId, session: SessionId, agent: AgentRecord, message: impl Into<String>) -> Self {
        Self {
            session: SessionKey::new(tenant, session),
            agent,
            message: message.into(),
            idempotency_key: None,
            labels: Labels::default(),
        }
    }

    /// Starts at most one turn under this key.
    #[must_use]
    pub fn once(self, idempotency_key: impl Into<Option<ItemKey>>) -> Self {
        Self { idempotency_key: idempotency_key.into(), ..self }
    }

    /// Sets the labels of a new session.
    #[must_use]
    pub fn labelled(self, labels: Labels) -> Self {
        Self { labels, ..self }
    }

    fn prepare(self, definition: &Definition) -> Result<Prepared, RuntimeError> {
        let Self { session: key, agent, message, idempotency_key, labels } = self;
        let payload = Payload::json(&Said::new(message));
        let once = idempotency_key.map_or(Once::Never, Once::Key);
        let item = InboxItem {
            key: keys::of_message(&once)?,
            kind: kind_of(None, Wake::Now)?,
            incarnation: None,
            payload: payload.map_err(|error| RuntimeError::unreadable(&key, "message", error))?,
        };
        let format = led_by(&definition.spec).unwrap_or(STATE_FORMAT_ALONE);
        Ok(Prepared {
            key,
            derived: false,
            agent,
            once,
            item,
            policy: None,
            labels,
            served_elsewhere: true,
            not_before: None,
            format,
        })
    }
}

impl Runtime {
    /// Starts a turn of a recorded agent and leaves it to the workers that have the agent: creates the session, or
    /// delivers the message to an existing one. This process needs no code of the agent.
    ///
    /// The errors are those of [`start`](Self::start), except [`NotServed`](RuntimeError::NotServed): nobody checks
    /// whether a worker has the agent.
    pub async fn start_recorded(&self, request: StartRecorded) -> Result<Started, RuntimeError> {
        let unreadable = |error| RuntimeError::unreadable(&request.session, "definition", error);
        let definition = Definition::read(&request.agent.definition).map_err(unreadable)?;
        self.check_effects_of(&definition.spec, &request.agent.label)?;
        self.leave(&request.prepare(&definition)?).await
    }
}
