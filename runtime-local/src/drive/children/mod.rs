//! Children of the session that runs: creates and stops them, and tells the outcome of this session to the sessions and
//! programs that wait for it.
//!
//! Every request here may be repeated by this run or the next. A repeated request changes nothing.

mod begin;
mod elsewhere;
mod hand_over;
mod look;
mod standing;
mod tell;
mod tools;

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use holdover_core::background::{ChildEnd, end_key, told_of_end};
use holdover_core::children::{
    ChildNames, ChildOutcome, ChildPlan, Children, Parent, ReplyBy, ReplyTo, Unanswered,
};
use holdover_core::engine::{ActionId, Outcome, Reply, STATE_FORMAT_LINKED};
use holdover_core::ids::{CallId, Fence, PendingId, QueueLabel, SessionKey};
use holdover_core::machine::Successor;
use holdover_core::message::Said;
use holdover_core::payload::Payload;
use holdover_core::store::{InboxItem, ItemKind, Labels, NewSession, Start, StateStore, StoreError, Wake};
use holdover_core::time::Timestamp;

pub(crate) use elsewhere::outcome_of as outcome_elsewhere;
pub(crate) use look::{has_ended, is_set_aside, successors};
pub use standing::ChildStanding;

use super::Driver;
use super::context::Offspring;
use super::done::Done;
use crate::elsewhere::Elsewhere;
use crate::host::{GivenUp, until_answered};
use crate::outage::Patience;

/// The maximum number of requests to children and to receivers of outcomes that are in flight at once.
const AT_ONCE: usize = 32;

impl Driver {
    pub(super) fn start_children(&mut self, id: ActionId, plan: ChildPlan) {
        let family = self.family();
        let agent = self.agent.as_ref().and_then(|agent| agent.sub_agent(&plan.tool)).map(Arc::clone);
        self.ask(async move {
            match family.begin(agent.as_deref(), &plan).await {
                Ok(()) => Done::Reply(Reply::ChildrenStarted { id }),
                Err(LeaseEnded) => Done::LeaseLost,
            }
        });
    }

    pub(super) fn stop_children(&mut self, id: ActionId, children: Children) {
        let family = self.family();
        self.ask(async move {
            match family.stop(&[children]).await {
                Ok(()) => Done::Reply(Reply::ChildrenStopped { id }),
                Err(LeaseEnded) => Done::LeaseLost,
            }
        });
    }

    pub(super) fn find_children(
        &mut self,
        id: ActionId,
        children: Vec<Unanswered>,
        successors: Vec<PendingId>,
    ) {
        let family = self.family();
        self.ask(async move {
            let found = async {
                family.find(&children).await?;
                family.rest(&successors).await
            };
            match found.await {
                Ok(successors_rest) => Done::Reply(Reply::ChildrenFound { id, successors_rest }),
                Err(LeaseEnded) => Done::LeaseLost,
            }
        });
    }

    pub(super) fn tell_others(
        &mut self,
        id: ActionId,
        children: Vec<Children>,
        replies: Vec<ReplyTo>,
        successor: Option<Successor>,
        outcome: Outcome,
    ) {
        let (family, agent, definition) = (self.family(), self.agent.clone(), self.definition.clone());
        let agents = Arc::clone(&self.cx.agents);
        self.ask(async move {
            let told = async {
                family.stop(&children).await?;
                if let Some(successor) = successor {
                    // A session that is ended without its agent is still handed over if the agent is found.
                    let agent = match agent {
                        Some(agent) => Some(agent),
                        // Another run may find the agent.
                        None => match agents.find(&family.fence.key, &definition.0, &definition.1).await {
                            Ok(agent) => Some(agent),
                            Err(_) => return Err(LeaseEnded),
                        },
                    };
                    let other = agent.as_ref().and_then(|agent| agent.sub_agent(&successor.to.agent));
                    if let Err(error) = family.hand_over(other.map(Arc::as_ref), &successor).await? {
                        return Ok(Reply::NotHandedOver { id, error });
                    }
                }
                family.tell(&replies, &outcome).await?;
                Ok(Reply::OthersTold { id })
            };
            match told.await {
                Ok(reply) => Done::Reply(reply),
                Err(LeaseEnded) => Done::LeaseLost,
            }
        });
    }

    fn family(&self) -> Family {
        Family {
            store: Arc::clone(&self.store),
            fence: self.fence.clone(),
            patience: self.patience(),
            now: self.clock.now(),
            queue: self.definition.0.clone(),
            definition: self.definition.1.clone(),
            labels: self.labels.clone(),
            offspring: Arc::clone(&self.cx.offspring),
            elsewhere: self.cx.host.options().elsewhere.clone(),
        }
    }
}

/// The error if the lease ended before the store answered.
#[derive(Debug)]
struct LeaseEnded;

/// The data of the running session that its requests to children and to receivers of its outcome need.
struct Family {
    store: Arc<dyn StateStore>,
    fence: Fence,
    patience: Patience,
    now: Timestamp,
    queue: QueueLabel,
    definition: Payload,
    labels: Labels,
    offspring: Arc<Offspring>,
    elsewhere: Option<Arc<dyn Elsewhere>>,
}

