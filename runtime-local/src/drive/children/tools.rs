//! Implements the tools with which a model manages its background children.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::background::{Background, ChildTool, OfChild, ToChild, find};
use holdover_core::children::{ChildNames, Parent, ReplyBy, ReplyTo, in_part};
use holdover_core::ids::{InterruptId, ItemKey, SessionId};
use holdover_core::message::Said;
use holdover_core::payload::Payload;
use holdover_core::store::{
    Delivery, InboxItem, Interrupt, InterruptKind, InterruptOutcome, ItemKind, MessageRange, Session,
    StateStore, Wake,
};
use holdover_core::tool::{ResourceProfile, Tool, ToolCall, ToolError, ToolOutput, ToolReturn, ToolSpec};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::standing::{ChildStanding, machine_of};
use super::{Driver, Family, LeaseEnded, has_ended};
use crate::agent::child_tools::profile;

/// The maximum number of characters of a child's last words that the parent's model is shown at once.
const WORDS_CHARS_MAX: usize = 8_000;

impl Driver {
    /// Returns the tool for background children with this name, if the agent has it.
    pub(in crate::drive) fn child_tool(&self, tool: &str, equipped: &Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        let agent = self.agent.as_ref()?;
        let which = agent.spec().child_tool(tool)?;
        let children = self.steps.machine().background.clone();
        Some(Arc::new(ChildCall { which, equipped: Arc::clone(equipped), family: self.family(), children }))
    }
}

/// A tool for background children, prepared for one call.
struct ChildCall {
    which: ChildTool,
    equipped: Arc<dyn Tool>,
    family: Family,
    children: Vec<Background>,
}

#[async_trait]
impl Tool for ChildCall {
    fn spec(&self) -> &ToolSpec {
        self.equipped.spec()
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        profile(self.which)
    }

    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError> {
        let text = match self.which {
            ChildTool::List => self.list().await,
            ChildTool::Status => {
                let OfChild { id } = read(&call)?;
                self.status(self.child(&id)?).await
            }
            ChildTool::Send => {
                let ToChild { id, text } = read(&call)?;
                self.write_to(self.child(&id)?, &call, text).await
            }
            ChildTool::Stop => {
                let OfChild { id } = read(&call)?;
                self.stop(self.child(&id)?, &call).await
            }
            ChildTool::Wait => return self.equipped.call(call).await,
        };
        text.map(|text| ToolReturn::Output(ToolOutput::text(text)))
    }
}

fn read<T: DeserializeOwned>(call: &ToolCall) -> Result<T, ToolError> {
    serde_json::from_value(call.arguments.clone()).map_err(ToolError::failed)
}

impl From<LeaseEnded> for ToolError {
    fn from(_: LeaseEnded) -> Self {
        Self::Lost("the lease ended before the store had answered".to_owned())
    }
}

impl ChildCall {
    fn child(&self, id: &str) -> Result<&Background, ToolError> {
        find(&self.children, id).map_err(ToolError::Failed)
    }

    /// Returns the id of the child, and the stored session of the child or of its newest successor. The session is
    /// `None` if it is gone.
    async fn stored(&self, child: &Background) -> Result<(SessionId, Option<Session>), ToolError> {
        let names = names(child)?;
        let id = names.id.clone();
        Ok((id, self.family.newest(names).await?.map_err(ToolError::failed)?))
    }

    async fn list(&self) -> Result<String, ToolError> {
        if self.children.is_empty() {
            return Ok("You have no background children.".to_owned());
        }
        let mut lines = Vec::new();
        for child in &self.children {
            let (id, session) = self.stored(child).await?;
            lines.push(format!("{id} {}: {}", child.agent, self.standing(session.as_ref())));
        }
        Ok(lines.join("\n"))
    }

