//! Stops a session from any process.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use holdover_core::error::ErrorInfo;
use holdover_core::ids::{CallId, InterruptId, SessionKey};
use holdover_core::store::{Interrupt, InterruptKind, InterruptOutcome, Session};

use super::standing::machine_of;
use super::tree::members::AT_ONCE;
use super::{Deliver, Runtime};
use crate::drive::{Leaving, Plan};
use crate::error::RuntimeError;
use crate::host::draw_id;
use crate::host::{Try, is_stopped};

impl Runtime {
    /// Stops the turn of a session; the session stays usable. If a run holds the session, that run ends the turn
    /// within the grace period. Otherwise this call ends the turn before it returns, without the agent. It also
    /// ends the turns of the session's children that no run holds. The request is durable: if this call fails to
    /// carry it out, it logs the failure, and a worker carries it out.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound).
    pub async fn interrupt(
        &self,
        key: &SessionKey,
        reason: impl Into<String>,
    ) -> Result<InterruptOutcome, RuntimeError> {
        self.stop(key, InterruptKind::Soft, draw_id(), reason.into()).await
    }

    /// Stops the turn of a session as [`interrupt`](Self::interrupt) does, once: a repeat under the same id is the same
    /// request. If code plans the turn and was told to stop before, nothing is changed, so its undos are not cut off; the
    /// outcome is then [`Over`](InterruptOutcome::Over). Another stop that comes at the same moment is not seen.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound).
    pub async fn interrupt_once(
        &self,
        key: &SessionKey,
        id: InterruptId,
        reason: impl Into<String>,
    ) -> Result<InterruptOutcome, RuntimeError> {
        let session = self.existing(key).await?;
        let plan = machine_of(&session).ok().flatten().and_then(|machine| machine.turn.plan);
        if !session.status.at_rest() && plan.is_some_and(|plan| plan.stops) {
            return Ok(InterruptOutcome::Over);
        }
        self.stop(key, InterruptKind::Soft, id, reason.into()).await
    }

    /// Stops a session for ever. In all other respects, this works like [`interrupt`](Self::interrupt).
    pub async fn abort(
        &self,
        key: &SessionKey,
        reason: impl Into<String>,
    ) -> Result<InterruptOutcome, RuntimeError> {
        self.stop(key, InterruptKind::Abort, draw_id(), reason.into()).await
    }

    /// Stops one call of a session. The tool is told; the other calls and the turn go on. The call ends cancelled
    /// (`user:cancelled`) if it had not acted, in doubt if this is not known, or with its own result if that came
    /// first. The request is durable: if no run holds the session, the next run carries it out.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or no such [open call](RuntimeError::NotOpen).
    pub async fn stop_call(&self, key: &SessionKey, call: &CallId) -> Result<(), RuntimeError> {
        let session = self.existing(key).await?;
        let machine = machine_of(&session)?;
        let batch = machine.as_ref().and_then(|machine| machine.state.batch());
        if batch.and_then(|batch| batch.call(call)).is_none_or(|call| call.state.is_end()) {
            return Err(RuntimeError::NotOpen { key: key.clone(), call: call.clone() });
        }
        self.deliver(key, Deliver::stop_call(call.clone(), session.incarnation)).await.map(drop)
    }

    async fn stop(
        &self,
        key: &SessionKey,
        kind: InterruptKind,
        id: InterruptId,
        reason: String,
    ) -> Result<InterruptOutcome, RuntimeError> {
        // A repeat must stop the same incarnation, even if the session was created again meanwhile.
        let session = self.existing(key).await?;
        let incarnation = Some(session.incarnation);
        let interrupt = Interrupt { id: id.clone(), kind, reason, at: self.now(), incarnation };
        let asked =
            self.host.repeated(|| self.host.store().request_interrupt(key, interrupt.clone())).await?;
        // An earlier attempt, whose answer was lost, may have made the request already, and it may have been
        // carried out since.
        let own = match &asked {
            InterruptOutcome::AlreadyWaiting { id: waiting } => *waiting == id,
            InterruptOutcome::Over => true,
            InterruptOutcome::Requested
            | InterruptOutcome::AtRest
            | InterruptOutcome::Aborted
            | InterruptOutcome::NotFound => false,
        };
        let outcome = if own { InterruptOutcome::Requested } else { asked };
        match &outcome {
            InterruptOutcome::Requested | InterruptOutcome::AlreadyWaiting { .. } => {
                // The request is durable, so if this fails, a worker ends the session.
                let ended = async {
                    self.end_unowned(key).await?;
                    self.end_children(&session).await
                };
                if let Err(error) = ended.await {
                    tracing::warn!(session = %key, %error, "asked to stop, left to be ended by another");
                }
            }
            InterruptOutcome::AtRest | InterruptOutcome::Over | InterruptOutcome::Aborted => {}
            InterruptOutcome::NotFound => return Err(RuntimeError::NotFound { key: key.clone() }),
        }
        Ok(outcome)
    }

    /// Ends the children of a session that was ended here, and their children, unless a run holds them. `session`
    /// is the session as it was before.
    async fn end_children(&self, session: &Session) -> Result<(), RuntimeError> {
        let mut children = Self::keys_of_children(session);
        while !children.is_empty() {
            let ended = stream::iter(children).map(|key| async move {
                let Some(child) = self.session(&key).await? else { return Ok(Vec::new()) };
                if child.interrupt.is_some() {
                    self.end_unowned(&key).await?;
                }
                Ok::<_, RuntimeError>(Self::keys_of_children(&child))
            });
            // All sessions of a level end before the next level, because they stop the sessions below them.
            let below: Vec<_> = ended.buffered(AT_ONCE).try_collect().await?;
            children = below.concat();
        }
        Ok(())
    }

    /// Ends the session because of its waiting interrupt, unless a run holds it.
    async fn end_unowned(&self, key: &SessionKey) -> Result<(), RuntimeError> {
        match self.host.try_claim(key, Vec::new(), None).await {
            Ok(Try::Ours(claimed)) if is_stopped(&claimed.claim) => {
                self.drive(*claimed, Plan::End, Arc::default(), Leaving::never()).await.map(drop)
            }
            Ok(Try::Ours(claimed)) => {
                // Another process ended the session meanwhile. It is given back due at once, so that a worker that
                // serves it sets its alarm again.
                let why = ErrorInfo::new("runtime.nothing_to_stop", "the interrupt was carried out already");
                self.host.give_back(&claimed, claimed.claim.now, &why).await;
                Ok(())
            }
            // The run that holds the session sees the interrupt.
            Ok(Try::Changed | Try::Duplicate(_))
            | Err(RuntimeError::Held { .. } | RuntimeError::Aborted { .. } | RuntimeError::NotFound { .. }) => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
