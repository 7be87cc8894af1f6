//! Starts a turn with a message.

use std::sync::Arc;

use holdover_core::engine::STATE_FORMAT;
use holdover_core::ids::{Incarnation, InvalidId, ItemKey, QueueLabel, SessionId, SessionKey, TenantId};
use holdover_core::image::Images;
use holdover_core::message::{MessagePolicy, Said};
use holdover_core::mode::{Briefing, Mode};
use holdover_core::payload::{Digest, Payload};
use holdover_core::store::{
    CreateOutcome, Delivery, InboxItem, ItemKind, Labels, NewSession, Session, Start, Wake,
};
use tokio::time::Instant;
use uuid::Uuid;

use super::keys::{self, Once};
use super::{Delivered, RunHandle, Runtime, named};
use crate::agent::Agent;
use crate::drive::Plan;
use crate::error::RuntimeError;
use crate::host::Try;
use crate::host::{Claimed, draw_id};

/// How often a session that others create, delete or move meanwhile is tried.
const TRIES_MAX: u32 = 8;

/// A message that starts a turn, in a new or an existing session.
#[derive(Debug, Clone)]
pub struct Execute {
    /// The tenant of the session.
    pub tenant: TenantId,
    /// The session. None: a new one, or, with an idempotency key, the one that belongs to the key.
    pub session: Option<SessionId>,
    /// The agent that answers. An existing session keeps the version of the agent that it was created with.
    pub agent: Arc<Agent>,
    /// The text of the message.
    pub message: String,
    /// Starts at most one turn, however often it comes (INV-27). It is a key of messages, as in
    /// [`Deliver::once`](super::Deliver::once).
    pub idempotency_key: Option<ItemKey>,
    /// Whether this is the first message of its session. Then it needs no key.
    pub first: bool,
    /// The policy for the message while a turn of the session runs or is parked. None: the policy of its
    /// agent counts. If the agent has none either, a session that somebody runs is
    /// [refused](RuntimeError::Held), and a parked one is taken up with the message.
    pub policy: Option<MessagePolicy>,
    /// The labels by which a new session is listed.
    pub labels: Labels,
    /// How the agent works from this message on.
    pub briefing: Briefing,
    /// The pictures that the agent is shown with the message.
    pub images: Images,
    /// Whether another program serves the agent, if it is not found here.
    pub served_elsewhere: bool,
}

impl Execute {
    /// A message to `agent`, in a new session of `tenant`.
    pub fn new(tenant: TenantId, agent: Arc<Agent>, message: impl Into<String>) -> Self {
        Self {
            tenant,
            session: None,
            agent,
            message: message.into(),
            idempotency_key: None,
            first: false,
            policy: None,
            labels: Labels::default(),
            briefing: Briefing::default(),
            images: Images::none(),
            served_elsewhere: false,
        }
    }

    /// Lets a new session begin although its agent is not found in this program, because another program
    /// serves it with a source that has the agent. Otherwise such a session is
    /// [refused](RuntimeError::NotServed).
    #[must_use]
    pub fn served_elsewhere(self) -> Self {
        Self { served_elsewhere: true, ..self }
    }

    /// Uses this session, which is created if there is none.
    #[must_use]
    pub fn in_session(self, session: impl Into<Option<SessionId>>) -> Self {
        Self { session: session.into(), ..self }
    }

    /// Starts at most one turn under this key.
    #[must_use]
    pub fn once(self, idempotency_key: impl Into<Option<ItemKey>>) -> Self {
        Self { idempotency_key: idempotency_key.into(), ..self }
    }

    /// Sends the message as the first of its session. A repeat starts nothing, and another first message is
    /// [refused](RuntimeError::NotFirst). For sessions whose id is chosen outside.
    #[must_use]
    pub fn first(self) -> Self {
        Self { first: true, ..self }
    }

    /// Sets the policy for the case that a turn of the session runs or is parked.
    #[must_use]
    pub fn under(self, policy: impl Into<Option<MessagePolicy>>) -> Self {
        Self { policy: policy.into(), ..self }
    }

