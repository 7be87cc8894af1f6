//! Tells the sessions and programs that wait for the outcome of a turn how the turn ended.

use futures::FutureExt;
use holdover_core::children::{Address, ChildOutcome, Parent, ReplyBy, ReplyTo};
use holdover_core::engine::Outcome;
use holdover_core::ids::{CallId, MessageSeq, SessionKey};
use holdover_core::message::Message;
use holdover_core::output::OutputPlace;
use holdover_core::store::{MessageRange, StateStoreExt};

use super::{Family, LeaseEnded, all};

/// The number of messages that one read returns in the search for the last words of a turn, newest first.
const READ_AT_ONCE: u64 = 32;

impl Family {
    /// Tells each address how the turn ended.
    pub(super) async fn tell(&self, replies: &[ReplyTo], outcome: &Outcome) -> Result<(), LeaseEnded> {
        if replies.is_empty() {
            return Ok(());
        }
        let words = self.last_words(&self.fence.key, outcome.said, outcome.ending.output).await?;
        let mut each = Vec::new();
        for (at, reply) in replies.iter().enumerate() {
            let tasks = tasks_of(replies, reply);
            // A parent that gave several tasks to one turn is told once.
            let is_last = tasks.is_empty() || replies[at + 1..].iter().all(|later| !is_same(later, reply));
            if is_last {
                each.push(self.tell_one(reply, tasks, outcome, &words).boxed());
            }
        }
        all(each).await
    }

    async fn tell_one(
        &self,
        reply: &ReplyTo,
        tasks: Vec<CallId>,
        outcome: &Outcome,
        words: &str,
    ) -> Result<(), LeaseEnded> {
        let own = self.fence.key.id.clone();
        let mut usage = outcome.usage;
        usage.add(reply.used_before);
        let index = reply.to.parent().map_or(0, |parent| parent.index);
        let said = ChildOutcome::of(index, own, &outcome.ending, words, usage);
        match &reply.to {
            Address::Parent(parent) => self.answer(parent, &tasks, &said).await?,
            Address::Elsewhere { task, url: Some(url), .. } => self.tell_elsewhere(url, task, said).await,
            // The caller asks for the outcome.
            Address::Elsewhere { url: None, .. } => {}
        }
        Ok(())
    }

    /// Returns the value that a turn of a session returned, or else the last text of its model.
    pub(super) async fn last_words(
        &self,
        key: &SessionKey,
        said: MessageRange,
        output: Option<OutputPlace>,
    ) -> Result<String, LeaseEnded> {
        if let Some(place) = output {
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
}

/// Returns true if two addresses are the same child of the same parent, and the parent is told by message.
fn is_same(one: &ReplyTo, other: &ReplyTo) -> bool {
    fn by_message(reply: &ReplyTo) -> Option<&Parent> {
        reply.to.parent().filter(|parent| matches!(parent.by, ReplyBy::Message { .. }))
    }
    let (Some(one), Some(other)) = (by_message(one), by_message(other)) else { return false };
    (one.incarnation, &one.pending, one.index) == (other.incarnation, &other.pending, other.index)
}

/// Returns the tasks that the parent at an address gave, in order. The list is empty unless the address is a parent
/// that is told by message.
fn tasks_of(replies: &[ReplyTo], of: &ReplyTo) -> Vec<CallId> {
    let task = |reply: &ReplyTo| match &reply.to.parent()?.by {
        ReplyBy::Message { task, .. } => Some(task.clone()),
        ReplyBy::Answer => None,
    };
    replies.iter().filter(|reply| is_same(reply, of)).filter_map(task).collect()
}
