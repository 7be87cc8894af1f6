//! The background children of a session: begins and lists them from any process.

use futures::{StreamExt, TryStreamExt, stream};
use holdover_core::background::{BACKGROUND_MAX, Background, ChildSignal, begun_outside};
use holdover_core::children::ChildNames;
use holdover_core::ids::{Incarnation, ItemKey, SessionId, SessionKey, ToolName};
use holdover_core::machine::Usage;
use holdover_core::store::Session;
use holdover_core::time::Timestamp;
use serde::Serialize;

use super::deliver::What;
use super::keys::Once;
use super::standing::{machine_of, used_by};
use super::tree::members::AT_ONCE;
use super::{Deliver, Runtime};
use crate::agent::Definition;
use crate::drive::{ChildStanding, successors};
use crate::error::RuntimeError;
use crate::host::draw_id;

/// A request to begin a background child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeginChild {
    agent: ToolName,
    task: String,
    quiet: bool,
    detached: bool,
    key: Option<ItemKey>,
}

impl BeginChild {
    /// Creates a request for a child of the sub-agent with this name, for this task. The end of the child begins a
    /// turn of the parent.
    pub fn new(agent: ToolName, task: impl Into<String>) -> Self {
        Self { agent, task: task.into(), quiet: false, detached: false, key: None }
    }

    /// Keeps the end of the child from beginning a turn of the parent. The parent reads about it in its next turn.
    #[must_use]
    pub fn quiet(self) -> Self {
        Self { quiet: true, ..self }
    }

    /// Lets the child go on when its parent is aborted or deleted and, if the parent is itself a child, when its turn
    /// ends.
    #[must_use]
    pub fn detached(self) -> Self {
        Self { detached: true, ..self }
    }

    /// Begins the child at most once under this key, however often the request is repeated.
    #[must_use]
    pub fn key(self, key: ItemKey) -> Self {
        Self { key: Some(key), ..self }
    }
}

/// A background child of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChildEntry {
    /// The session in which the child was begun.
    pub session: SessionId,
    /// The name of the sub-agent, which is also the name of its tool.
    pub agent: ToolName,
    /// True if the end of the child begins no turn of the parent.
    pub quiet: bool,
    /// True if the child goes on when its parent is aborted or deleted.
    pub detached: bool,
    /// The present state of the child's work. If another session has taken over from the child, that session counts.
    pub standing: ChildStanding,
    /// The usage of that session up to its newest commit.
    pub usage: Usage,
}

impl Runtime {
    /// Begins a child of a session in the background, and returns the child's key. The request is durable. A run of
    /// the parent carries it out at once, even if the parent rests or waits, and then a worker runs the child. If
    /// that is not possible any more, the event [`NotBegun`](holdover_core::event::Event::NotBegun) reports it.
    ///
    /// To work with the child, use its session: [`deliver`](Self::deliver) writes to it, [`wait`](Self::wait) waits
    /// for it, [`abort`](Self::abort) stops it. The parent gets a message when the turn for this task ends, but not
    /// for turns that messages from elsewhere begin.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), it is [aborted](RuntimeError::Aborted), it cannot
    /// have such a [child](RuntimeError::NoChild), or the key was used before for [something
    /// else](RuntimeError::KeyConflict).
    pub async fn begin_child(
        &self,
        parent: &SessionKey,
        begin: BeginChild,
    ) -> Result<SessionKey, RuntimeError> {
        let session = self.existing(parent).await?;
        let BeginChild { agent, task, quiet, detached, key } = begin;
        let refused = |why: String| RuntimeError::NoChild { key: parent.clone(), agent: agent.clone(), why };
        if task.trim().is_empty() {
            return Err(refused("the task is empty".to_owned()));
        }
        let definition = Definition::read(&session.definition)
            .map_err(|error| RuntimeError::unreadable(parent, "definition", error))?;
        match definition.spec.sub_agent(agent.as_str()) {
            None => return Err(refused("the agent has no such sub-agent".to_owned())),
            Some(rules) if !rules.background => {
                return Err(refused("its tasks are waited for, not begun in the background".to_owned()));
            }
            Some(_) => {}
        }
        let running = machine_of(&session)?.map_or(0, |machine| machine.running_children().count());
        if running >= BACKGROUND_MAX && key.is_none() {
            return Err(refused(format!("{running} background children run, which is the most")));
        }
        let key: ItemKey = key.unwrap_or_else(draw_id);
        let pending = begun_outside(session.incarnation, &key)
            .map_err(|error| refused(format!("its id cannot be made: {error}")))?;
        let names = ChildNames::of(&pending, 0).map_err(|error| refused(error.to_string()))?;
        let signal = ChildSignal::BeginChild { pending, agent, task, quiet, detached };
        self.deliver(parent, Deliver::begin_child(signal, key, session.incarnation)).await?;
        Ok(SessionKey::new(parent.tenant.clone(), names.id))
    }

    /// Lists the background children of a session in the order in which they began: those that run, and the newest
    /// of those that have ended, 64 at most.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or the state of the session or of a child cannot
    /// be [read](RuntimeError::Unreadable).
    pub async fn children(&self, parent: &SessionKey) -> Result<Vec<ChildEntry>, RuntimeError> {
        let session = self.existing(parent).await?;
        let children = machine_of(&session)?.map(|machine| machine.background).unwrap_or_default();
        let now = self.now();
        let read = stream::iter(children).map(|child| self.child_entry(parent, child, now));
        let read: Vec<Option<ChildEntry>> = read.buffered(AT_ONCE).try_collect().await?;
        Ok(read.into_iter().flatten().collect())
    }

    async fn named(&self, beside: &SessionKey, names: ChildNames) -> Result<Option<Session>, RuntimeError> {
        let found = self.session(&SessionKey::new(beside.tenant.clone(), names.id)).await?;
        Ok(found.filter(|found| found.incarnation == names.incarnation))
    }

    async fn child_entry(
        &self,
        parent: &SessionKey,
        child: Background,
        now: Timestamp,
    ) -> Result<Option<ChildEntry>, RuntimeError> {
        let Some(names) = child.names() else { return Ok(None) };
        let id = names.id.clone();
        let mut session = self.named(parent, names).await?;
        // A session that took over from the child stands for it.
        while let Some(to) = session.as_ref().and_then(|session| successors(session).pop())
            && let Ok(next) = ChildNames::of(&to, 0)
        {
            session = self.named(parent, next).await?;
        }
        let usage = session.as_ref().map(used_by).transpose()?.unwrap_or_default();
        Ok(Some(ChildEntry {
            session: id,
            agent: child.agent,
            quiet: child.terms.quiet,
            detached: child.terms.detached,
            standing: ChildStanding::of(session.as_ref(), now)?,
            usage,
        }))
    }
}

impl Deliver {
    /// Creates the delivery of a request for a background child, for this life of the session.
    fn begin_child(signal: ChildSignal, key: ItemKey, incarnation: Incarnation) -> Self {
        Self { once: Once::Key(key), incarnation: Some(incarnation), what: What::BeginChild(signal) }
    }
}
