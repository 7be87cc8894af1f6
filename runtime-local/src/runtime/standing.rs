//! How a session stands: what its last run left, and what is owed.

use holdover_core::ids::SessionKey;
use holdover_core::machine::{AgentState, Machine, classify_suspension};
use holdover_core::message::PendingBody;
use holdover_core::step::RunOutcome;
use holdover_core::store::{Page, PendingCall, PendingQuery, Session, SessionStatus};
use holdover_core::time::Timestamp;

use super::Runtime;
use crate::error::RuntimeError;

/// An open pending call, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingEntry {
    /// As it is stored.
    pub call: PendingCall,
    /// What is shown to whoever owes the answer.
    pub body: PendingBody,
}

impl Runtime {
    /// How the last turn of `session` ended, or what it waits for. None before its first turn, and while a
    /// run holds it. What has arrived since, and no run has taken up, changes nothing here.
    pub fn outcome(&self, session: &Session) -> Result<Option<RunOutcome>, RuntimeError> {
        match session.status {
            SessionStatus::Active => Ok(None),
            SessionStatus::Idle
            | SessionStatus::Suspended
            | SessionStatus::Interrupted
            | SessionStatus::Failed
            | SessionStatus::Aborted => outcome_of(session, self.now()),
        }
    }

    /// A page of the calls that somebody owes an answer, across sessions: soonest deadline first, those
    /// without one last.
    pub async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingEntry>, RuntimeError> {
        let Page { items, next } = self.shared.store.list_pending(query).await?;
        let items = items.into_iter().map(PendingEntry::read).collect::<Result<_, RuntimeError>>()?;
        Ok(Page { items, next })
    }

    /// The open pending call of a session with this call id or pending id. None if nobody owes it an answer
    /// (any more); [`RuntimeError::NotFound`] if there is no such session.
    pub async fn pending_call(
        &self,
        key: &SessionKey,
        which: &str,
    ) -> Result<Option<PendingEntry>, RuntimeError> {
        let named = |pending: &PendingCall| pending.id.as_str() == which || pending.call.as_str() == which;
        match self.pending(key).await?.into_iter().find(named) {
            Some(call) => PendingEntry::read(call).map(Some),
            None => self.existing(key).await.map(|_| None),
        }
    }
}

impl PendingEntry {
    fn read(call: PendingCall) -> Result<Self, RuntimeError> {
        let unreadable =
            |error| RuntimeError::unreadable(&call.key, format!("pending call {}", call.id), error);
        let body = call.body.parse::<PendingBody>().map_err(unreadable)?;
        Ok(Self { call, body })
    }
}

/// What the last run left, read from the state: whoever parks or ends writes it so that it says why.
pub(super) fn outcome_of(session: &Session, now: Timestamp) -> Result<Option<RunOutcome>, RuntimeError> {
    let Some(state) = &session.state else { return Ok(None) };
    let machine: Machine =
        state.parse().map_err(|error| RuntimeError::unreadable(&session.key, "state", error))?;
    Ok(match machine.state {
        AgentState::Done { ending, .. } | AgentState::TearingDown { ending, .. } => {
            Some(RunOutcome::Ended(ending))
        }
        AgentState::BackingOff { until, error, .. } => Some(RunOutcome::BackingOff { until, error }),
        AgentState::Confirming { batch } | AgentState::Executing { batch } => {
            classify_suspension(&batch, now).map(RunOutcome::Suspended)
        }
        AgentState::Idle
        | AgentState::Provisioning { .. }
        | AgentState::Thinking { .. }
        | AgentState::Streaming { .. }
        | AgentState::Steering { .. } => None,
    })
}
