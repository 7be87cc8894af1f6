//! Children of the session that runs: creates and stops them, and tells those who wait for this session's outcome.
//!
//! Every request here may be made again, by this run or the next, and changes nothing then.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use holdover_core::children::{ChildNames, ChildOutcome, ChildPlan, Children, ReplyTo, Unanswered, item_key};
use holdover_core::ending::Ending;
use holdover_core::engine::{ActionId, Outcome, Reply, STATE_FORMAT};
use holdover_core::ids::{
    Fence, Incarnation, InterruptId, InvalidId, ItemKey, MessageSeq, PendingId, QueueLabel, SessionKey,
    TurnNumber,
};
use holdover_core::message::{Message, Said};
use holdover_core::payload::Payload;
use holdover_core::store::{
    CreateOutcome, InboxItem, Interrupt, InterruptKind, ItemKind, Labels, MessageRange, NewSession, Session,
    SessionStatus, Start, StateStore, StateStoreExt, StoreError, Wake,
};
use holdover_core::time::Timestamp;

use super::Driver;
use super::done::Done;
use crate::agent::Agent;
use crate::host::{GivenUp, until_answered};
use crate::outage::Patience;

/// How many children are created, stopped or told at once.
const AT_ONCE: usize = 32;

/// How many messages are read at once, from the newest back, to find the last words of a turn.
const READ_AT_ONCE: u64 = 32;

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
}

impl Family {
    /// Creates the children of a call. One that cannot be created answers so.
    async fn begin(&self, agent: Option<&Agent>, plan: &ChildPlan) -> Result<(), LeaseEnded> {
        let mut each = Vec::new();
        for (task, index) in plan.tasks.iter().zip(0_u32..) {
            each.push(self.begin_one(agent, plan, task, index).boxed());
        }
        all(each).await
    }

    async fn begin_one(
        &self,
        agent: Option<&Agent>,
        plan: &ChildPlan,
        task: &str,
        index: u32,
    ) -> Result<(), LeaseEnded> {
        let why = match self.create(agent, plan, task, index).await? {
            Created::There => return Ok(()),
            Created::Not(why) => why,
        };
        self.answer_for(&plan.pending, plan.fail_fast, &ChildOutcome::not_created(index, why)).await
    }

    /// Answers a pending call of this session for a child that cannot. The child's own answer, if it comes all the same,
    /// is the same item.
    async fn answer_for(
        &self,
        pending: &PendingId,
        fail_fast: bool,
        outcome: &ChildOutcome,
    ) -> Result<(), LeaseEnded> {
        let Ok(names) = ChildNames::of(pending, outcome.index) else { return Ok(()) };
        let key = item_key(names.incarnation, TurnNumber(1), outcome.index);
        self.answer(&self.fence.key, self.fence.incarnation, pending, fail_fast, key, outcome).await
    }

    async fn create(
        &self,
        agent: Option<&Agent>,
        plan: &ChildPlan,
        task: &str,
        index: u32,
    ) -> Result<Created, LeaseEnded> {
        let Some(agent) = agent else {
            return Ok(Created::Not(format!("there is no sub-agent {}", plan.tool)));
        };
        let new = match self.new_child(agent, plan, task, index) {
            Ok(new) => new,
            Err(why) => return Ok(Created::Not(why)),
        };
        let outcome = match self.answered(|| self.store.create_session(new.clone())).await? {
            Ok(outcome) => outcome,
            Err(error) => return Ok(Created::Not(error.to_string())),
        };
        Ok(match outcome {
            CreateOutcome::Created { .. } => Created::There,
            CreateOutcome::AlreadyExists { incarnation, .. } if incarnation == new.incarnation => {
                Created::There
            }
            CreateOutcome::AlreadyExists { .. } => {
                Created::Not("its id belongs to another session".to_owned())
            }
            CreateOutcome::Deleted => Created::Not("it was deleted".to_owned()),
            CreateOutcome::ItemConflict { .. } => Created::Not("its task was given twice".to_owned()),
        })
    }

