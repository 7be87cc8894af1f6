//! Creates the session that takes over from this one.

use std::num::NonZeroU32;

use holdover_core::children::ChildNames;
use holdover_core::engine::STATE_FORMAT_LED;
use holdover_core::error::ErrorInfo;
use holdover_core::fork::{self, NewWork};
use holdover_core::handoff::{Goal, HandOffTo};
use holdover_core::ids::{CallId, ItemKey, SessionKey};
use holdover_core::machine::Successor;
use holdover_core::message::{Message, SignalBody};
use holdover_core::payload::Payload;
use holdover_core::store::{
    Checkpoint, CheckpointQuery, Delivery, ForkOutcome, InboxItem, ItemKind, Labels, MessageRange, NewFork,
    NewState, PageRequest, Session, StateStore, StateStoreExt, StoreError, StoredMessage, Wake,
};

use super::{Family, LeaseEnded};
use crate::agent::Agent;

/// Returns the error of a session that cannot be handed over.
fn refused(why: impl ToString) -> ErrorInfo {
    ErrorInfo::new("handoff.refused", why.to_string())
}

/// The result of an operation on the store: its value, or a final error that refuses the handoff.
type Answered<T> = Result<Result<T, ErrorInfo>, LeaseEnded>;

/// Takes the value of an answer, or returns its error.
macro_rules! answer {
    ($answered:expr) => {
        match $answered {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        }
    };
}

impl Family {
    /// Creates the successor as a fork of this session, and wakes it. Repeating the call changes nothing.
    pub(super) async fn hand_over(&self, agent: Option<&Agent>, successor: &Successor) -> Answered<()> {
        let to = &successor.to;
        let names = answer!(ChildNames::of(&to.pending, 0).map_err(refused));
        let key = SessionKey::new(self.fence.key.tenant.clone(), names.id.clone());
        // If the session cannot be loaded, it may still exist. The fork then returns `AlreadyExists`.
        let there = self.answered(|| self.store.load_session(&key)).await?;
        match there.ok().flatten() {
            Some(session) if session.incarnation != names.incarnation => {
                return Ok(Err(refused(format!("session {} exists already", key.id))));
            }
            Some(_) => {}
            None => {
                let none = || refused(format!("there is no agent {}", to.agent));
                let agent = answer!(agent.ok_or_else(none));
                answer!(self.fork(agent, successor, &key, &names).await?);
            }
        }
        let resume = InboxItem {
            key: answer!(ItemKey::new("handed over").map_err(refused)),
            kind: ItemKind::Signal { wake: Wake::Now },
            incarnation: Some(names.incarnation),
            payload: answer!(Payload::json(&SignalBody::Resume).map_err(refused)),
        };
        match self.answered(|| self.store.deliver(&key, resume.clone())).await? {
            // It was removed before it began.
            Ok(Delivery::NotFound) => return Ok(Err(refused(format!("session {} is gone", key.id)))),
            // The successor owes what this session owed, so a later failure does not undo the handoff.
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(session = %key, %error, "a session that took over cannot be woken");
            }
        }
        self.offspring.tell_open();
        Ok(Ok(()))
    }

    async fn fork(
        &self,
        agent: &Agent,
        successor: &Successor,
        key: &SessionKey,
        names: &ChildNames,
    ) -> Answered<()> {
        let own = &self.fence.key;
        let source = answer!(self.answered(|| self.store.load_session(own)).await?.map_err(refused));
        let source = source.filter(|source| source.incarnation == self.fence.incarnation);
        let source = answer!(source.ok_or_else(|| refused("the session is gone")));
        let at = answer!(
            answer!(self.newest_checkpoint().await?.map_err(refused))
                .ok_or_else(|| { refused("the session has no checkpoint") })
        );
        let mut ranges = answer!(fork::needed_messages(own, &at).map_err(refused));
        let of_goal = successor.to.arguments;
        ranges.push(MessageRange::new(of_goal, of_goal));
        let read = self.answered(|| self.store.read_all_messages(own, &ranges)).await?;
        let messages = answer!(read.map_err(refused));
        let goal =
            answer!(goal_of(&messages, successor).ok_or_else(|| refused("its goal is not there any more")));
        let work = NewWork { goal, draft: false, another: true, replies: successor.replies.clone() };
        let plan = fork::plan_handoff(own, &at, &messages, &source.staged.results, &work, self.now);
        let plan = answer!(plan.map_err(refused));
        // A worker of an older format would not follow the procedure.
        let follows = agent.spec().procedure.is_some();
        let state = if follows { NewState { format: STATE_FORMAT_LED, ..plan.state } } else { plan.state };
        let new = NewFork {
            source: self.fence.incarnation,
            key: key.clone(),
            incarnation: names.incarnation,
            operation: names.operation.clone(),
            queue: agent.queue().clone(),
            labels: labels_of(agent, successor, &source),
            definition: agent.definition().clone(),
            status: plan.status,
            state,
            messages: plan.messages,
            events: plan.events,
        };
        let forked = self.answered(|| self.store.fork_session(own, at.id, new.clone())).await?;
        Ok(match answer!(forked.map_err(refused)) {
            ForkOutcome::Forked { .. } => Ok(()),
            ForkOutcome::AlreadyExists { incarnation, .. } if incarnation == names.incarnation => Ok(()),
            ForkOutcome::AlreadyExists { .. } => Err(refused(format!("session {} exists already", key.id))),
            ForkOutcome::Deleted => Err(refused(format!("session {} was deleted", key.id))),
            ForkOutcome::NoSource | ForkOutcome::NoCheckpoint => Err(refused("the session is gone")),
        })
    }

    async fn newest_checkpoint(&self) -> Result<Result<Option<Checkpoint>, StoreError>, LeaseEnded> {
        let newest = PageRequest::first(NonZeroU32::MIN);
        let mut query = CheckpointQuery { page: newest, ..CheckpointQuery::all(self.fence.key.clone()) };
        loop {
            let page = match self.answered(|| self.store.list_checkpoints(&query)).await? {
                Ok(page) => page,
                Err(error) => return Ok(Err(error)),
            };
            match (page.items.into_iter().next(), page.next) {
                (None, Some(next)) => query.page.after = Some(next),
                (found, _) => return Ok(Ok(found)),
            }
        }
    }
}

