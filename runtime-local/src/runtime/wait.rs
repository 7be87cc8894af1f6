//! Waits for a session, and runs it when it is due, as a worker would.

use std::time::Duration;

use holdover_core::engine::RunOutcome;
use holdover_core::ids::SessionKey;
use holdover_core::store::{Session, SessionStatus, Watch};
use holdover_core::time::Timestamp;
use tokio::time::{Instant, sleep};

use super::Runtime;
use super::handle::is_last_word;
use super::standing::outcome_of;
use crate::drive::Plan;
use crate::error::RuntimeError;
use crate::hint::Hint;
use crate::host::Backoff;
use crate::host::Try;

/// A store that gives no hints is asked this often.
const POLL: Duration = Duration::from_secs(1);

/// A store that hints all the time is looked at ever more slowly, down to this.
const GAP: Duration = Duration::from_millis(1);
const GAP_MAX: Duration = Duration::from_millis(20);

impl Runtime {
    /// Returns when the turn has ended, or when a person, a client or another session owes something.
    /// Meanwhile it runs the session when that is due and nobody else does, if its agent is found here. Once
    /// the runtime [drains](Self::drain), it returns at once: with how its own run left the session, or how
    /// the session stands.
    pub async fn wait(&self, key: &SessionKey) -> Result<RunOutcome, RuntimeError> {
        let mut idle = Backoff::new(Duration::from_millis(20), POLL);
        let mut gap = Backoff::new(GAP, GAP_MAX);
        loop {
            let store = self.host.store();
            // Listen first, then look: what changes in between is not missed.
            let mut hint = Hint::listen(store, Watch::Session(key.clone()), POLL).await;
            let session = self.existing(key).await?;
            match look(&session, self.now())? {
                Look::Over(outcome) => return Ok(*outcome),
                Look::Later(_) | Look::Due if self.host.is_draining() => {
                    return Ok(outcome_of(&session, self.now())?.unwrap_or(RunOutcome::Released));
                }
                Look::Later(at) => {
                    let in_time = self.now().until(at).min(POLL);
                    tokio::select! {
                        () = self.host.drains() => {}
                        _ = hint.heard() => {}
                        () = sleep(in_time) => {}
                    }
                    sleep(gap.take()).await;
                }
                Look::Due => match self.run_due(key, &session).await? {
                    Some(outcome) if is_last_word(&outcome) || self.host.is_draining() => return Ok(outcome),
                    Some(RunOutcome::Released | RunOutcome::Lost) | None => sleep(idle.take()).await,
                    Some(RunOutcome::Ended(_) | RunOutcome::Suspended(_) | RunOutcome::BackingOff { .. }) => {
                    }
                },
            }
        }
    }

    /// Returns how the turn has ended, or who owes something, if that happens within `at_most`; none if the
    /// session is still at work then, or nobody has taken it up. It only watches and runs nothing, so nothing
    /// changes when the time is over: for a front end that leaves runs to workers.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or it cannot be
    /// [read](RuntimeError::Unreadable).
    pub async fn wait_at_most(
        &self,
        key: &SessionKey,
        at_most: Duration,
    ) -> Result<Option<RunOutcome>, RuntimeError> {
        let until = Instant::now().checked_add(at_most);
        let mut gap = Backoff::new(GAP, GAP_MAX);
        loop {
            let left = until.map_or(POLL, |until| until.saturating_duration_since(Instant::now()).min(POLL));
            let store = self.host.store();
            // Listen first, then look: what changes in between is not missed.
            let mut hint = Hint::listen(store, Watch::Session(key.clone()), POLL).await;
            let session = self.existing(key).await?;
            match look(&session, self.now())? {
                Look::Over(outcome) => return Ok(Some(*outcome)),
                Look::Later(_) | Look::Due if left.is_zero() => return Ok(None),
                Look::Later(_) | Look::Due => {
                    tokio::select! {
                        _ = hint.heard() => {}
                        () = sleep(left) => {}
                    }
                    sleep(gap.take().min(left)).await;
                }
            }
        }
    }

    /// Takes on a session that is due. None: somebody else has it, or its agent is not found here.
    async fn run_due(&self, key: &SessionKey, session: &Session) -> Result<Option<RunOutcome>, RuntimeError> {
        let plan = match self.agent_to_run(key, &session.queue, &session.definition).await {
            Ok(agent) => Plan::Run(agent),
            Err(RuntimeError::AgentUnknown { queue, why, .. }) => {
                tracing::debug!(session = %key, %queue, %why, "left to a worker that has its agent");
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        match self.host.try_claim(key, Vec::new(), Some(session.version)).await {
            Ok(Try::Ours(claimed)) => self.drive(*claimed, plan).await.map(Some),
            Ok(Try::Changed | Try::Duplicate)
            | Err(RuntimeError::Held { .. } | RuntimeError::Aborted { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// What there is to do about a session.
enum Look {
    /// Nothing goes on by itself.
    Over(Box<RunOutcome>),
    /// Somebody works on it, or time must pass: look again then, or when it changes.
    Later(Timestamp),
    /// It wants a worker.
    Due,
}

fn look(session: &Session, now: Timestamp) -> Result<Look, RuntimeError> {
    match (session.status, &session.lease, session.alarm) {
        (SessionStatus::Active, Some(lease), _) if lease.ends > now => return Ok(Look::Later(lease.ends)),
        (SessionStatus::Active, _, Some(alarm)) if alarm > now => return Ok(Look::Later(alarm)),
        (SessionStatus::Active, _, _) => return Ok(Look::Due),
        (SessionStatus::Aborted, _, _) => {}
        (_, _, Some(alarm)) if alarm <= now => return Ok(Look::Due),
        (_, _, _) => {}
    }
    let outcome = outcome_of(session, now)?.unwrap_or(RunOutcome::Released);
    match (session.status, session.alarm) {
        (SessionStatus::Suspended, Some(alarm)) if outcome.goes_on_at().is_some() => Ok(Look::Later(alarm)),
        // A scheduled start.
        (SessionStatus::Idle, Some(alarm)) => Ok(Look::Later(alarm)),
        (_, _) => Ok(Look::Over(Box::new(outcome))),
    }
}
