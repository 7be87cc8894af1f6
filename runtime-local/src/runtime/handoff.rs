//! Handoffs: a new session begins with a goal, and with an extract of the old session that matters for it.

use holdover_core::handoff::Goal;
use holdover_core::ids::{CheckpointId, InvalidId, ItemKey, OperationId, SessionId, SessionKey};
use holdover_core::machine::StopCause;
use holdover_core::message::SignalBody;
use holdover_core::payload::Digest;

use super::Runtime;
use super::deliver::Deliver;
use super::fork::{Branch, Fork};
use super::standing::machine_of;
use crate::error::RuntimeError;

/// The handoff of a session: the goal, the checkpoint, and the new name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandOff {
    goal: String,
    draft: bool,
    fork: Fork,
    once: Option<ItemKey>,
}

impl HandOff {
    /// A handoff for this goal, from the newest checkpoint, under an id that is drawn. A goal is not empty,
    /// and has at most [`GOAL_BYTES_MAX`](holdover_core::handoff::GOAL_BYTES_MAX) bytes.
    pub fn for_goal(goal: impl Into<String>) -> Self {
        Self { goal: goal.into(), draft: false, fork: Fork::newest(), once: None }
    }

    /// Makes the new session wait once it is prepared. It waits until it is [resumed](Runtime::resume) or
    /// gets a message, also one instead of its goal. If a message comes before it is prepared, it answers
    /// that and does not wait.
    #[must_use]
    pub fn draft(self) -> Self {
        Self { draft: true, ..self }
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

    /// Adds this label to those of the source, or replaces one.
    #[must_use]
    pub fn label(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { fork: self.fork.label(name, value), ..self }
    }

    /// Hands over at most once under this key. A repeat with the same goal finds the session that the first
    /// has made, also when the source has gone on meanwhile. If no id is given, the id is derived from the
    /// key.
    #[must_use]
    pub fn once(self, key: impl Into<Option<ItemKey>>) -> Self {
        Self { once: key.into(), ..self }
    }
}

/// A session that was handed a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandedOff {
    /// The key of the new session.
    pub key: SessionKey,
}

impl Runtime {
    /// Begins a new session that works on a goal, with an extract of another session. It is a
    /// [fork](Self::fork) from the newest checkpoint, also of a session that runs or waits. It has the same
    /// agent, labels, mode and custom state. Approvals for the rest of the session are asked for again. The
    /// source is not touched.
    ///
    /// Before the first step, the model makes an extract of the old conversation for the goal. From then on
    /// the model is shown the extract, the goal and what comes after. The old messages stay in the
    /// transcript. Until the extract exists, the session looks like
    /// [`Handoff`](holdover_core::machine::glance::Interaction::Handoff). If the extract cannot be made, the
    /// turn fails, and [`retry`](Self::retry) tries again.
    ///
    /// When this returns, the new session is durable with its goal, and awake: a worker takes it up, or a
    /// caller that [waits](Self::wait) for it. If the process dies in between, the session rests interrupted,
    /// and a repeat [once](HandOff::once) or [`resume`](Self::resume) starts it.
    ///
    /// Errors, besides those of [`fork`](Self::fork): the goal is [invalid](RuntimeError::Goal).
    pub async fn hand_off(&self, from: &SessionKey, handoff: HandOff) -> Result<HandedOff, RuntimeError> {
        let HandOff { goal, draft, mut fork, once } = handoff;
        let goal = Goal::new(goal).map_err(|why| RuntimeError::Goal { key: from.clone(), why })?;
        if let Some(once) = &once {
            fork.to = Some(fork.to.map_or_else(|| derived_id(from, once), Ok)?);
            fork = fork.once(operation_of(once, &goal, draft)?);
        }
        let key = self.branch(from, Branch { fork, handoff: Some((&goal, draft)) }).await?.key;
        // Of a repeat it is set going only if nobody has done so.
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

/// The id of the session that belongs to a key: the same in every process, for ever.
fn derived_id(from: &SessionKey, once: &ItemKey) -> Result<SessionId, InvalidId> {
    let text = format!("holdover handoff\0{}\0{from}\0{once}", from.tenant.as_str().len());
    let digest = Digest::of(text.as_bytes()).to_string();
    SessionId::new(format!("h-{}", &digest[..40]))
}

/// The same key with another goal is another operation: it finds the session taken.
fn operation_of(once: &ItemKey, goal: &Goal, draft: bool) -> Result<OperationId, InvalidId> {
    let text = format!("{}\0{once}\0{draft}\0{goal}", once.as_str().len());
    OperationId::new(format!("handoff-{}", Digest::of(text.as_bytes())))
}