    fn new_child(
        &self,
        agent: &Agent,
        plan: &ChildPlan,
        task: &str,
        index: u32,
    ) -> Result<NewSession, String> {
        let names = ChildNames::of(&plan.pending, index).map_err(|error| error.to_string())?;
        let reply = ReplyTo {
            session: self.fence.key.clone(),
            incarnation: self.fence.incarnation,
            pending: plan.pending.clone(),
            index,
            fail_fast: plan.fail_fast,
            allowance: plan.allowance,
        };
        let said = Said { reply: Some(Box::new(reply)), ..Said::new(task) };
        let item = InboxItem {
            key: ItemKey::new("task").map_err(|error| error.to_string())?,
            kind: ItemKind::Message { wake: Wake::Now },
            incarnation: None,
            payload: Payload::json(&said).map_err(|error| error.to_string())?,
        };
        let labels = agent.labelled(self.labels_of_child());
        let (queue, definition) = (agent.queue().clone(), agent.definition().clone());
        Ok(self.session(names, queue, definition, labels, vec![item]))
    }

    fn session(
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
    fn labels_of_child(&self) -> Labels {
        let own = self.fence.key.id.to_string();
        let root = self.labels.0.get(Labels::ROOT).cloned().unwrap_or_else(|| own.clone());
        let program = self.labels.0.get(Labels::PROGRAM).map(|program| (Labels::PROGRAM, program.clone()));
        [(Labels::PARENT, own), (Labels::ROOT, root)].into_iter().chain(program).collect()
    }

    /// Aborts those children that have not ended.
    async fn stop(&self, children: &[Children]) -> Result<(), LeaseEnded> {
        let mut each = Vec::new();
        for Children { pending, count } in children {
            // Names that cannot be made were never given to a session.
            let names = (0..*count).filter_map(|index| ChildNames::of(pending, index).ok());
            each.extend(names.map(|names| self.stop_one(names).boxed()));
        }
        all(each).await
    }

    async fn stop_one(&self, names: ChildNames) -> Result<(), LeaseEnded> {
        let key = SessionKey::new(self.fence.key.tenant.clone(), names.id.clone());
        let incarnation = names.incarnation;
        let there = self.answered(|| self.store.load_session(&key)).await?;
        match there {
            Ok(Some(child)) if child.incarnation != incarnation || has_ended(&child) => return Ok(()),
            Ok(None) => {
                let (queue, definition) = (self.queue.clone(), self.definition.clone());
                let empty = self.session(names, queue, definition, self.labels_of_child(), Vec::new());
                if let Err(error) = self.answered(|| self.store.create_session(empty.clone())).await? {
                    tracing::warn!(child = %key, %error, "a child that never began cannot be closed");
                    return Ok(());
                }
            }
            Ok(Some(_)) | Err(_) => {}
        }
        let Ok(id) = InterruptId::new(format!("parent.{incarnation}")) else { return Ok(()) };
        let interrupt = Interrupt {
            id,
            kind: InterruptKind::Abort,
            reason: "its parent does not wait for it any more".to_owned(),
            at: self.now,
            incarnation: Some(incarnation),
        };
        if let Err(error) = self.answered(|| self.store.request_interrupt(&key, interrupt.clone())).await? {
            tracing::warn!(child = %key, %error, "a child cannot be stopped");
        }
        Ok(())
    }

    /// Answers for the children that are not there any more.
    async fn find(&self, children: &[Unanswered]) -> Result<(), LeaseEnded> {
        let mut each = Vec::new();
        for Unanswered { pending, indexes, fail_fast } in children {
            each.extend(indexes.iter().map(|index| self.find_one(pending, *index, *fail_fast).boxed()));
        }
        all(each).await
    }

    async fn find_one(&self, pending: &PendingId, index: u32, fail_fast: bool) -> Result<(), LeaseEnded> {
        let Ok(names) = ChildNames::of(pending, index) else { return Ok(()) };
        let key = SessionKey::new(self.fence.key.tenant.clone(), names.id.clone());
        match self.answered(|| self.store.load_session(&key)).await? {
            Ok(Some(child)) if child.incarnation == names.incarnation => Ok(()),
            // Looked for again in an hour.
            Err(_) => Ok(()),
            Ok(_) => {
                self.answer_for(pending, fail_fast, &ChildOutcome::not_created(index, "it is gone")).await
            }
        }
    }

    /// Tells each address how the turn ended.
    async fn tell(&self, replies: &[ReplyTo], outcome: &Outcome) -> Result<(), LeaseEnded> {
        if replies.is_empty() {
            return Ok(());
        }
        let words = self.last_words(outcome.said, &outcome.ending).await?;
        let mut each = Vec::new();
        for reply in replies {
            each.push(self.tell_one(reply, outcome, &words).boxed());
        }
        all(each).await
    }

    async fn tell_one(&self, reply: &ReplyTo, outcome: &Outcome, words: &str) -> Result<(), LeaseEnded> {
        let own = self.fence.key.id.clone();
        let said = ChildOutcome::of(reply.index, own, &outcome.ending, words, outcome.usage);
        let key = item_key(self.fence.incarnation, outcome.turn, reply.index);
        let (session, incarnation) = (&reply.session, reply.incarnation);
        self.answer(session, incarnation, &reply.pending, reply.fail_fast, key, &said).await
    }

    /// Answers a pending call. Whoever does not wait any more counts as told.
    async fn answer(
        &self,
        session: &SessionKey,
        incarnation: Incarnation,
        pending: &PendingId,
        fail_fast: bool,
        key: Result<ItemKey, InvalidId>,
        outcome: &ChildOutcome,
    ) -> Result<(), LeaseEnded> {
        let payload = Payload::json(outcome);
        let (Ok(key), Ok(payload)) = (key, payload) else {
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

    /// The value that the turn returned, or the last text of its model.
    async fn last_words(&self, said: MessageRange, ending: &Ending) -> Result<String, LeaseEnded> {
        let key = &self.fence.key;
        if let Some(place) = ending.output {
            let range = [MessageRange::new(place.message, place.message)];
            let read = self.answered(|| self.store.read_all_messages(key, &range)).await?;
            let message = read.ok().and_then(|read| read.first()?.payload.parse::<Message>().ok());
            return Ok(message
                .and_then(|message| place.find(&message).map(str::to_owned))
                .unwrap_or_default());
        }
        let mut to = said.to;
        while to >= said.from && to.0 > 0 {
            let from = said.from.max(MessageSeq(to.0.saturating_sub(READ_AT_ONCE - 1)));
            let range = [MessageRange::new(from, to)];
            let Ok(read) = self.answered(|| self.store.read_all_messages(key, &range)).await? else { break };
            let words = read.iter().rev().filter_map(|stored| match stored.payload.parse() {
                Ok(Message::Assistant(said)) => Some(said.text()),
                Ok(_) | Err(_) => None,
            });
            if let Some(words) = words.into_iter().find(|words| !words.trim().is_empty()) {
                return Ok(words);
            }
            to = MessageSeq(from.0.saturating_sub(1));
        }
        Ok(String::new())
    }

    /// Asks the store until it answers. The error of the inner result is final.
    async fn answered<'a, T>(
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

/// What became of the creation of a child.
enum Created {
    There,
    Not(String),
}

/// Whether a child has run, and rests now with nothing to do.
pub(crate) fn has_ended(child: &Session) -> bool {
    child.status == SessionStatus::Aborted
        || (child.status.at_rest() && child.epoch.0 > 0 && child.unread == 0 && child.interrupt.is_none())
}

/// Does all of it, some at once.
async fn all(each: Vec<BoxFuture<'_, Result<(), LeaseEnded>>>) -> Result<(), LeaseEnded> {
    let mut each = stream::iter(each).buffer_unordered(AT_ONCE);
    while let Some(done) = each.next().await {
        done?;
    }
    Ok(())
}
