//! Starts a turn: in a session that is created for it, or in one that exists.

use std::sync::Arc;

use holdover_core::ids::{QueueLabel, SessionKey};
use holdover_core::message::MessagePolicy;
use holdover_core::store::{CreateOutcome, Delivery, Session, Start};
use tokio::time::Instant;

use super::execute::{Execute, Prepared};
use super::keys::{self, Once};
use super::{Delivered, RunHandle, Runtime, named};
use crate::drive::Plan;
use crate::error::RuntimeError;
use crate::host::Claimed;
use crate::host::Try;

/// How often a session that others create, delete or move meanwhile is tried.
const TRIES_MAX: u32 = 8;

/// The result of [`Runtime::start`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Started {
    /// The session.
    pub key: SessionKey,
    /// Whether the message had been accepted before under this idempotency key.
    pub duplicate: bool,
}

impl Runtime {
    /// Starts a turn and runs it here. A new session is created claimed. An existing one is claimed with the
    /// message, or [`RuntimeError::Held`] says who holds it and nothing is delivered. But if the message or
    /// its agent has a policy, the message is delivered to the run that holds the session, or refused as
    /// [busy](RuntimeError::Busy).
    ///
    /// A message that was accepted before under its key is never refused for these reasons, nor because the
    /// session was aborted since, or nobody here has its agent any more. The turn that it began is followed.
    ///
    /// A new session whose agent the runtime's [source](crate::AgentSource) does not find is
    /// [refused](RuntimeError::NotServed), because nobody would go on with it after a restart.
    pub async fn execute(&self, request: Execute) -> Result<RunHandle, RuntimeError> {
        self.check_effects(&request.agent)?;
        let prepared = request.prepare()?;
        let unserved = self.check_is_served(&prepared).await.err();
        if unserved.is_none() {
            self.shared.agents.remember(&prepared.agent);
        }
        for _ in 0..TRIES_MAX {
            match self.host.store().load_session(&prepared.key).await? {
                None => {
                    prepared.key.id.check_new()?;
                    if let Some(unserved) = unserved {
                        return Err(unserved);
                    }
                    if let Some(handle) = self.create_claimed(&prepared).await? {
                        return Ok(handle);
                    }
                }
                Some(session) if prepared.derived => {
                    check_agent(&prepared, &session)?;
                    if let Some(handle) = self.join(&prepared).await? {
                        return Ok(handle);
                    }
                }
                Some(session) => {
                    if let Some(handle) = self.take_up(&prepared, session).await? {
                        return Ok(handle);
                    }
                }
            }
        }
        Err(RuntimeError::Contended { key: prepared.key, tries: TRIES_MAX })
    }

    /// Starts a turn and leaves it to the workers: creates the session, or delivers the message to it. A new
    /// session whose agent the runtime's [source](crate::AgentSource) does not find is
    /// [refused](RuntimeError::NotServed), unless another program [serves](Execute::served_elsewhere) it.
    pub async fn start(&self, request: Execute) -> Result<Started, RuntimeError> {
        self.check_effects(&request.agent)?;
        let prepared = request.prepare()?;
        self.check_new(&prepared.key).await?;
        if let Err(unserved) = self.check_is_served(&prepared).await
            && self.host.store().load_session(&prepared.key).await?.is_none()
        {
            return Err(unserved);
        }
        for _ in 0..TRIES_MAX {
            let new = prepared.new_session(self.program(), Start::WithItems, vec![prepared.item.clone()]);
            match self.host.repeated(|| self.host.store().create_session(new.clone())).await? {
                CreateOutcome::Created { .. } => {
                    return Ok(Started { key: prepared.key, duplicate: false });
                }
                CreateOutcome::AlreadyExists { .. } | CreateOutcome::ItemConflict { .. } => {}
                CreateOutcome::Deleted => return Err(RuntimeError::NotFound { key: prepared.key }),
            }
            if let Some(session) = self.host.store().load_session(&prepared.key).await? {
                check_agent(&prepared, &session)?;
                if Self::policy_in(&session, prepared.policy) == Some(MessagePolicy::Reject) {
                    let named = prepared.once.named();
                    let delivered = self.deliver_at_rest(&prepared.key, &prepared.item, named).await?;
                    let duplicate = delivered == Delivered::Duplicate;
                    return Ok(Started { key: prepared.key, duplicate });
                }
            }
            match self
                .host
                .repeated(|| self.host.store().deliver(&prepared.key, prepared.item.clone()))
                .await?
            {
                Delivery::Accepted { .. } => return Ok(Started { key: prepared.key, duplicate: false }),
                Delivery::Duplicate { .. } => return Ok(Started { key: prepared.key, duplicate: true }),
                Delivery::Conflict { .. } => return Err(conflict(&prepared)),
                Delivery::Aborted => return Err(RuntimeError::Aborted { key: prepared.key }),
                // Deleted since.
                Delivery::AlreadyAnswered | Delivery::NotPending | Delivery::NotFound => {}
            }
        }
        Err(RuntimeError::Contended { key: prepared.key, tries: TRIES_MAX })
    }