    /// Sets the labels by which a new session is listed: user, tags, metadata. The name of its agent and its
    /// version ([`AGENT`](Labels::AGENT), [`AGENT_VERSION`](Labels::AGENT_VERSION)), and this
    /// [program](Labels::PROGRAM), are added.
    #[must_use]
    pub fn labelled(self, labels: Labels) -> Self {
        Self { labels, ..self }
    }

    /// Adds pictures to the message.
    #[must_use]
    pub fn showing(self, images: Images) -> Self {
        Self { images, ..self }
    }

    /// Sets the mode from this message on.
    #[must_use]
    pub fn in_mode(mut self, mode: Mode) -> Self {
        self.briefing.mode = Some(mode);
        self
    }

    /// Sets a system prompt from this message on. It replaces the agent's whole prompt: mode paragraph,
    /// identity, index of skills and instructions. Tools and skills stay. An empty prompt restores the
    /// agent's own.
    #[must_use]
    pub fn system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.briefing.system_prompt = Some(prompt.into());
        self
    }

    /// The session of the message; none: a new one, whose id is not drawn yet.
    pub fn session_key(&self) -> Result<Option<SessionKey>, RuntimeError> {
        let id = match (&self.session, &self.idempotency_key) {
            (Some(id), _) => id.clone(),
            (None, Some(key)) => derived_id(&self.tenant, key)?,
            (None, None) => return Ok(None),
        };
        Ok(Some(SessionKey::new(self.tenant.clone(), id)))
    }

    fn prepare(self) -> Result<Prepared, RuntimeError> {
        let derived = self.session.is_none() && self.idempotency_key.is_some();
        let key = match self.session_key()? {
            Some(key) => key,
            None => SessionKey::new(self.tenant.clone(), SessionId::new(Uuid::now_v7().to_string())?),
        };
        let Self { policy, briefing, images, .. } = self;
        let said = Said { policy, briefing, images, ..Said::new(self.message) };
        let payload = Payload::json(&said);
        let once = match self.idempotency_key {
            _ if self.first => Once::First,
            Some(key) => Once::Key(key),
            None => Once::Never,
        };
        let item = InboxItem {
            key: keys::of_message(&once)?,
            kind: ItemKind::Message { wake: Wake::Now },
            incarnation: None,
            payload: payload.map_err(|error| RuntimeError::unreadable(&key, "message", error))?,
        };
        let (agent, labels, served_elsewhere) = (self.agent, self.labels, self.served_elsewhere);
        Ok(Prepared { key, derived, agent, once, item, policy, labels, served_elsewhere })
    }
}

/// The id of the session that belongs to an idempotency key: the same in every process, for ever.
fn derived_id(tenant: &TenantId, key: &ItemKey) -> Result<SessionId, InvalidId> {
    let text = format!("holdover session\0{}\0{tenant}\0{key}", tenant.as_str().len());
    let digest = Digest::of(text.as_bytes()).to_string();
    SessionId::new(format!("k-{}", &digest[..40]))
}

struct Prepared {
    key: SessionKey,
    /// The session belongs to the idempotency key and to nothing else.
    derived: bool,
    agent: Arc<Agent>,
    once: Once,
    item: InboxItem,
    policy: Option<MessagePolicy>,
    labels: Labels,
    served_elsewhere: bool,
}

impl Prepared {
    fn new_session(&self, program: &str, start: Start, items: Vec<InboxItem>) -> NewSession {
        NewSession {
            key: self.key.clone(),
            incarnation: Incarnation(Uuid::new_v4()),
            operation: draw_id(),
            queue: self.agent.queue().clone(),
            labels: named::labelled(self.labels.clone(), &self.agent, program),
            definition: self.agent.definition().clone(),
            format: STATE_FORMAT,
            items,
            start,
        }
    }
}

/// The result of [`Runtime::start`].
#[derive(Debug, Clone, PartialEq, Eq)]
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
