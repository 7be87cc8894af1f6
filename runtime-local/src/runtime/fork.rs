//! Forks: the checkpoints of a session, and new sessions that begin from one.

use holdover_core::engine::STATE_FORMAT_LED;
use holdover_core::fork::{self, ForkPlan, NewWork};
use holdover_core::ids::{CheckpointId, Incarnation, InvalidId, OperationId, SessionId, SessionKey};
use holdover_core::machine::Machine;
use holdover_core::payload::Digest;
use holdover_core::store::{
    Checkpoint, CheckpointQuery, ForkOutcome, Labels, NewFork, NewState, Page, PageRequest, Session,
    SessionStatus, StateStoreExt,
};
use serde::Deserialize;
use uuid::Uuid;

use super::{Runtime, named};
use crate::agent::Agent;
use crate::error::RuntimeError;
use crate::host::draw_id;

/// The settings of a fork: the checkpoint to begin from, and the id of the new session. In JSON, both fields
/// `at` and `to` are optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fork {
    pub(super) at: Option<CheckpointId>,
    pub(super) to: Option<SessionId>,
    #[serde(skip)]
    pub(super) labels: Labels,
    #[serde(skip)]
    pub(super) operation: Option<OperationId>,
}

impl Fork {
    /// Creates a fork from the newest checkpoint, under a random id.
    pub fn newest() -> Self {
        Self::default()
    }

    /// Creates a fork from this checkpoint.
    pub fn at(checkpoint: CheckpointId) -> Self {
        Self { at: Some(checkpoint), ..Self::default() }
    }

    /// Sets the id of the new session.
    #[must_use]
    pub fn to(self, id: SessionId) -> Self {
        Self { to: Some(id), ..self }
    }

    /// Adds a label to those of the source. It replaces a label of the source with the same name.
    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.0.insert(name.into(), value.into());
        self
    }

    /// Forks at most once under this operation id. A repeat with the same checkpoint and session id gets the same
    /// answer. If no session id is given, it is derived from the source and the operation id. Without a checkpoint, a repeat
    /// finds the same session, and names the checkpoint that is the newest by then.
    #[must_use]
    pub fn once(self, operation: OperationId) -> Self {
        Self { operation: Some(operation), ..self }
    }
}

/// A fork and, for a handoff, its new work and its agent, if that is another one.
pub(super) struct Branch<'a> {
    pub(super) fork: Fork,
    pub(super) handoff: Option<&'a NewWork>,
    pub(super) agent: Option<&'a Agent>,
}

/// A session that was forked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Forked {
    /// The key of the fork.
    pub key: SessionKey,
    /// The checkpoint from which the fork began.
    pub at: CheckpointId,
    /// The status of the fork. If the checkpoint is at the end of a turn, it is the status with which that
    /// turn ended. If the checkpoint is in the middle of a turn, or if the source was aborted, the fork is
    /// interrupted and can be [resumed](Runtime::resume).
    pub status: SessionStatus,
}

/// A checkpoint with its decoded state.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CheckpointEntry {
    /// The checkpoint, as it is stored.
    pub checkpoint: Checkpoint,
    /// The machine of the session at that time.
    pub machine: Machine,
}

impl Runtime {
    /// Lists the checkpoints of a session, newest first. There is one after each step, and one wherever a run parked
    /// or a turn ended.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or a checkpoint cannot be
    /// [read](RuntimeError::Unreadable).
    pub async fn checkpoints(
        &self,
        key: &SessionKey,
        page: PageRequest,
    ) -> Result<Page<CheckpointEntry>, RuntimeError> {
        self.existing(key).await?;
        let query = CheckpointQuery { page, ..CheckpointQuery::all(key.clone()) };
        let Page { items, next } = self.host.store().list_checkpoints(&query).await?;
        let read = |checkpoint: Checkpoint| {
            let what = || format!("checkpoint {}", checkpoint.id);
            let machine = checkpoint.state.parse();
            let machine = machine.map_err(|error| RuntimeError::unreadable(key, what(), error))?;
            Ok(CheckpointEntry { checkpoint, machine })
        };
        let items = items.into_iter().map(read).collect::<Result<_, RuntimeError>>()?;
        Ok(Page { items, next })
    }

    /// Begins a new session, at rest, from a checkpoint of another session. The fork has the transcript up to
    /// the checkpoint, the agent, and the labels of the source, except those of its place in a tree and of its
    /// [schedule](Labels::SCHEDULE). In the fork, a call that had ended keeps its result, a call that was in
    /// flight is in doubt, and every other call is cancelled (`system:forked`). The source is not changed.
    ///
    /// The label [`FORKED_FROM`](Labels::FORKED_FROM) of the fork names its source. Use it to [list](Self::list) all
    /// forks of a session.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound) or [checkpoint](RuntimeError::NoCheckpoint), a
    /// session with the new id [exists](RuntimeError::Exists) already, or no fork can begin from the
    /// [checkpoint](RuntimeError::Fork).
    pub async fn fork(&self, from: &SessionKey, fork: Fork) -> Result<Forked, RuntimeError> {
        self.branch(from, Branch { fork, handoff: None, agent: None }).await
    }

