//! Starts a turn in a new or an existing session.

use std::sync::Arc;

use holdover_core::ids::{InboxSeq, QueueLabel, SessionKey};
use holdover_core::message::MessagePolicy;
use holdover_core::store::{CreateOutcome, Delivery, Session, Start};
use tokio::time::Instant;

use super::delivery::item_of;
use super::execute::{Execute, Prepared};
use super::keys::{self, Once};
use super::{DeliveredItem, RunHandle, Runtime, named};
use crate::agent::Agent;
use crate::drive::Plan;
use crate::error::RuntimeError;
use crate::host::Claimed;
use crate::host::Try;

/// The maximum number of attempts on a session that other callers create, delete or change meanwhile.
const TRIES_MAX: u32 = 8;

/// The result of [`Runtime::start`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Started {
    /// The session.
    pub key: SessionKey,
    /// True if the message had been accepted before under this idempotency key.
    pub duplicate: bool,
    /// The number of the message in the inbox of the session. The turn begins later; [`Runtime::taken`] finds it by
    /// this number.
    pub item: InboxSeq,
}

/// The number of the only message with which a session is created.
const FIRST_ITEM: InboxSeq = InboxSeq(1);

impl Runtime {
    /// Starts a turn and runs it here. With [`run_here`](crate::RuntimeOptions::run_here) off, this does the same as
    /// [`start`](Self::start), and the handle follows the turn.
    ///
    /// A message [for later](Execute::at) is left to the workers, as by [`start`](Self::start). The handle's outcome is that
    /// of the turn that takes the message; waiting for it runs the session here when it is due.
    ///
    /// A new session is created already claimed. An existing session is claimed together with the message. If another run
    /// holds the session and neither the message nor its agent has a policy, nothing is delivered, and
    /// [`RuntimeError::Held`] names that run. With a policy, the message is delivered to that run, or is refused as
    /// [busy](RuntimeError::Busy).
    ///
    /// A message that was accepted before under its key is not refused for these reasons, nor because the session
    /// was aborted since, nor because its agent is no longer found here. The handle then follows the turn that the
    /// message began.
    ///
    /// A new session is [refused](RuntimeError::NotServed) if the runtime's [source](crate::AgentSource) does not
    /// find its agent, because no worker here could go on with it after a restart. It is accepted if another program
    /// [serves](Execute::served_elsewhere) the agent.
    ///
    /// Further errors: the session is [aborted](RuntimeError::Aborted), it belongs to [another
    /// agent](RuntimeError::OtherAgent), it began with [another message](RuntimeError::NotFirst), the key was used
    /// before for [something else](RuntimeError::KeyConflict), the tools of the agent may not be used on this
    /// [store](RuntimeError::EffectsRefused), or the session kept [changing](RuntimeError::Contended).
    pub async fn execute(&self, request: Execute) -> Result<RunHandle, RuntimeError> {
        if !self.options().run_here || request.not_before.is_some() {
            let not_before = request.not_before;
            let Started { key, duplicate, item } = self.start(request).await?;
            return Ok(RunHandle::of_another(self, key, duplicate).delivering(item).at(not_before));
        }
        self.check_effects(&request.agent)?;
        let agent = Arc::clone(&request.agent);
        let prepared = request.prepare()?;
        let unserved = self.check_is_served(&prepared).await.err();
        if unserved.is_none() {
            self.shared.agents.remember(&agent);
        }
        match self.execute_prepared(&prepared, &agent, unserved).await {
            Err(refused @ (RuntimeError::KeyConflict { .. } | RuntimeError::NotFirst { .. })) => {
                let known = self.repeat_or(refused, &prepared.key, &prepared.item).await?;
                Ok(RunHandle::of_another(self, prepared.key.clone(), true).delivering(known.item))
            }
            executed => executed,
        }
    }

    async fn execute_prepared(
        &self,
        prepared: &Prepared,
        agent: &Arc<Agent>,
        unserved: Option<RuntimeError>,
    ) -> Result<RunHandle, RuntimeError> {
        for _ in 0..TRIES_MAX {
            match self.host.store().load_session(&prepared.key).await? {
                None => {
                    prepared.key.id.check_new()?;
                    if let Some(unserved) = unserved {
                        return Err(unserved);
                    }
                    if let Some(handle) = self.create_claimed(prepared, agent).await? {
                        return Ok(handle);
                    }
                }
                Some(session) if prepared.derived => {
                    check_agent(prepared, &session)?;
                    if let Some(handle) = self.join(prepared).await? {
                        return Ok(handle);
                    }
                }
                Some(session) => {
                    if let Some(handle) = self.take_up(prepared, agent, session).await? {
                        return Ok(handle);
                    }
                }
            }
        }
        Err(RuntimeError::Contended { key: prepared.key.clone(), tries: TRIES_MAX })
    }

