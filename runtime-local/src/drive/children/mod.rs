//! Children of the session that runs: creates and stops them, and tells those who wait for this session's outcome.
//!
//! Every request here may be made again, by this run or the next, and changes nothing then.

mod begin;
mod look;
mod tell;

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use holdover_core::children::{ChildNames, ChildOutcome, ChildPlan, Children, ReplyTo, Unanswered};
use holdover_core::engine::{ActionId, Outcome, Reply, STATE_FORMAT};
use holdover_core::ids::{Fence, Incarnation, PendingId, QueueLabel, SessionKey};
use holdover_core::payload::Payload;
use holdover_core::store::{InboxItem, ItemKind, Labels, NewSession, Start, StateStore, StoreError};
use holdover_core::time::Timestamp;

pub(crate) use look::has_ended;

use super::Driver;
use super::context::Offspring;
use super::done::Done;
use crate::host::{GivenUp, until_answered};
use crate::outage::Patience;

/// How many children are created, stopped or told at once.
const AT_ONCE: usize = 32;

impl Driver {
    pub(super) fn start_children(&mut self, id: ActionId, plan: ChildPlan) {
        let family = self.family();
        let agent = self.agent.as_ref().and_then(|agent| agent.sub_agent(&plan.tool)).map(Arc::clone);
        self.send(async move {
            match family.begin(agent.as_deref(), &plan).await {
                Ok(()) => Done::Reply(Reply::ChildrenStarted { id }),
                Err(LeaseEnded) => Done::LeaseLost,
            }
        });
    }

    pub(super) fn stop_children(&mut self, id: ActionId, children: Children) {
        let family = self.family();
        self.send(async move {
            match family.stop(&[children]).await {
                Ok(()) => Done::Reply(Reply::ChildrenStopped { id }),
                Err(LeaseEnded) => Done::LeaseLost,
            }
        });
    }

    pub(super) fn find_children(&mut self, id: ActionId, children: Vec<Unanswered>) {
        let family = self.family();
        self.send(async move {
            match family.find(&children).await {
                Ok(()) => Done::Reply(Reply::ChildrenFound { id }),
                Err(LeaseEnded) => Done::LeaseLost,
            }
        });
    }

    pub(super) fn tell_others(
        &mut self,
        id: ActionId,
        children: Vec<Children>,
        replies: Vec<ReplyTo>,
        outcome: Outcome,
    ) {
        let family = self.family();
        self.send(async move {
            let told = async {
                family.stop(&children).await?;
                family.tell(&replies, &outcome).await
            };
            match told.await {
                Ok(()) => Done::Reply(Reply::OthersTold { id }),
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
        }
    }
}

/// The lease ended before the store had answered.
#[derive(Debug)]
struct LeaseEnded;

/// A session, as its children and its parents see it.
struct Family {
    store: Arc<dyn StateStore>,
    fence: Fence,
    patience: Patience,
    now: Timestamp,
    queue: QueueLabel,
    definition: Payload,
    labels: Labels,
    offspring: Arc<Offspring>,
}

impl Family {
    /// Answers a pending call of this session for a child that cannot.
    pub(super) async fn answer_for(
        &self,
        pending: &PendingId,
        fail_fast: bool,
        outcome: &ChildOutcome,
    ) -> Result<(), LeaseEnded> {
        self.answer(&self.fence.key, self.fence.incarnation, pending, fail_fast, outcome).await
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
            format: STATE_FORMAT,
            items,
            start: Start::WithItems,
        }
    }

    /// The labels that a child has from its family: those by which the sessions of a tree are listed.
    pub(super) fn labels_of_child(&self) -> Labels {
        let own = self.fence.key.id.to_string();
        let root = self.labels.0.get(Labels::ROOT).cloned().unwrap_or_else(|| own.clone());
        let program = self.labels.0.get(Labels::PROGRAM).map(|program| (Labels::PROGRAM, program.clone()));
        [(Labels::PARENT, own), (Labels::ROOT, root)].into_iter().chain(program).collect()
    }

    /// Answers a pending call, at most once for each child. Whoever does not wait any more counts as told.
    pub(super) async fn answer(
        &self,
        session: &SessionKey,
        incarnation: Incarnation,
        pending: &PendingId,
        fail_fast: bool,
        outcome: &ChildOutcome,
    ) -> Result<(), LeaseEnded> {
        let names = ChildNames::of(pending, outcome.index);
        let (Ok(ChildNames { answer: key, .. }), Ok(payload)) = (names, Payload::json(outcome)) else {
            tracing::warn!(%session, %pending, "an outcome cannot be written");
            return Ok(());
        };
        let item = InboxItem {
            key,
            kind: ItemKind::Answer { pending: pending.clone(), settles: fail_fast && !outcome.ok },
            incarnation: Some(incarnation),
            payload,
        };
        if let Err(error) = self.answered(|| self.store.deliver(session, item.clone())).await? {
            tracing::warn!(%session, %pending, %error, "an outcome cannot be delivered");
        }
        Ok(())
    }

    /// Asks the store until it answers. The error of the inner result is final.
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

/// Performs all requests, up to 32 at once.
async fn all(each: Vec<BoxFuture<'_, Result<(), LeaseEnded>>>) -> Result<(), LeaseEnded> {
    let mut each = stream::iter(each).buffer_unordered(AT_ONCE);
    while let Some(done) = each.next().await {
        done?;
    }
    Ok(())
}