/// Returns the labels of the successor: those of its source, with the labels of its own agent. It keeps the source's
/// place in a tree only if it owes an outcome there.
fn labels_of(agent: &Agent, successor: &Successor, source: &Session) -> Labels {
    let mut labels = source.labels.clone();
    let of_place = |name: &str| Labels::OF_CALLER.contains(&name);
    let of_agent = |name: &str| name == Labels::AGENT || name == Labels::AGENT_VERSION;
    labels.0.retain(|name, _| !(of_agent(name) || of_place(name) && successor.replies.is_empty()));
    agent.labelled(labels).with_if_room(Labels::FORKED_FROM, source.key.id.as_str())
}

/// Returns the goal of the call, from the message that holds its arguments.
fn goal_of(messages: &[StoredMessage], successor: &Successor) -> Option<Goal> {
    let stored = messages.iter().find(|stored| stored.seq == successor.to.arguments)?;
    let arguments = arguments_in(stored.payload.parse().ok()?, &successor.to.call)?;
    let HandOffTo { goal } = serde_json::from_str(&arguments).ok()?;
    Goal::new(goal).ok()
}

fn arguments_in(message: Message, call: &CallId) -> Option<String> {
    match message {
        Message::Assistant(said) => {
            said.calls().find(|request| request.id == *call).map(|request| request.arguments.clone())
        }
        Message::Decision(record) => record.decision.arguments,
        Message::Notice(notice) => notice.rewriting.map(|rewriting| rewriting.arguments),
        Message::User(_) | Message::Tool(_) | Message::Summary(_) => None,
    }
}