    /// Starts a turn and leaves it to the workers: creates the session, or delivers the message to an existing one. A
    /// new session is [refused](RuntimeError::NotServed) if the runtime's [source](crate::AgentSource) does not find
    /// its agent, unless another program [serves](Execute::served_elsewhere) the agent. The errors are those of
    /// [`execute`](Self::execute), except [`Held`](RuntimeError::Held): a run that holds the session gets the
    /// message.
    pub async fn start(&self, request: Execute) -> Result<Started, RuntimeError> {
        self.check_effects(&request.agent)?;
        self.leave(&request.prepare()?).await
    }

    /// Creates the session, or delivers the message to an existing one, and leaves the turn to the workers.
    pub(super) async fn leave(&self, prepared: &Prepared) -> Result<Started, RuntimeError> {
        self.check_new(&prepared.key).await?;
        if let Err(unserved) = self.check_is_served(prepared).await
            && self.host.store().load_session(&prepared.key).await?.is_none()
        {
            return Err(unserved);
        }
        let delivered = match self.start_prepared(prepared).await {
            Err(refused @ (RuntimeError::KeyConflict { .. } | RuntimeError::NotFirst { .. })) => {
                self.repeat_or(refused, &prepared.key, &prepared.item).await?
            }
            delivered => delivered?,
        };
        let (duplicate, item) = (delivered.is_duplicate(), delivered.item);
        Ok(Started { key: prepared.key.clone(), duplicate, item })
    }

    async fn start_prepared(&self, prepared: &Prepared) -> Result<DeliveredItem, RuntimeError> {
        let key = || prepared.key.clone();
        for _ in 0..TRIES_MAX {
            let start = prepared.not_before.map_or(Start::WithItems, Start::At);
            let new = prepared.new_session(self.program(), start, vec![prepared.item.clone()]);
            match self.host.repeated(|| self.host.store().create_session(new.clone())).await? {
                CreateOutcome::Created { .. } => {
                    self.host.note_alarm(prepared.not_before);
                    return Ok(DeliveredItem::accepted(FIRST_ITEM));
                }
                CreateOutcome::AlreadyExists { .. } | CreateOutcome::ItemConflict { .. } => {}
                CreateOutcome::Deleted => return Err(RuntimeError::NotFound { key: key() }),
            }
            if let Some(session) = self.host.store().load_session(&prepared.key).await? {
                check_agent(prepared, &session)?;
                if prepared.not_before.is_none() && Self::rejects(&session, prepared.policy) {
                    let named = prepared.once.named();
                    return self.deliver_at_rest(&prepared.key, &prepared.item, named).await;
                }
            }
            match self
                .host
                .repeated(|| self.host.store().deliver(&prepared.key, prepared.item.clone()))
                .await?
            {
                Delivery::Accepted { seq } => return Ok(DeliveredItem::accepted(seq)),
                Delivery::Duplicate { seq } => return Ok(DeliveredItem::duplicate(seq)),
                Delivery::Conflict { .. } => return Err(conflict(prepared)),
                Delivery::Aborted => return Err(RuntimeError::Aborted { key: key() }),
                // The session has been deleted since.
                Delivery::AlreadyAnswered | Delivery::NotPending | Delivery::NotFound => {}
            }
        }
        Err(RuntimeError::Contended { key: key(), tries: TRIES_MAX })
    }