    pub(super) async fn branch(&self, from: &SessionKey, branch: Branch<'_>) -> Result<Forked, RuntimeError> {
        let Branch { fork, handoff, agent } = branch;
        let id = match (fork.to.clone(), &fork.operation) {
            (Some(id), _) => id,
            (None, Some(operation)) => derived_id(from, operation)?,
            (None, None) => draw_id(),
        };
        let key = SessionKey::new(from.tenant.clone(), id);
        let operation = fork.operation.clone().unwrap_or_else(draw_id);
        self.check_new(&key).await?;
        let source = self.existing(from).await?;
        let checkpoint = self.checkpoint(from, fork.at).await?;
        let at = checkpoint.id;
        let plan = self.plan_fork(&source, &checkpoint, handoff).await?;
        let status = plan.status;
        let mut labels = source.labels;
        // Nobody waits for a fork, and no schedule counts it as its own.
        labels.0.retain(|name, _| !Labels::OF_CALLER.contains(&name.as_str()) && name != Labels::SCHEDULE);
        if agent.is_some() {
            let of_agent = [Labels::AGENT, Labels::AGENT_VERSION, Labels::PROGRAM];
            labels.0.retain(|name, _| !of_agent.contains(&name.as_str()));
        }
        labels.0.extend(fork.labels.0);
        let labels = match agent {
            Some(agent) => named::labelled(labels, &agent.record(), &self.shared.program),
            None => labels,
        };
        let labels = labels.with_if_room(Labels::FORKED_FROM, from.id.as_str());
        let (queue, definition) = match agent {
            Some(agent) => (agent.queue().clone(), agent.definition().clone()),
            None => (source.queue, source.definition),
        };
        // A worker of an older format would not follow the procedure.
        let follows = agent.is_some_and(|agent| agent.spec().procedure.is_some());
        let format = plan.state.format.max(STATE_FORMAT_LED);
        let state = if follows { NewState { format, ..plan.state } } else { plan.state };
        let new = NewFork {
            source: checkpoint.incarnation,
            key: key.clone(),
            incarnation: Incarnation(Uuid::new_v4()),
            operation,
            queue,
            labels,
            definition,
            status,
            state,
            messages: plan.messages,
            events: plan.events,
        };
        match self.host.repeated(|| self.host.store().fork_session(from, at, new.clone())).await? {
            ForkOutcome::Forked { .. } => Ok(Forked { key, at, status }),
            ForkOutcome::AlreadyExists { status, .. } => Err(RuntimeError::Exists { key, status }),
            // An earlier attempt made the fork, its answer was lost, and the fork has been deleted since.
            ForkOutcome::Deleted => Err(RuntimeError::NotFound { key }),
            ForkOutcome::NoSource => Err(RuntimeError::NotFound { key: from.clone() }),
            ForkOutcome::NoCheckpoint => Err(RuntimeError::NoCheckpoint { key: from.clone(), at: Some(at) }),
        }
    }

    async fn checkpoint(
        &self,
        key: &SessionKey,
        at: Option<CheckpointId>,
    ) -> Result<Checkpoint, RuntimeError> {
        let newest = PageRequest::first(std::num::NonZeroU32::MIN);
        let mut query = CheckpointQuery { key: key.clone(), id: at, page: newest };
        loop {
            let Page { mut items, next } = self.host.store().list_checkpoints(&query).await?;
            if let Some(found) = items.pop() {
                return Ok(found);
            }
            if next.is_none() {
                return Err(RuntimeError::NoCheckpoint { key: key.clone(), at });
            }
            query.page.after = next;
        }
    }

    async fn plan_fork(
        &self,
        source: &Session,
        at: &Checkpoint,
        handoff: Option<&NewWork>,
    ) -> Result<ForkPlan, RuntimeError> {
        let ranges = fork::needed_messages(&source.key, at)?;
        // Staged results are read before the messages, so a result that is promoted in between is in both.
        let staged = match self.existing(&source.key).await? {
            now if now.incarnation == at.incarnation => now.staged.results,
            _ => return Err(RuntimeError::NotFound { key: source.key.clone() }),
        };
        let messages = if ranges.is_empty() {
            Vec::new()
        } else {
            self.host.store().read_all_messages(&source.key, &ranges).await?
        };
        let now = self.now();
        Ok(match handoff {
            None => fork::plan(&source.key, at, &messages, &staged, now)?,
            Some(handoff) => fork::plan_handoff(&source.key, at, &messages, &staged, handoff, now)?,
        })
    }
}

/// Returns the id of the session that belongs to a fork operation. It is the same in every process, for ever.
fn derived_id(from: &SessionKey, operation: &OperationId) -> Result<SessionId, InvalidId> {
    let text = format!("holdover fork\0{}\0{from}\0{operation}", from.tenant.as_str().len());
    let digest = Digest::of(text.as_bytes()).to_string();
    SessionId::new(format!("f-{}", &digest[..40]))
}
