//! The standing of a session, read from the store.

use holdover_core::engine::RunOutcome;
use holdover_core::ids::SessionKey;
use holdover_core::machine::{AgentState, Machine, Usage, classify_suspension};
use holdover_core::store::Session;
use holdover_core::time::Timestamp;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::json;

use super::{PendingEntry, PendingPage, Runtime, UnreadablePending, agent_label};
use crate::error::RuntimeError;

/// Returns true if the alarm of the session has come, so that it needs a worker now. Returns false if the worker is
/// needed [only for a look](only_looks): without a worker, such a look stays due, and no caller waits for it.
pub fn is_due(session: &Session, now: Timestamp) -> bool {
    session.alarm.is_some_and(|alarm| alarm <= now) && !only_looks(session)
}

/// Returns true if a session at rest has an alarm only to look at sessions that work for it: its background children,
/// or a successor whose outcome somebody awaits.
pub fn only_looks(session: &Session) -> bool {
    let rests = session.status.at_rest() && session.unread == 0 && session.interrupt.is_none();
    let machine = if rests { machine_of(session).ok().flatten() } else { None };
    session.alarm.is_some() && machine.is_some_and(|machine| machine.has_others_at_work())
}

/// The standing of a session, as seen from outside. Its JSON form has `session` (the id), `agent` (its
/// [label](super::agent_label)), `status`, `unread`, `usage`, `outcome` (`kind` and `detail`, or null), `pending`,
/// and `unreadable` if there are any.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Standing {
    /// The session, as it is stored.
    pub session: Session,
    /// The usage up to the newest commit. Later usage is not known while a run is open, and never known if
    /// the run died.
    pub usage: Usage,
    /// The ending of the last turn, or the reason why the session waits; see [`Runtime::outcome`].
    pub outcome: Option<RunOutcome>,
    /// The pending calls. They are read after the rest, so the session may have changed in between.
    pub pending: Vec<PendingEntry>,
    /// The pending calls that this version cannot read, such as those of a newer version, with the reasons.
    /// They are not in `pending`.
    pub unreadable: Vec<UnreadablePending>,
}

impl Serialize for Standing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { session, usage, outcome, pending, unreadable } = self;
        let outcome = outcome.as_ref().map(|outcome| json!({ "kind": outcome.kind(), "detail": outcome }));
        let mut shown = serializer.serialize_struct("Standing", 7 + usize::from(!unreadable.is_empty()))?;
        shown.serialize_field("session", &session.key.id)?;
        shown.serialize_field("agent", &agent_label(&session.queue, &session.labels))?;
        shown.serialize_field("status", &session.status)?;
        shown.serialize_field("unread", &session.unread)?;
        shown.serialize_field("usage", usage)?;
        shown.serialize_field("outcome", &outcome)?;
        shown.serialize_field("pending", pending)?;
        if unreadable.is_empty() {
            shown.skip_field("unreadable")?;
        } else {
            shown.serialize_field("unreadable", unreadable)?;
        }
        shown.end()
    }
}

impl Runtime {
    /// Returns the standing of a session, with everything that a page about it shows. A pending call that cannot be
    /// read is listed separately and is no error.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or its state cannot be
    /// [read](RuntimeError::Unreadable).
    pub async fn standing(&self, key: &SessionKey) -> Result<Standing, RuntimeError> {
        let session = self.existing(key).await?;
        let outcome = self.outcome(&session)?;
        let usage = used_by(&session)?;
        let PendingPage { items: pending, unreadable, .. } = self.all_pending(key).await?;
        Ok(Standing { session, usage, outcome, pending, unreadable })
    }
}

/// Returns the machine of a session, or `None` before its first commit.
///
/// Errors: [`Unreadable`](RuntimeError::Unreadable) if the state was not written by this version or an older one.
pub fn machine_of(session: &Session) -> Result<Option<Machine>, RuntimeError> {
    let Some(state) = &session.state else { return Ok(None) };
    let read = state.parse();
    read.map(Some).map_err(|error| RuntimeError::unreadable(&session.key, "state", error))
}

/// Returns the usage of a session up to its newest commit.
///
/// Errors: those of [`machine_of`].
pub(super) fn used_by(session: &Session) -> Result<Usage, RuntimeError> {
    Ok(machine_of(session)?.map(|machine| machine.usage).unwrap_or_default())
}

/// Returns the outcome that the session's state shows: the ending of the last turn, or the reason why the turn waits.
/// Returns `None` before the first turn, and in the middle of a step.
///
/// Errors: those of [`machine_of`].
pub fn outcome_of(session: &Session, now: Timestamp) -> Result<Option<RunOutcome>, RuntimeError> {
    let Some(machine) = machine_of(session)? else { return Ok(None) };
    Ok(match machine.state {
        AgentState::Done { ending, .. } | AgentState::TearingDown { ending, .. } => {
            Some(RunOutcome::Ended(ending))
        }
        AgentState::BackingOff { until, error, .. } => Some(RunOutcome::BackingOff { until, error }),
        AgentState::Confirming { batch }
        | AgentState::Dispatching { batch }
        | AgentState::Executing { batch } => classify_suspension(&batch, now).map(RunOutcome::Suspended),
        AgentState::Idle
        | AgentState::Provisioning { .. }
        | AgentState::Thinking { .. }
        | AgentState::Streaming { .. }
        | AgentState::Steering { .. }
        | AgentState::Compacting { .. } => None,
    })
}
