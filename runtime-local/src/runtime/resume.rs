//! Resumes sessions.

use holdover_core::ids::SessionKey;
use holdover_core::message::SignalBody;
use holdover_core::payload::Payload;
use holdover_core::store::{CasOutcome, InboxItem, ItemKind, Session, SessionStatus, StatusCas, Wake};

use super::deliver::Deliver;
use super::standing::{is_due, machine_of};
use super::{RunHandle, Runtime};
use crate::drive::Plan;
use crate::error::RuntimeError;
use crate::host::Try;
use crate::host::draw_id;

const TRIES_MAX: u32 = 8;

impl Runtime {
    /// Resumes a session and runs it here. With [`run_here`](crate::RuntimeOptions::run_here) off, only the signal is
    /// delivered, and the handle follows the turn. A suspended session continues if something has arrived or is due. An
    /// interrupted or failed session begins a new turn on the present transcript. A session that waits for a retry
    /// retries now. An idle session is taken up only if something has arrived or is due.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), it is [aborted](RuntimeError::Aborted), its status
    /// does not [allow](RuntimeError::NotResumable) this, its agent is not [found](RuntimeError::AgentUnknown) here
    /// or may not run on this [store](RuntimeError::EffectsRefused), another run [holds](RuntimeError::Held) it, or
    /// it kept [changing](RuntimeError::Contended).
    pub async fn resume(&self, key: &SessionKey) -> Result<RunHandle, RuntimeError> {
        self.again(key, SignalBody::Resume).await
    }

    /// Continues the turn of a failed or interrupted session, and runs it here. A session that waits for the retry of
    /// a model call or a tool call retries now. The errors are those of [`resume`](Self::resume).
    pub async fn retry(&self, key: &SessionKey) -> Result<RunHandle, RuntimeError> {
        self.again(key, SignalBody::Retry).await
    }

    /// Summarises the old part of the transcript of a session at rest, with a run in this process. The session then
    /// rests as before. If a message waits, its turn begins afterwards. If no part is old enough, nothing is changed.
    /// The errors are those of [`resume`](Self::resume).
    pub async fn compact(&self, key: &SessionKey) -> Result<RunHandle, RuntimeError> {
        self.again(key, SignalBody::Compact).await
    }

    /// Asks for what [`resume`](Self::resume), [`retry`](Self::retry) or [`compact`](Self::compact) do, and leaves the run
    /// to the workers, also if this process could run the session. Does not need the agent.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), it is [aborted](RuntimeError::Aborted), its status
    /// does not [allow](RuntimeError::NotResumable) this, or it kept [changing](RuntimeError::Contended).
    pub async fn request_again(&self, key: &SessionKey, signal: SignalBody) -> Result<(), RuntimeError> {
        for _ in 0..TRIES_MAX {
            let session = self.existing(key).await?;
            let needed = self.needs(&session, signal)?;
            if self.again_elsewhere(&session, needed).await? {
                return Ok(());
            }
        }
        Err(RuntimeError::Contended { key: key.clone(), tries: TRIES_MAX })
    }

    async fn again(&self, key: &SessionKey, signal: SignalBody) -> Result<RunHandle, RuntimeError> {
        for _ in 0..TRIES_MAX {
            let session = self.existing(key).await?;
            let needed = self.needs(&session, signal)?;
            if !self.options().run_here {
                match self.again_elsewhere(&session, needed).await? {
                    true => return Ok(RunHandle::of_another(self, key.clone(), false)),
                    false => continue,
                }
            }
            let items =
                needed.into_iter().map(|signal| signal_item(key, signal)).collect::<Result<_, _>>()?;
            let agent = self.agent_to_run(key, &session.queue, &session.definition).await?;
            // Of two concurrent resumes, exactly one claims the session. The error for the other names the run that
            // holds it.
            match self.host.try_claim(key, items, Some(session.version)).await? {
                Try::Ours(claimed) => return Ok(RunHandle::begin(self, *claimed, Plan::Resume(agent))),
                Try::Changed | Try::Duplicate(_) => {}
            }
        }
        Err(RuntimeError::Contended { key: key.clone(), tries: TRIES_MAX })
    }

