//! Handoffs: a new session begins with a goal and an extract of the old session for that goal.

use std::sync::Arc;

use holdover_core::fork::NewWork;
use holdover_core::handoff::Goal;
use holdover_core::ids::{CheckpointId, InvalidId, ItemKey, OperationId, SessionId, SessionKey};
use holdover_core::machine::StopCause;
use holdover_core::message::SignalBody;
use holdover_core::payload::Digest;

use super::Runtime;
use super::deliver::Deliver;
use super::fork::{Branch, Fork};
use super::standing::machine_of;
use crate::agent::Agent;
use crate::error::RuntimeError;

/// The settings of a handoff: the goal, the agent, the checkpoint to begin from, and the id of the new session.
#[derive(Debug, Clone)]
pub struct HandOff {
    goal: String,
    agent: Option<Arc<Agent>>,
    served_elsewhere: bool,
    draft: bool,
    fork: Fork,
    once: Option<ItemKey>,
}

impl HandOff {
    /// Creates a handoff for this goal, from the newest checkpoint, under a random id. A goal must not be empty and
    /// has at most [`GOAL_BYTES_MAX`](holdover_core::handoff::GOAL_BYTES_MAX) bytes.
    pub fn for_goal(goal: impl Into<String>) -> Self {
        Self {
            goal: goal.into(),
            agent: None,
            served_elsewhere: false,
            draft: false,
            fork: Fork::newest(),
            once: None,
        }
    }

    /// Makes the new session wait once it is prepared, until it is [resumed](Runtime::resume) or gets a
    /// message, which may replace its goal. If a message comes before the session is prepared, the session
    /// answers it and does not wait.
    #[must_use]
    pub fn draft(self) -> Self {
        Self { draft: true, ..self }
    }

    /// Lets this agent work on the goal, with its own mode and system prompt, instead of the agent of the source.
    #[must_use]
    pub fn by(self, agent: Arc<Agent>) -> Self {
        Self { agent: Some(agent), ..self }
    }

    /// Allows an agent that is not found in this program, because another program serves the agent. Otherwise such
    /// an agent is [refused](RuntimeError::NotServed).
    #[must_use]
    pub fn served_elsewhere(self) -> Self {
        Self { served_elsewhere: true, ..self }
    }

    /// Begins from this checkpoint.
    #[must_use]
    pub fn at(self, checkpoint: CheckpointId) -> Self {
        Self { fork: Fork { at: Some(checkpoint), ..self.fork }, ..self }
    }

    /// Sets the id of the new session.
    #[must_use]
    pub fn to(self, id: SessionId) -> Self {
        Self { fork: self.fork.to(id), ..self }
    }

    /// Adds a label to those of the source. It replaces a label of the source with the same name.
    #[must_use]
    pub fn label(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { fork: self.fork.label(name, value), ..self }
    }

    /// Hands over at most once under this key. A repeat with the same goal and the same agent finds the existing
    /// session, even if the source has gone on meanwhile. If no session id is given, it is derived from the key.
    #[must_use]
    pub fn once(self, key: impl Into<Option<ItemKey>>) -> Self {
        Self { once: key.into(), ..self }
    }
}

/// The result of a handoff.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandedOff {
    /// The key of the new session.
    pub key: SessionKey,
}

impl Runtime {
    /// Begins a new session that works on a goal, with an extract of another session. The new session is a
    /// [fork](Self::fork), from the newest checkpoint by default; the source may be running or waiting. It has the
    /// labels of a fork, and the custom state of the source. It also has the source's agent and mode, unless [another
    /// agent](HandOff::by) is named. Approvals that held for the rest of the source session do not carry over. The
    /// source is not changed.
    ///
    /// Before the first step, the model makes an extract of the old conversation for the goal. From then on,
    /// the model is shown the extract, the goal and later messages. The old messages stay in the transcript.
    /// Until the extract exists, the session's glance shows
    /// [`Handoff`](holdover_core::machine::glance::Interaction::Handoff). If the extract cannot be made, the
    /// turn fails, and [`retry`](Self::retry) tries again.
    ///
    /// When this returns, the new session is durable with its goal, and awake: a worker, or a caller that
    /// [waits](Self::wait) for it, takes it up. If the process dies before that, the session may be left
    /// interrupted. A repeat with the same [key](HandOff::once), or [`resume`](Self::resume), then starts it.
    ///
    /// The usage of the new session begins with the source's usage. It counts towards the limits of the new session,
    /// even if another agent works there.
    ///
    /// Errors, besides those of [`fork`](Self::fork): the goal is [invalid](RuntimeError::Goal), the other agent is
    /// [not served](RuntimeError::NotServed) here, or its tools may not be used on [this
    /// store](RuntimeError::EffectsRefused).
    pub async fn hand_off(&self, from: &SessionKey, handoff: HandOff) -> Result<HandedOff, RuntimeError> {
        let HandOff { goal, agent, served_elsewhere, draft, mut fork, once } = handoff;
        let goal = Goal::new(goal).map_err(|why| RuntimeError::Goal { key: from.clone(), why })?;
        if let Some(agent) = &agent {
            self.check_effects(agent)?;
            if !served_elsewhere {
                self.shared.agents.check_served(from, agent.queue(), agent.definition()).await?;
            }
        }
        let work = NewWork { goal, draft, another: agent.is_some(), replies: Vec::new() };
        if let Some(once) = &once {
            fork.to = Some(fork.to.map_or_else(|| derived_id(from, once), Ok)?);
            fork = fork.once(operation_of(once, &work, agent.as_deref())?);
        }
        let key =
            self.branch(from, Branch { fork, handoff: Some(&work), agent: agent.as_deref() }).await?.key;
        // A repeat starts the session only if it has not been started yet.
        let machine = machine_of(&self.existing(&key).await?)?;
        let untouched = machine.is_some_and(|machine| {
            let waits = machine.state.ended().is_some_and(|ending| ending.cause == StopCause::HandedOff);
            waits && machine.handoff.is_some()
        });
        if untouched {
            self.deliver(&key, Deliver::signal(SignalBody::Resume).first()).await?;
        }
        Ok(HandedOff { key })
    }
}

/// Returns the id of the session that belongs to a key. It is the same in every process, for ever.
fn derived_id(from: &SessionKey, once: &ItemKey) -> Result<SessionId, InvalidId> {
    let text = format!("holdover handoff\0{}\0{from}\0{once}", from.tenant.as_str().len());
    let digest = Digest::of(text.as_bytes()).to_string();
    SessionId::new(format!("h-{}", &digest[..40]))
}

/// Returns the id of the fork operation. The same key with another goal or another agent gives another id, so a
/// repeat finds that the session exists already.
fn operation_of(once: &ItemKey, work: &NewWork, agent: Option<&Agent>) -> Result<OperationId, InvalidId> {
    let NewWork { goal, draft, another: _, replies: _ } = work;
    let agent = agent.map(|agent| format!("{}\0{}\0", agent.queue(), Digest::of(agent.definition().bytes())));
    let text = format!("{}\0{once}\0{draft}\0{}{goal}", once.as_str().len(), agent.unwrap_or_default());
    OperationId::new(format!("handoff-{}", Digest::of(text.as_bytes())))
}