    /// Refuses an id that no new session may have, if the session does not exist.
    pub(super) async fn check_new(&self, key: &SessionKey) -> Result<(), RuntimeError> {
        match key.id.check_new() {
            Err(why) if self.host.store().load_session(key).await?.is_none() => Err(why.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Refuses a new session that nobody would run.
    async fn check_is_served(&self, prepared: &Prepared) -> Result<(), RuntimeError> {
        if prepared.served_elsewhere {
            return Ok(());
        }
        self.shared.agents.check_served(&prepared.key, &prepared.agent).await
    }

    /// Creates the session claimed by us. None: somebody else created it meanwhile.
    async fn create_claimed(&self, prepared: &Prepared) -> Result<Option<RunHandle>, RuntimeError> {
        let one = self.host.claim_one(vec![prepared.item.clone()], None);
        let new = prepared.new_session(self.program(), Start::Claimed(one), Vec::new());
        let asked = Instant::now();
        match self.host.repeated(|| self.host.store().create_session(new.clone())).await? {
            CreateOutcome::Created { claim: Some(claim), .. } => {
                self.host.hear(claim.now);
                let plan = Plan::Run(Arc::clone(&prepared.agent));
                Ok(Some(RunHandle::begin(self, Claimed::new(*claim, asked), plan)))
            }
            // Created by us, and our lease ended before we heard of it.
            CreateOutcome::Created { claim: None, .. } => {
                Ok(Some(RunHandle::of_another(self, prepared.key.clone(), false)))
            }
            CreateOutcome::AlreadyExists { .. } | CreateOutcome::ItemConflict { .. } => Ok(None),
            // Created by an earlier try of ours whose answer was lost, and deleted since.
            CreateOutcome::Deleted => Err(RuntimeError::NotFound { key: prepared.key.clone() }),
        }
    }

    /// The session that belongs to the key exists, so the key was used. None: it was deleted since.
    async fn join(&self, prepared: &Prepared) -> Result<Option<RunHandle>, RuntimeError> {
        match self.host.repeated(|| self.host.store().deliver(&prepared.key, prepared.item.clone())).await? {
            joined @ (Delivery::Accepted { .. } | Delivery::Duplicate { .. }) => {
                let duplicate = matches!(joined, Delivery::Duplicate { .. });
                Ok(Some(RunHandle::of_another(self, prepared.key.clone(), duplicate)))
            }
            Delivery::Conflict { .. } => Err(conflict(prepared)),
            Delivery::Aborted => Err(RuntimeError::Aborted { key: prepared.key.clone() }),
            Delivery::AlreadyAnswered | Delivery::NotPending | Delivery::NotFound => Ok(None),
        }
    }

    /// Joins the run that was begun for this very message, if it was accepted before; else it is `refused`.
    async fn join_or(
        &self,
        refused: RuntimeError,
        prepared: &Prepared,
        session: &Session,
    ) -> Result<RunHandle, RuntimeError> {
        if prepared.once == Once::Never {
            return Err(refused);
        }
        self.duplicate_or(refused, session, &prepared.item, prepared.once.named()).await?;
        Ok(RunHandle::of_another(self, prepared.key.clone(), true))
    }

    /// Claims a session that exists, with the message. None: it changed meanwhile.
    async fn take_up(
        &self,
        prepared: &Prepared,
        session: Session,
    ) -> Result<Option<RunHandle>, RuntimeError> {
        check_agent(prepared, &session)?;
        let agent = if session.definition == *prepared.agent.definition() {
            // Its later runs in this process are made with it, too.
            self.shared.agents.remember(&prepared.agent);
            Arc::clone(&prepared.agent)
        } else {
            match self.agent_to_run(&session.key, &session.queue, &session.definition).await {
                Ok(agent) => agent,
                // Whoever has the agent runs what was accepted.
                Err(unknown) => return self.join_or(unknown, prepared, &session).await.map(Some),
            }
        };
        let policy = Self::policy_in(&session, prepared.policy);
        let rests_only = policy == Some(MessagePolicy::Reject);
        if rests_only && let Err(refused) = self.refuse_if_busy(&session) {
            return self.join_or(refused, prepared, &session).await.map(Some);
        }
        let version = rests_only.then_some(session.version);
        let claimed = match self.host.try_claim(&prepared.key, vec![prepared.item.clone()], version).await {
            // Whoever runs it takes the message as its policy says.
            Err(RuntimeError::Held { .. }) if policy.is_some() && !rests_only => {
                return self.join(prepared).await;
            }
            Err(refused @ (RuntimeError::Held { .. } | RuntimeError::Aborted { .. })) => {
                return self.join_or(refused, prepared, &session).await.map(Some);
            }
            // Deleted since it was read.
            Err(RuntimeError::NotFound { .. }) => return Ok(None),
            Err(RuntimeError::KeyConflict { .. }) => return Err(conflict(prepared)),
            claimed => claimed?,
        };
        match claimed {
            Try::Ours(claimed) => Ok(Some(RunHandle::begin(self, *claimed, Plan::Run(agent)))),
            Try::Duplicate => Ok(Some(RunHandle::of_another(self, prepared.key.clone(), true))),
            Try::Changed => Ok(None),
        }
    }
}

/// Any version of the agent will do: the session stays with its own.
fn check_agent(prepared: &Prepared, session: &Session) -> Result<(), RuntimeError> {
    if session.definition == *prepared.agent.definition()
        || named::is_of(session, &prepared.agent.spec().name)
    {
        return Ok(());
    }
    let found = QueueLabel::new(named::agent_label(&session.queue, &session.labels));
    Err(RuntimeError::OtherAgent {
        key: session.key.clone(),
        found: found.unwrap_or_else(|_| session.queue.clone()),
        asked: prepared.agent.label().clone(),
    })
}

fn conflict(prepared: &Prepared) -> RuntimeError {
    keys::conflict(&prepared.key, prepared.once.named(), prepared.item.key.clone())
}