    /// Returns the signal, unless the session goes on without it. Fails if the status of the session does not allow the
    /// signal.
    fn needs(&self, session: &Session, signal: SignalBody) -> Result<Option<SignalBody>, RuntimeError> {
        match (session.status, signal) {
            (SessionStatus::Failed | SessionStatus::Interrupted, _)
            | (SessionStatus::Idle, SignalBody::Compact)
            // A mode is only delivered; no turn is begun for it.
            | (
                SessionStatus::Idle | SessionStatus::Suspended | SessionStatus::Active,
                SignalBody::Mode { .. },
            ) => Ok(Some(signal)),
            (SessionStatus::Suspended, SignalBody::Resume | SignalBody::Retry) if waits_to_try(session)? => {
                Ok(Some(signal))
            }
            (SessionStatus::Suspended | SessionStatus::Active, SignalBody::Resume) => Ok(None),
            (SessionStatus::Idle, SignalBody::Resume)
                if session.unread > 0 || is_due(session, self.now()) =>
            {
                Ok(None)
            }
            (SessionStatus::Aborted, _) => Err(RuntimeError::Aborted { key: session.key.clone() }),
            (SessionStatus::Suspended | SessionStatus::Active, SignalBody::Retry | SignalBody::Compact)
            | (SessionStatus::Idle, SignalBody::Resume | SignalBody::Retry) => {
                let (key, status) = (session.key.clone(), session.status);
                Err(RuntimeError::NotResumable { key, status, signal })
            }
        }
    }

    /// Delivers the signal and leaves the run to others. Returns false if the session changed meanwhile.
    async fn again_elsewhere(
        &self,
        session: &Session,
        signal: Option<SignalBody>,
    ) -> Result<bool, RuntimeError> {
        let Some(signal) = signal else {
            // The wake-up of the write that made it due may be lost.
            if let Some(nudges) = self.host.nudges() {
                nudges.wake(&session.key);
            }
            return Ok(true);
        };
        match session.status {
            SessionStatus::Failed | SessionStatus::Interrupted => self.moved(session, signal).await,
            SessionStatus::Idle
            | SessionStatus::Suspended
            | SessionStatus::Active
            | SessionStatus::Aborted => {
                self.deliver(&session.key, Deliver::signal(signal)).await?;
                Ok(true)
            }
        }
    }

    /// Hands a failed or interrupted session to the workers, which retry it. Use it in a front end that cannot run
    /// the agent. A session that waits for a retry becomes due now. Returns false if the session changed meanwhile.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or its status does not
    /// [allow](RuntimeError::NotResumable) a retry.
    pub async fn requeue(&self, key: &SessionKey) -> Result<bool, RuntimeError> {
        let session = self.existing(key).await?;
        if session.status == SessionStatus::Suspended && waits_to_try(&session)? {
            self.deliver(key, Deliver::signal(SignalBody::Retry)).await?;
            return Ok(true);
        }
        self.moved(&session, SignalBody::Retry).await
    }

    /// Moves a failed or interrupted session to suspended and due, together with a signal. Returns false if the session
    /// changed meanwhile.
    async fn moved(&self, session: &Session, signal: SignalBody) -> Result<bool, RuntimeError> {
        let key = &session.key;
        let cas = StatusCas {
            incarnation: Some(session.incarnation),
            expected_version: session.version,
            to: SessionStatus::Suspended,
            items: vec![signal_item(key, signal)?],
        };
        match self.host.store().compare_and_set_status(key, cas).await? {
            CasOutcome::Moved { .. } => Ok(true),
            CasOutcome::VersionConflict { .. } | CasOutcome::ItemRefused { .. } => Ok(false),
            CasOutcome::NotAllowed { from, .. } => {
                Err(RuntimeError::NotResumable { key: key.clone(), status: from, signal })
            }
            CasOutcome::NotFound => Err(RuntimeError::NotFound { key: key.clone() }),
        }
    }
}

/// Returns true if the session waits to retry a model call or a tool call.
fn waits_to_try(session: &Session) -> Result<bool, RuntimeError> {
    Ok(machine_of(session)?.is_some_and(|machine| machine.state.waits_to_try_again()))
}

fn signal_item(key: &SessionKey, signal: SignalBody) -> Result<InboxItem, RuntimeError> {
    let payload = Payload::json(&signal).map_err(|error| RuntimeError::unreadable(key, "signal", error))?;
    Ok(InboxItem { key: draw_id(), kind: ItemKind::Signal { wake: Wake::Now }, incarnation: None, payload })
}