    /// Refuses an id that no new session may have, unless the session exists.
    pub(super) async fn check_new(&self, key: &SessionKey) -> Result<(), RuntimeError> {
        match key.id.check_new() {
            Err(why) if self.host.store().load_session(key).await?.is_none() => Err(why.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Refuses a new session whose agent is not served.
    pub(super) async fn check_is_served(&self, prepared: &Prepared) -> Result<(), RuntimeError> {
        if prepared.served_elsewhere {
            return Ok(());
        }
        self.shared
            .agents
            .check_served(&prepared.key, &prepared.agent.queue, &prepared.agent.definition)
            .await
    }

    /// Creates the session, claimed by this process. Returns `None` if another caller created it meanwhile.
    async fn create_claimed(
        &self,
        prepared: &Prepared,
        agent: &Arc<Agent>,
    ) -> Result<Option<RunHandle>, RuntimeError> {
        let one = self.host.claim_one(vec![prepared.item.clone()], None);
        let new = prepared.new_session(self.program(), Start::Claimed(one), Vec::new());
        let asked = Instant::now();
        match self.host.repeated(|| self.host.store().create_session(new.clone())).await? {
            CreateOutcome::Created { claim: Some(claim), .. } => {
                self.host.hear(claim.now);
                let plan = Plan::Run(Arc::clone(agent));
                let handle = RunHandle::begin(self, Claimed::new(*claim, asked), plan);
                Ok(Some(handle.delivering(FIRST_ITEM)))
            }
            // This process created the session, but the lease ended before the answer came.
            CreateOutcome::Created { claim: None, .. } => {
                let handle = RunHandle::of_another(self, prepared.key.clone(), false);
                Ok(Some(handle.delivering(FIRST_ITEM)))
            }
            CreateOutcome::AlreadyExists { .. } | CreateOutcome::ItemConflict { .. } => Ok(None),
            // An earlier attempt created the session, its answer was lost, and the session has been deleted since.
            CreateOutcome::Deleted => Err(RuntimeError::NotFound { key: prepared.key.clone() }),
        }
    }

    /// Delivers the message to the existing session, for its present run or the next one. Returns `None` if the
    /// session has been deleted since.
    async fn join(&self, prepared: &Prepared) -> Result<Option<RunHandle>, RuntimeError> {
        match self.host.repeated(|| self.host.store().deliver(&prepared.key, prepared.item.clone())).await? {
            Delivery::Accepted { seq } => {
                Ok(Some(RunHandle::of_another(self, prepared.key.clone(), false).delivering(seq)))
            }
            Delivery::Duplicate { seq } => {
                Ok(Some(RunHandle::of_another(self, prepared.key.clone(), true).delivering(seq)))
            }
            Delivery::Conflict { .. } => Err(conflict(prepared)),
            Delivery::Aborted => Err(RuntimeError::Aborted { key: prepared.key.clone() }),
            Delivery::AlreadyAnswered | Delivery::NotPending | Delivery::NotFound => Ok(None),
        }
    }

    /// Follows the turn of this message if the message was accepted before. Otherwise returns the error
    /// `refused`.
    async fn join_or(
        &self,
        refused: RuntimeError,
        prepared: &Prepared,
        session: &Session,
    ) -> Result<RunHandle, RuntimeError> {
        if prepared.once == Once::Never {
            return Err(refused);
        }
        let known = self.duplicate_or(refused, session, &prepared.item, prepared.once.named()).await?;
        Ok(RunHandle::of_another(self, prepared.key.clone(), true).delivering(known.item))
    }

    /// Claims an existing session together with the message. Returns `None` if the session changed meanwhile.
    async fn take_up(
        &self,
        prepared: &Prepared,
        agent: &Arc<Agent>,
        session: Session,
    ) -> Result<Option<RunHandle>, RuntimeError> {
        check_agent(prepared, &session)?;
        let agent = if session.definition == prepared.agent.definition {
            // Later runs of the session in this process also use this agent.
            self.shared.agents.remember(agent);
            Arc::clone(agent)
        } else {
            match self.agent_to_run(&session.key, &session.queue, &session.definition).await {
                Ok(agent) => agent,
                // If the message was accepted before, a process that has the agent runs it.
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
            // The run that holds the session handles the message by its policy.
            Err(RuntimeError::Held { .. }) if policy.is_some() && !rests_only => {
                return self.join(prepared).await;
            }
            Err(refused @ (RuntimeError::Held { .. } | RuntimeError::Aborted { .. })) => {
                return self.join_or(refused, prepared, &session).await.map(Some);
            }
            // The session was deleted since it was read.
            Err(RuntimeError::NotFound { .. }) => return Ok(None),
            Err(RuntimeError::KeyConflict { .. }) => return Err(conflict(prepared)),
            claimed => claimed?,
        };
        match claimed {
            Try::Ours(claimed) => {
                let item = item_of(&claimed.claim, &prepared.item.key);
                Ok(Some(RunHandle::begin(self, *claimed, Plan::Run(agent)).delivering(item)))
            }
            Try::Duplicate(seq) => {
                Ok(Some(RunHandle::of_another(self, prepared.key.clone(), true).delivering(seq)))
            }
            Try::Changed => Ok(None),
        }
    }
}

/// Refuses a session of another agent. Any version of the agent is accepted: the session keeps its own
/// version.
fn check_agent(prepared: &Prepared, session: &Session) -> Result<(), RuntimeError> {
    if session.definition == prepared.agent.definition || named::is_of(session, &prepared.agent.name) {
        return Ok(());
    }
    let found = QueueLabel::new(named::agent_label(&session.queue, &session.labels));
    Err(RuntimeError::OtherAgent {
        key: session.key.clone(),
        found: found.unwrap_or_else(|_| session.queue.clone()),
        asked: prepared.agent.label.clone(),
    })
}

fn conflict(prepared: &Prepared) -> RuntimeError {
    keys::conflict(&prepared.key, prepared.once.named(), prepared.item.key.clone())
}