    async fn status(&self, child: &Background) -> Result<String, ToolError> {
        let (id, session) = self.stored(child).await?;
        let standing = self.standing(session.as_ref());
        let Some(session) = session else { return Ok(format!("{id} {}: {standing}", child.agent)) };
        let machine = machine_of(&session).map_err(ToolError::failed)?;
        let said = MessageRange::new(machine.turn.began.next(), session.last_message);
        let output = machine.state.ending().and_then(|ending| ending.output);
        let words = self.family.last_words(&session.key, said, output).await?;
        let used = machine.used_in_turn().unwrap_or(machine.usage);
        Ok(format!(
            "{id} {}: {standing}\nsteps {}, tokens {}\nlast words: {}",
            child.agent,
            machine.turn.steps,
            used.tokens.total(),
            in_part(&words, WORDS_CHARS_MAX)
        ))
    }

    /// Returns the text for the model about the standing of a child.
    fn standing(&self, session: Option<&Session>) -> String {
        match ChildStanding::of(session, self.family.now) {
            Ok(standing) => standing.as_str().to_owned(),
            Err(error) => format!("cannot be read: {error}"),
        }
    }

    async fn write_to(&self, child: &Background, call: &ToolCall, text: String) -> Result<String, ToolError> {
        let (id, session) = self.stored(child).await?;
        let Some(session) = session else { return Err(ToolError::failed(format!("{id} is gone"))) };
        let (family, fence) = (&self.family, &self.family.fence);
        let parent = Parent {
            session: fence.key.clone(),
            incarnation: fence.incarnation,
            pending: child.pending.clone(),
            index: child.index,
            fail_fast: false,
            by: ReplyBy::Message {
                agent: child.agent.clone(),
                quiet: child.terms.quiet,
                task: call.id.clone(),
            },
        };
        let reply = ReplyTo::parent(parent, child.terms.share);
        let said = Said { reply: Some(Box::new(reply)), ..Said::new(text) };
        let item = InboxItem {
            key: ItemKey::new(format!("parent.{}.{}", fence.incarnation, call.id))
                .map_err(ToolError::not_run)?,
            kind: ItemKind::Message { wake: Wake::Now },
            incarnation: Some(session.incarnation),
            payload: Payload::json(&said).map_err(ToolError::not_run)?,
        };
        let delivered = family.answered(|| family.store.deliver(&session.key, item.clone())).await?;
        family.offspring.tell_open();
        match delivered.map_err(ToolError::failed)? {
            Delivery::Accepted { .. } | Delivery::Duplicate { .. } => Ok(format!("sent to {id}")),
            Delivery::Aborted => Err(ToolError::failed(format!("{id} was stopped for ever"))),
            Delivery::NotFound => Err(ToolError::failed(format!("{id} is gone"))),
            Delivery::Conflict { .. } | Delivery::AlreadyAnswered | Delivery::NotPending => {
                Err(ToolError::failed(format!("{id} took no message")))
            }
        }
    }

    async fn stop(&self, child: &Background, call: &ToolCall) -> Result<String, ToolError> {
        let (named, session) = self.stored(child).await?;
        let Some(session) = session else { return Ok(format!("{named} is gone")) };
        if has_ended(&session) {
            return Ok(format!("{named} had ended"));
        }
        let family = &self.family;
        let id = format!("parent.{}.{}", family.fence.incarnation, call.id);
        let interrupt = Interrupt {
            id: InterruptId::new(id).map_err(ToolError::not_run)?,
            kind: InterruptKind::Abort,
            reason: "its parent stopped it".to_owned(),
            at: family.now,
            incarnation: Some(session.incarnation),
        };
        let asked =
            family.answered(|| family.store.request_interrupt(&session.key, interrupt.clone())).await?;
        family.offspring.tell_stopped(session.key.clone());
        match asked.map_err(ToolError::failed)? {
            InterruptOutcome::NotFound => Ok(format!("{named} is gone")),
            InterruptOutcome::Requested
            | InterruptOutcome::AlreadyWaiting { .. }
            | InterruptOutcome::AtRest
            | InterruptOutcome::Over
            | InterruptOutcome::Aborted => Ok(format!("{named} is told to stop")),
        }
    }
}

fn names(child: &Background) -> Result<ChildNames, ToolError> {
    child.names().ok_or_else(|| ToolError::not_run("the child has no names"))
}