impl Family {
    /// Tells this session the outcome of a child that cannot answer for itself.
    pub(super) async fn answer_for(
        &self,
        pending: &PendingId,
        fail_fast: bool,
        by: &ReplyBy,
        tasks: &[CallId],
        outcome: &ChildOutcome,
    ) -> Result<(), LeaseEnded> {
        let parent = Parent {
            session: self.fence.key.clone(),
            incarnation: self.fence.incarnation,
            pending: pending.clone(),
            index: outcome.index,
            fail_fast,
            by: by.clone(),
        };
        self.answer(&parent, tasks, outcome).await
    }

    pub(super) fn session(
        &self,
        names: ChildNames,
        queue: QueueLabel,
        definition: Payload,
        labels: Labels,
        items: Vec<InboxItem>,
    ) -> NewSession {
        NewSession {
            key: SessionKey::new(self.fence.key.tenant.clone(), names.id),
            incarnation: names.incarnation,
            operation: names.operation,
            queue,
            labels,
            definition,
            format: STATE_FORMAT_LINKED,
            items,
            start: Start::WithItems,
        }
    }

    /// Returns the labels that a child inherits: its parent, the root of its tree and its program.
    pub(super) fn labels_of_child(&self) -> Labels {
        let own = self.fence.key.id.to_string();
        let root = self.labels.0.get(Labels::ROOT).cloned().unwrap_or_else(|| own.clone());
        let program = self.labels.0.get(Labels::PROGRAM).map(|program| (Labels::PROGRAM, program.clone()));
        [(Labels::PARENT, own), (Labels::ROOT, root)].into_iter().chain(program).collect()
    }

    /// Tells a parent the outcome of a child's turn. Answers the parent's pending call, at most once for each child, or
    /// sends the parent one message about these tasks. An outcome that cannot be delivered is logged and counts as
    /// told.
    pub(super) async fn answer(
        &self,
        parent: &Parent,
        tasks: &[CallId],
        outcome: &ChildOutcome,
    ) -> Result<(), LeaseEnded> {
        let Parent { session, pending, .. } = parent;
        let Some(item) = told(parent, tasks, outcome) else {
            tracing::warn!(%session, %pending, "an outcome cannot be written");
            return Ok(());
        };
        if let Err(error) = self.answered(|| self.store.deliver(session, item.clone())).await? {
            tracing::warn!(%session, %pending, %error, "an outcome cannot be delivered");
        }
        Ok(())
    }

    /// Repeats a request until the store answers. The error of the inner result is final.
    pub(super) async fn answered<'a, T>(
        &self,
        request: impl FnMut() -> BoxFuture<'a, Result<T, StoreError>> + Send,
    ) -> Result<Result<T, StoreError>, LeaseEnded> {
        match until_answered(&self.patience, request).await {
            Ok((answer, _)) => Ok(Ok(answer)),
            Err(GivenUp::Final(error)) => Ok(Err(error)),
            Err(GivenUp::LeaseEnded) => Err(LeaseEnded),
        }
    }
}

/// Returns the item that tells a parent the outcome of a turn. Returns `None` if the item cannot be written.
fn told(parent: &Parent, tasks: &[CallId], outcome: &ChildOutcome) -> Option<InboxItem> {
    let names = ChildNames::of(&parent.pending, outcome.index).ok()?;
    let (key, kind, payload) = match &parent.by {
        ReplyBy::Answer => {
            let settles = parent.fail_fast && !outcome.ok;
            let kind = ItemKind::Answer { pending: parent.pending.clone(), settles };
            (names.answer, kind, Payload::json(outcome).ok()?)
        }
        ReplyBy::Message { agent, quiet, task: _ } => {
            let key = end_key(&names, tasks.last()?).ok()?;
            let text = told_of_end(agent.as_str(), &names.id, outcome.ok, &outcome.text);
            let end = ChildEnd {
                pending: parent.pending.clone(),
                index: outcome.index,
                tasks: tasks.to_vec(),
                ok: outcome.ok,
                quiet: *quiet,
                usage: outcome.usage,
            };
            let said = Said { ended: Some(Box::new(end)), ..Said::new(text) };
            // A quiet end also wakes the parent, because a call may wait for it. It begins no turn of a parent at rest.
            (key, ItemKind::Message { wake: Wake::Now }, Payload::json(&said).ok()?)
        }
    };
    Some(InboxItem { key, kind, incarnation: Some(parent.incarnation), payload })
}

/// Performs all requests, up to [`AT_ONCE`] at a time. Stops at the first error.
async fn all(each: Vec<BoxFuture<'_, Result<(), LeaseEnded>>>) -> Result<(), LeaseEnded> {
    let mut each = stream::iter(each).buffer_unordered(AT_ONCE);
    while let Some(done) = each.next().await {
        done?;
    }
    Ok(())
}
