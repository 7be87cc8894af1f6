//! Sessions, as lists and pages show them.

use holdover_core::engine::RunOutcome;
use holdover_core::ids::{Epoch, MessageSeq, SessionId};
use holdover_core::store::{Labels, OutcomeKind, Session, SessionStatus, SessionSummary};
use holdover_core::time::Timestamp;
use holdover_runtime_local::agent_label;
use schemars::JsonSchema;
use serde::Serialize;

/// A session.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub(crate) struct SessionView {
    /// The id of the session.
    session: SessionId,
    /// The agent, with its version.
    agent: String,
    /// The status: `active` while a run holds the session, `suspended` while its turn waits.
    status: SessionStatus,
    /// The labels of the session.
    labels: Labels,
    /// The number of runs so far.
    runs: Epoch,
    /// The position of the newest message.
    messages: MessageSeq,
    /// The number of deliveries that no run has taken yet.
    unread: u64,
    /// The instant at which a worker takes the session up. Absent if none has to.
    #[serde(skip_serializing_if = "Option::is_none")]
    alarm: Option<Timestamp>,
    /// The time of creation.
    created_at: Timestamp,
    /// The time of the newest change.
    updated_at: Timestamp,
}

#[cfg(feature = "mcp")]
impl SessionView {
    /// Returns the agent and the status, for lists of people.
    pub(crate) fn described(&self) -> String {
        format!("A session of {}: {}", self.agent, self.status.as_str())
    }
}

impl From<SessionSummary> for SessionView {
    fn from(of: SessionSummary) -> Self {
        Self {
            agent: agent_label(&of.queue, &of.labels),
            session: of.key.id,
            status: of.status,
            labels: of.labels,
            runs: of.epoch,
            messages: of.last_message,
            unread: of.unread,
            alarm: of.alarm,
            created_at: of.created_at,
            updated_at: of.updated_at,
        }
    }
}

impl From<&Session> for SessionView {
    fn from(of: &Session) -> Self {
        Self {
            session: of.key.id.clone(),
            agent: agent_label(&of.queue, &of.labels),
            status: of.status,
            labels: of.labels.clone(),
            runs: of.epoch,
            messages: of.last_message,
            unread: of.unread,
            alarm: of.alarm,
            created_at: of.created_at,
            updated_at: of.updated_at,
        }
    }
}

/// The ending of a turn, or the reason why it waits.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Outcome")]
pub(crate) struct OutcomeView {
    /// The kind of the outcome.
    kind: OutcomeKind,
    /// The outcome itself.
    detail: RunOutcome,
}

impl From<RunOutcome> for OutcomeView {
    fn from(detail: RunOutcome) -> Self {
        Self { kind: detail.kind(), detail }
    }
}
