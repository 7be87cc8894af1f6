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
    /// Resumes a session and runs it here. A suspended session continues if something has arrived or is due.
    /// An interrupted or failed session begins a new turn on the present transcript. A session that waits for
    /// a retry retries now.
    pub async fn resume(&self, key: &SessionKey) -> Result<RunHandle, RuntimeError> {
        self.again(key, SignalBody::Resume).await
    }

    /// Continues the turn of a failed or interrupted session, and runs it here. A session that waits for the
    /// retry of a model call or a tool call retries now.
    pub async fn retry(&self, key: &SessionKey) -> Result<RunHandle, RuntimeError> {
        self.again(key, SignalBody::Retry).await
    }

    /// Summarises the old part of the transcript of a session at rest, and does so here. The session then rests as
    /// before. If a message waits, its turn begins afterwards. If no part is old enough, nothing is changed.
    pub async fn compact(&self, key: &SessionKey) -> Result<RunHandle, RuntimeError> {
        self.again(key, SignalBody::Compact).await
    }

    async fn again(&self, key: &SessionKey, signal: SignalBody) -> Result<RunHandle, RuntimeError> {
        for _ in 0..TRIES_MAX {
            let session = self.existing(key).await?;
            let items = match (session.status, signal) {
                (SessionStatus::Failed | SessionStatus::Interrupted, _)
                | (SessionStatus::Idle, SignalBody::Compact) => vec![signal_item(key, signal)?],
                (SessionStatus::Suspended, SignalBody::Resume | SignalBody::Retry)
                    if waits_to_try(&session)? =>
                {
                    vec![signal_item(key, signal)?]
                }
                (SessionStatus::Suspended | SessionStatus::Active, SignalBody::Resume) => Vec::new(),
                (SessionStatus::Idle, SignalBody::Resume)
                    if session.unread > 0 || is_due(&session, self.now()) =>
                {
                    Vec::new()
                }
                // A mode is only delivered; no turn is begun for it.
                (
                    SessionStatus::Idle | SessionStatus::Suspended | SessionStatus::Active,
                    SignalBody::Mode { .. },
                ) => vec![signal_item(key, signal)?],
                (SessionStatus::Aborted, _) => return Err(RuntimeError::Aborted { key: key.clone() }),
                (
                    SessionStatus::Suspended | SessionStatus::Active,
                    SignalBody::Retry | SignalBody::Compact,
                )
                | (SessionStatus::Idle, SignalBody::Resume | SignalBody::Retry) => {
                    let status = session.status;
                    return Err(RuntimeError::NotResumable { key: key.clone(), status, signal });
                }
            };
            let agent = self.agent_to_run(key, &session.queue, &session.definition).await?;
            // Compare-and-set: of two concurrent resumes exactly one wins, and the other gets the name of the
            // winner.
            match self.host.try_claim(key, items, Some(session.version)).await? {
                Try::Ours(claimed) => return Ok(RunHandle::begin(self, *claimed, Plan::Resume(agent))),
                Try::Changed | Try::Duplicate => {}
            }
        }
        Err(RuntimeError::Contended { key: key.clone(), tries: TRIES_MAX })
    }

    /// Hands a failed or interrupted session to the workers, which retry it. Use it in a front end that cannot run
    /// the agent. A session that waits for a retry becomes due now. Returns false if the session changed meanwhile.
    pub async fn requeue(&self, key: &SessionKey) -> Result<bool, RuntimeError> {
        let session = self.existing(key).await?;
        if session.status == SessionStatus::Suspended && waits_to_try(&session)? {
            self.deliver(key, Deliver::signal(SignalBody::Retry)).await?;
            return Ok(true);
        }
        let cas = StatusCas {
            incarnation: Some(session.incarnation),
            expected_version: session.version,
            to: SessionStatus::Suspended,
            items: vec![signal_item(key, SignalBody::Retry)?],
        };
        match self.host.store().compare_and_set_status(key, cas).await? {
            CasOutcome::Moved { .. } => Ok(true),
            CasOutcome::VersionConflict { .. } | CasOutcome::ItemRefused { .. } => Ok(false),
            CasOutcome::NotAllowed { from, .. } => {
                Err(RuntimeError::NotResumable { key: key.clone(), status: from, signal: SignalBody::Retry })
            }
            CasOutcome::NotFound => Err(RuntimeError::NotFound { key: key.clone() }),
        }
    }
}

/// Returns whether the session waits to retry a model call or a tool call.
fn waits_to_try(session: &Session) -> Result<bool, RuntimeError> {
    Ok(machine_of(session)?.is_some_and(|machine| machine.state.waits_to_try_again()))
}

fn signal_item(key: &SessionKey, signal: SignalBody) -> Result<InboxItem, RuntimeError> {
    let payload = Payload::json(&signal).map_err(|error| RuntimeError::unreadable(key, "signal", error))?;
    Ok(InboxItem { key: draw_id(), kind: ItemKind::Signal { wake: Wake::Now }, incarnation: None, payload })
}
