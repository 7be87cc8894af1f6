//! Tasks between programs: agents here take tasks from other programs, and agents of other programs answer sessions
//! here.

use std::sync::Arc;

use holdover_core::children::{Address, ChildNames, ChildOutcome, Parent, ReplyTo};
use holdover_core::ids::{
    Incarnation, InvalidId, ItemKey, OperationId, PendingId, SessionId, SessionKey, TenantId,
};
use holdover_core::machine::{AgentState, CallState, Ending, Machine, Usage};
use holdover_core::message::Message;
use holdover_core::payload::{Digest, Payload};
use holdover_core::remote::{Remote, RemoteTask, TaskOutcome, TaskStanding};
use holdover_core::store::{
    CreateOutcome, InboxItem, ItemKind, Labels, NewSession, Session, SessionStatus, Start,
};

use super::Runtime;
use super::execute::{Execute, Prepared};
use super::standing::machine_of;
use crate::agent::Agent;
use crate::drive::{has_ended, outcome_elsewhere};
use crate::error::RuntimeError;

impl Runtime {
    /// Takes a task for an agent from another program: creates a session of the tenant, which workers run. When the
    /// turn ends, its outcome is sent to the address in the task, if there is one. The outcome can also be [asked
    /// for](Self::task). The task's limits apply to the turn. If a task with this id was given before, nothing changes
    /// and its standing is returned.
    ///
    /// Errors: those of [`start`](Self::start). A deleted task is no error: its standing is
    /// [`Ended`](TaskStanding::Ended).
    pub async fn take_task(
        &self,
        tenant: &TenantId,
        agent: &Arc<Agent>,
        task: RemoteTask,
    ) -> Result<TaskStanding, RuntimeError> {
        let key = task_key(tenant, agent, &task.id)?;
        if self.session(&key).await?.is_some_and(|session| has_begun(&session))
            && let Some(standing) = self.standing_of_task(&key).await?
        {
            return Ok(standing);
        }
        let RemoteTask { id, task, limits, reply_to } = task;
        let labels = Labels::default().with_if_room(Labels::TASK, id.as_str());
        let to = Address::Elsewhere { task: id, url: reply_to, time_ms: limits.time_ms };
        let reply = ReplyTo { to, allowance: limits.share(), used_before: Usage::default() };
        self.check_effects(agent)?;
        let request = Execute::new(tenant.clone(), Arc::clone(agent), task).in_session(key.id.clone());
        let prepared = request.labelled(labels).once(ItemKey::new("task")?).replying(reply).prepare()?;
        self.check_is_served(&prepared).await?;
        let item = prepared.item.clone();
        if let Some(refused) = self.create_task(&prepared, vec![item.clone()]).await? {
            return Ok(refused);
        }
        if self.session(&key).await?.is_some_and(|session| !has_begun(&session)) {
            // The process that was to stop the session died before it finished. The session is stopped again, or gets
            // the task.
            self.host.repeated(|| self.host.store().deliver(&key, item.clone())).await?;
        }
        Ok(self.standing_of_task(&key).await?.unwrap_or(TaskStanding::Open))
    }

    /// Creates the session of a task, at most once. Returns the standing of the task if its session was deleted.
    async fn create_task(
        &self,
        prepared: &Prepared,
        items: Vec<InboxItem>,
    ) -> Result<Option<TaskStanding>, RuntimeError> {
        let SessionKey { tenant, id } = &prepared.key;
        let digest = Digest::of(format!("task life\0{tenant}\0{id}").as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest.0[..16]);
        // The incarnation and the operation follow from the task, so a deleted task does not begin again.
        let incarnation = Incarnation::derived(bytes);
        let operation = OperationId::new(format!("task.{incarnation}"))?;
        let new = prepared.new_session(self.program(), Start::WithItems, items);
        let new = NewSession { incarnation, operation, ..new };
        Ok(match self.host.repeated(|| self.host.store().create_session(new.clone())).await? {
            CreateOutcome::Deleted => Some(ended_without("it was deleted")),
            CreateOutcome::Created { .. }
            | CreateOutcome::AlreadyExists { .. }
            | CreateOutcome::ItemConflict { .. } => None,
        })
    }

