//! Calls of the tools by which a model deals with its background children.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::background::{Background, ChildTool, OfChild, ToChild, find};
use holdover_core::children::{Allowance, ChildNames, ReplyBy, ReplyTo, in_part};
use holdover_core::ids::{InterruptId, ItemKey, SessionKey};
use holdover_core::machine::Usage;
use holdover_core::message::Said;
use holdover_core::payload::Payload;
use holdover_core::store::{
    Delivery, InboxItem, Interrupt, InterruptKind, InterruptOutcome, ItemKind, MessageRange, Session,
    StateStore, Wake,
};
use holdover_core::tool::{ResourceProfile, Tool, ToolCall, ToolError, ToolOutput, ToolReturn, ToolSpec};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Driver, Family, LeaseEnded, has_ended};
use crate::agent::child_tools::profile;
use crate::runtime::{ChildStanding, machine_of};

/// The most characters of a child's last words that its parent's model is shown at once.
const WORDS_CHARS_MAX: usize = 8_000;

impl Driver {
    /// The tool for background children with this name, if the agent has it.
    pub(in crate::drive) fn child_tool(&self, tool: &str, equipped: &Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        let agent = self.agent.as_ref()?;
        let which = agent.spec().child_tool(tool)?;
        let children = self.steps.machine().background.clone();
        Some(Arc::new(ChildCall { which, equipped: Arc::clone(equipped), family: self.family(), children }))
    }
}

/// A call of one of the tools.
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

    /// The child as it is stored. None: it is gone.
    async fn stored(&self, child: &Background) -> Result<(SessionKey, Option<Session>), ToolError> {
        let names = names(child)?;
        let key = SessionKey::new(self.family.fence.key.tenant.clone(), names.id);
        let read = self.family.answered(|| self.family.store.load_session(&key)).await?;
        let session = read.map_err(ToolError::failed)?;
        Ok((key, session.filter(|session| session.incarnation == names.incarnation)))
    }

    async fn list(&self) -> Result<String, ToolError> {
        if self.children.is_empty() {
            return Ok("You have no background children.".to_owned());
        }
        let mut lines = Vec::new();
        for child in &self.children {
            let (key, session) = self.stored(child).await?;
            lines.push(format!("{} {}: {}", key.id, child.agent, self.standing(session.as_ref())));
        }
        Ok(lines.join("\n"))
    }

    async fn status(&self, child: &Background) -> Result<String, ToolError> {
        let (key, session) = self.stored(child).await?;
        let standing = self.standing(session.as_ref());
        let Some(session) = session else { return Ok(format!("{} {}: {standing}", key.id, child.agent)) };
        let machine = machine_of(&session).map_err(ToolError::failed)?.unwrap_or_default();
        let said = MessageRange::new(machine.turn.began.next(), session.last_message);
        let output = machine.state.ending().and_then(|ending| ending.output);
        let words = self.family.last_words(&key, said, output).await?;
        let used = machine.used_in_turn().unwrap_or(machine.usage);
        Ok(format!(
            "{} {}: {standing}\nsteps {}, tokens {}\nlast words: {}",
            key.id,
            child.agent,
            machine.turn.steps,
            used.tokens.total(),
            in_part(&words, WORDS_CHARS_MAX)
        ))
    }

    /// A word on what the child does.
    fn standing(&self, session: Option<&Session>) -> String {
        match ChildStanding::of(session, self.family.now) {
            Ok(standing) => standing.as_str().to_owned(),
            Err(error) => format!("cannot be read: {error}"),
        }
    }

    async fn write_to(&self, child: &Background, call: &ToolCall, text: String) -> Result<String, ToolError> {
        let names = names(child)?;
        let (family, fence) = (&self.family, &self.family.fence);
        let reply = ReplyTo {
            session: fence.key.clone(),
            incarnation: fence.incarnation,
            pending: child.pending.clone(),
            index: child.index,
            fail_fast: false,
            by: ReplyBy::Message { agent: child.agent.clone(), quiet: child.terms.quiet },
            allowance: Allowance { until: None, ..child.terms.share },
            used_before: Usage::default(),
        };
        let said = Said { reply: Some(Box::new(reply)), ..Said::new(text) };
        let item = InboxItem {
            key: ItemKey::new(format!("parent.{}.{}", fence.incarnation, call.id))
                .map_err(ToolError::not_run)?,
            kind: ItemKind::Message { wake: Wake::Now },
            incarnation: Some(names.incarnation),
            payload: Payload::json(&said).map_err(ToolError::not_run)?,
        };
        let key = SessionKey::new(fence.key.tenant.clone(), names.id);
        let delivered = family.answered(|| family.store.deliver(&key, item.clone())).await?;
        family.offspring.tell_open();
        match delivered.map_err(ToolError::failed)? {
            Delivery::Accepted { .. } | Delivery::Duplicate { .. } => Ok(format!("sent to {}", key.id)),
            Delivery::Aborted { .. } => Err(ToolError::failed(format!("{} was stopped for ever", key.id))),
            Delivery::NotFound => Err(ToolError::failed(format!("{} is gone", key.id))),
            refused => Err(ToolError::failed(format!("{} took no message: {refused:?}", key.id))),
        }
    }

    async fn stop(&self, child: &Background, call: &ToolCall) -> Result<String, ToolError> {
        let (key, session) = self.stored(child).await?;
        let Some(session) = session else { return Ok(format!("{} is gone", key.id)) };
        if has_ended(&session) {
            return Ok(format!("{} had ended", key.id));
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
        let asked = family.answered(|| family.store.request_interrupt(&key, interrupt.clone())).await?;
        family.offspring.tell_stopped(key.clone());
        match asked.map_err(ToolError::failed)? {
            InterruptOutcome::NotFound => Ok(format!("{} is gone", key.id)),
            InterruptOutcome::Requested
            | InterruptOutcome::AlreadyWaiting { .. }
            | InterruptOutcome::AtRest
            | InterruptOutcome::Over
            | InterruptOutcome::Aborted => Ok(format!("{} is told to stop", key.id)),
        }
    }
}

fn names(child: &Background) -> Result<ChildNames, ToolError> {
    child.names().ok_or_else(|| ToolError::not_run("the child has no names"))
}
