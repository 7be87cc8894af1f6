//! Follows one answer: all that happens from the message that asks to the end of the turn, or to a wait for people.

use std::collections::VecDeque;

use holdover_core::children::ChildNames;
use holdover_core::engine::RunOutcome;
use holdover_core::event::Event;
use holdover_core::ids::{InboxSeq, SessionId, SessionKey};
use holdover_core::message::Message;
use holdover_core::store::{EventCursor, PendingKind, SessionStatus};
use holdover_core::suspension::{Owed, OwedKind};
use holdover_runtime_local::{EventEntry, Runtime, RuntimeError, Shown};

use super::feed::{Fact, Feed};
use super::moment::{End, Moment, Question};
use super::narrator::Narrator;

/// The most children of one call that are looked through.
const CHILDREN_MAX: u32 = 64;

/// The place from which an answer is followed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum From {
    /// The message with this number in the inbox, which is taken after the cursor.
    Item(InboxSeq),
    /// The first message after the cursor.
    Message,
    /// The middle of the answer.
    Cursor,
}

/// A reader of one answer.
pub(crate) struct Answer {
    runtime: Runtime,
    key: SessionKey,
    feed: Feed,
    narrator: Narrator,
    /// The message that begins the answer, until it was taken.
    awaited: Option<From>,
    told: VecDeque<Moment>,
    /// The item that was read last, until it is told.
    read: Option<Shown>,
    /// True after an event that leaves the turn waiting or ends it.
    parked: bool,
    cursor: EventCursor,
    over: bool,
}

impl Answer {
    pub(crate) fn follow(runtime: Runtime, key: SessionKey, after: EventCursor, from: From) -> Self {
        let feed = Feed::after(runtime.clone(), key.clone(), after);
        let awaited = match from {
            From::Item(_) | From::Message => Some(from),
            From::Cursor => None,
        };
        let (narrator, told) = (Narrator::default(), VecDeque::new());
        Self {
            runtime,
            key,
            feed,
            narrator,
            awaited,
            told,
            read: None,
            parked: false,
            cursor: after,
            over: false,
        }
    }

    /// Returns the cursor after all that was returned.
    pub(crate) fn cursor(&self) -> EventCursor {
        self.cursor
    }

    /// Returns the moment that comes next, and none at the end. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Result<Option<Moment>, RuntimeError> {
        loop {
            if let Some(moment) = self.told.pop_front() {
                return Ok(Some(moment));
            }
            if self.over {
                return Ok(None);
            }
            if self.read.is_none() {
                self.read = self.feed.next().await?;
            }
            let Some(shown) = self.read.clone() else { return Ok(None) };
            let (cursor, parked) = (shown.cursor(), parks(&shown).unwrap_or(self.parked));
            let fact = self.feed.complete(shown).await?;
            let end = if parked { self.end_at(cursor).await? } else { None };
            (self.read, self.cursor, self.parked) = (None, cursor, parked);
            self.show(fact);
            if let Some(end) = end {
                self.end(end);
            }
        }
    }

    /// Ends the answer if nothing more comes for now, although no event says so.
    pub(crate) async fn settle(&mut self) -> Result<(), RuntimeError> {
        let busy = self.over || self.read.is_some() || !self.told.is_empty();
        if !busy && let Some(end) = self.end_at(self.cursor).await? {
            self.end(end);
        }
        Ok(())
    }

    fn end(&mut self, end: End) {
        self.over = true;
        self.told.push_back(Moment::Ended(end));
    }

    fn show(&mut self, fact: Fact) {
        if let Some((seq, Message::User(said))) = &fact.message
            && !said.by_engine
        {
            let begins = match self.awaited {
                Some(From::Item(item)) => said.item == Some(item),
                Some(From::Message) => true,
                Some(From::Cursor) | None => return self.end(End::Superseded),
            };
            if begins {
                self.awaited = None;
                self.told.push_back(Moment::Asked { seq: *seq, said: said.clone() });
            }
        } else if self.awaited.is_none() {
            self.told.extend(self.narrator.tell(fact));
        }
    }

    /// Returns the end of the answer, if the session rests or waits for people and has no events after `cursor`.
    async fn end_at(&mut self, cursor: EventCursor) -> Result<Option<End>, RuntimeError> {
        let session = self.runtime.session(&self.key).await?;
        let session = session.ok_or_else(|| RuntimeError::NotFound { key: self.key.clone() })?;
        let read = cursor.place_in(session.incarnation);
        let read = read.ok_or_else(|| RuntimeError::Gone { key: self.key.clone() })?;
        let due = session.alarm.is_some_and(|alarm| alarm <= self.runtime.now());
        if session.status == SessionStatus::Active || due || read.after < session.last_event {
            return Ok(None);
        }
        if let Some(From::Item(_)) = self.awaited {
            let gone = session.unread == 0 || session.status == SessionStatus::Aborted;
            return Ok(gone.then_some(End::Withdrawn));
        }
        Ok(match self.runtime.outcome(&session)? {
            Some(RunOutcome::Suspended(suspension)) => {
                let asks = |owed: &Owed| matches!(owed.kind, OwedKind::Approval | OwedKind::ClientTool);
                let asked = suspension.owed.iter().any(asks) || self.children_ask(&suspension.owed).await?;
                asked.then_some(End::Waits)
            }
            Some(RunOutcome::Ended(ending)) => Some(End::Done(Some(ending))),
            // The turn goes on by itself.
            Some(RunOutcome::BackingOff { .. }) => None,
            Some(RunOutcome::Released | RunOutcome::Lost) | None => {
                session.status.at_rest().then_some(End::Done(None))
            }
        })
    }
}

impl Answer {
    /// Returns true if children that work for the turn wait for people. Tells their questions as those of the calls for which
    /// they work.
    async fn children_ask(&mut self, owed: &[Owed]) -> Result<bool, RuntimeError> {
        let works = |owed: &&Owed| owed.kind == OwedKind::Child;
        let Some(first) = owed.iter().find(works) else { return Ok(false) };
        let open = self.runtime.pending(&self.key).await?;
        let asks = open.into_iter().filter(|entry| {
            entry.call.key != self.key && entry.answered.is_none() && entry.call.kind == PendingKind::Approval
        });
        let mut asked = false;
        for entry in asks {
            let works_for = owed.iter().filter(works).find(|owed| began(owed, &entry.call.key.id));
            let call = works_for.unwrap_or(first).call.clone();
            self.told.push_back(Moment::Waits(Question::of_a_child(entry, call)));
            asked = true;
        }
        Ok(asked)
    }
}

/// Returns true if the call that is owed began this child.
fn began(owed: &Owed, child: &SessionId) -> bool {
    let Some(pending) = &owed.pending else { return false };
    let mut named = (0..CHILDREN_MAX).map_while(|at| ChildNames::of(pending, at).ok());
    named.any(|names| names.id == *child)
}

/// Returns true if this event leaves the turn waiting or ends it, false if a run goes on, and none if it says neither.
fn parks(shown: &Shown) -> Option<bool> {
    let Shown::Event(EventEntry { event, .. }) = shown else { return None };
    match event {
        Event::Suspended { .. } | Event::Done { .. } => Some(true),
        Event::RunStarted { .. } | Event::Init { .. } => Some(false),
        _ => None,
    }
}