    /// Returns the standing of a task that an agent took from another program. Returns `None` if there is no such
    /// task, or if the session that took it over no longer exists.
    ///
    /// Errors: the session of the task cannot be [read](RuntimeError::Unreadable).
    pub async fn task(
        &self,
        tenant: &TenantId,
        agent: &Arc<Agent>,
        task: &SessionId,
    ) -> Result<Option<TaskStanding>, RuntimeError> {
        self.standing_of_task(&task_key(tenant, agent, task)?).await
    }

    /// Stops a task for ever by aborting its session. A task that has ended is left as it is. If the task has not
    /// arrived yet, an aborted session is created for it, so it never begins.
    pub async fn stop_task(
        &self,
        tenant: &TenantId,
        agent: &Arc<Agent>,
        task: &SessionId,
    ) -> Result<(), RuntimeError> {
        let key = task_key(tenant, agent, task)?;
        let labels = Labels::default().with_if_room(Labels::TASK, task.as_str());
        let request = Execute::new(tenant.clone(), Arc::clone(agent), "").in_session(key.id.clone());
        let prepared = request.labelled(labels).prepare()?;
        if self.create_task(&prepared, Vec::new()).await?.is_some() {
            return Ok(());
        }
        let Some(mut session) = self.session(&key).await? else { return Ok(()) };
        // The successor is stopped in place of the session.
        while let Some(next) = self.successor(&session).await? {
            session = next;
        }
        if session.epoch.0 > 0 && has_ended(&session) {
            return Ok(());
        }
        match self.abort(&session.key, "whoever gave the task does not wait for it any more").await {
            Ok(_) | Err(RuntimeError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the agent in another program that the call with this pending id waits for. Returns `None` if no such
    /// call waits.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or it cannot be
    /// [read](RuntimeError::Unreadable).
    pub async fn waits_elsewhere(
        &self,
        session: &SessionKey,
        pending: &PendingId,
    ) -> Result<Option<Remote>, RuntimeError> {
        let machine = machine_of(&self.existing(session).await?)?;
        let batch = machine.as_ref().and_then(|machine| machine.state.batch());
        Ok(batch.and_then(|batch| {
            batch.calls.iter().find_map(|call| {
                let CallState::BlockedOnChild { pending: waits, remote: Some(remote), .. } = &call.state
                else {
                    return None;
                };
                (waits == pending).then(|| Remote::clone(remote))
            })
        }))
    }

    /// Answers for a child in another program, at most once. An outcome that no call waits for is ignored. The caller
    /// must make sure that the outcome comes from the agent that has the task.
    pub async fn task_ended(&self, parent: &Parent, outcome: TaskOutcome) -> Result<(), RuntimeError> {
        let unreadable = |why: String| RuntimeError::unreadable(&parent.session, "outcome", why);
        let names =
            ChildNames::of(&parent.pending, parent.index).map_err(|why| unreadable(why.to_string()))?;
        let outcome = outcome_elsewhere(parent.index, &names, outcome);
        let settles = parent.fail_fast && !outcome.ok;
        let item = InboxItem {
            key: names.answer,
            kind: ItemKind::Answer { pending: parent.pending.clone(), settles },
            incarnation: Some(parent.incarnation),
            payload: Payload::json(&outcome).map_err(|why| unreadable(why.to_string()))?,
        };
        self.host.repeated(|| self.host.store().deliver(&parent.session, item.clone())).await?;
        Ok(())
    }

    async fn standing_of_task(&self, key: &SessionKey) -> Result<Option<TaskStanding>, RuntimeError> {
        let Some(mut session) = self.session(key).await? else { return Ok(None) };
        let mut machine = machine_of(&session)?.unwrap_or_default();
        // The newest successor answers for the session. The usage of earlier sessions is added to its own.
        let mut before = Usage::default();
        while !machine.successors.is_empty() {
            before.add(used_in_last_turn(&machine));
            let Some(next) = self.successor(&session).await? else { return Ok(None) };
            session = next;
            machine = machine_of(&session)?.unwrap_or_default();
        }
        // A fixed ending counts, even while other sessions are still being told of it.
        let Some(ending) = machine.state.ending().filter(|_| is_fixed(&session, &machine)).cloned() else {
            return Ok(Some(match session.status {
                SessionStatus::Aborted => ended_without("it was stopped before it began"),
                SessionStatus::Idle
                | SessionStatus::Active
                | SessionStatus::Suspended
                | SessionStatus::Interrupted
                | SessionStatus::Failed => TaskStanding::Open,
            }));
        };
        let words = self.words_of(&session, &machine, &ending).await?;
        let mut usage = used_in_last_turn(&machine);
        usage.add(before);
        let said = ChildOutcome::of(0, session.key.id, &ending, &words, usage);
        Ok(Some(TaskStanding::Ended(TaskOutcome { ok: said.ok, text: said.text, usage: said.usage })))
    }

    /// Returns the value that the last turn of a session returned, or else the last text of its model.
    async fn words_of(
        &self,
        session: &Session,
        machine: &Machine,
        ending: &Ending,
    ) -> Result<String, RuntimeError> {
        if let Some(place) = ending.output {
            let read = self.read_range(&session.key, place.message, place.message).await?;
            let message: Option<Message> = read.into_iter().next().map(|entry| entry.message);
            return Ok(message
                .and_then(|message| place.find(&message).map(str::to_owned))
                .unwrap_or_default());
        }
        let words = self.last_text_of(&session.key, session.last_message, &machine.turn).await?;
        Ok(words.unwrap_or_default())
    }
}

/// Returns the usage of a session's last turn. If that is not known, because an older version began the turn, returns
/// the usage of the whole session.
fn used_in_last_turn(machine: &Machine) -> Usage {
    machine.used_in_turn().unwrap_or(machine.usage)
}

/// Returns the standing of a task that has ended without an outcome of its agent, for this reason. Its usage is 0.
fn ended_without(why: &str) -> TaskStanding {
    TaskStanding::Ended(TaskOutcome { ok: false, text: why.to_owned(), usage: Usage::default() })
}

/// Returns true if the task has reached its session, or if the session was ended without the task.
fn has_begun(session: &Session) -> bool {
    session.epoch.0 > 0 || session.unread > 0
}

/// Returns true if the ending of the last turn cannot change: the session has ended, or other sessions are being told
/// so.
fn is_fixed(session: &Session, machine: &Machine) -> bool {
    match &machine.state {
        // A handoff may still fail.
        AgentState::TearingDown { left, .. } => left.successor.is_none(),
        AgentState::Done { .. } => has_ended(session),
        AgentState::Idle
        | AgentState::Provisioning { .. }
        | AgentState::Thinking { .. }
        | AgentState::Streaming { .. }
        | AgentState::Executing { .. }
        | AgentState::Confirming { .. }
        | AgentState::Dispatching { .. }
        | AgentState::Steering { .. }
        | AgentState::Compacting { .. }
        | AgentState::BackingOff { .. } => false,
    }
}

/// Returns the key of the session of a task. The id is a digest of the agent's name and the task's id, so no caller can
/// name another session.
fn task_key(tenant: &TenantId, agent: &Agent, task: &SessionId) -> Result<SessionKey, InvalidId> {
    let name = &agent.spec().name;
    let digest = Digest::of(format!("task\0{}\0{name}\0{task}", name.len()).as_bytes()).to_string();
    Ok(SessionKey::new(tenant.clone(), SessionId::new(format!("task-{}", &digest[..40]))?))
}
