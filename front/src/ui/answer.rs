//! Follows one answer: all that happens from the message that asks to the end of the turn, or to a wait for people.

use std::collections::VecDeque;

use holdover_core::event::Event;
use holdover_core::ids::{InboxSeq, MessageSeq, SessionKey};
use holdover_core::message::Message;
use holdover_core::store::EventCursor;
use holdover_runtime_local::{EventEntry, Runtime, RuntimeError, Shown};

use super::ends::{Ended, end_at};
use super::feed::{Fact, Feed};
use super::moment::{End, Moment};
use super::narrator::Narrator;
use crate::desk::Desk;

/// The beginning of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum From {
    /// The message with this number in the inbox, which is taken after the place.
    Item(InboxSeq),
    /// The first message after the place. If a turn goes on without one, the answer to the message at this position goes on.
    Message(Option<MessageSeq>),
    /// The place is in the middle of the answer.
    Here,
}

/// A place in the log of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// The cursor after the last item that was read.
    pub(crate) cursor: EventCursor,
    /// The position of the last message that was read.
    pub(crate) message: MessageSeq,
}

impl Place {
    /// The place before all that a session has.
    pub(crate) const START: Self = Self { cursor: EventCursor::START, message: MessageSeq(0) };
}

/// A reader of one answer.
pub(crate) struct Answer {
    runtime: Runtime,
    key: SessionKey,
    feed: Feed,
    narrator: Narrator,
    /// The beginning of the answer, until it was read.
    awaited: Option<From>,
    told: VecDeque<Moment>,
    /// The item that was read last, until it is told.
    read: Option<Shown>,
    /// True after an event that leaves the turn waiting or ends it.
    parked: bool,
    place: Place,
    over: bool,
}

impl Answer {
    pub(crate) fn follow(desk: &Desk, key: SessionKey, place: Place, from: From) -> Self {
        Self {
            feed: Feed::after(desk, key.clone(), place.cursor),
            runtime: desk.runtime.clone(),
            key,
            narrator: Narrator::default(),
            awaited: match from {
                From::Item(_) | From::Message(_) => Some(from),
                From::Here => None,
            },
            told: VecDeque::new(),
            read: None,
            parked: false,
            place,
            over: false,
        }
    }

    /// Returns the place after all that was returned.
    pub(crate) fn place(&self) -> Place {
        self.place
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
            self.read = None;
            self.parked = parked;
            self.place.cursor = cursor;
            self.show(fact);
            if let Some(end) = end {
                self.end(end);
            }
        }
    }

    /// Ends the answer if nothing more comes for now, although no event says so.
    pub(crate) async fn settle(&mut self) -> Result<(), RuntimeError> {
        let busy = self.over || self.read.is_some() || !self.told.is_empty();
        if !busy && let Some(end) = self.end_at(self.place.cursor).await? {
            self.end(end);
        }
        Ok(())
    }

    async fn end_at(&mut self, cursor: EventCursor) -> Result<Option<Ended>, RuntimeError> {
        let awaited = match self.awaited {
            Some(From::Item(item)) => Some(item),
            Some(From::Message(_) | From::Here) | None => None,
        };
        end_at(&self.runtime, &self.key, cursor, awaited).await
    }

    fn end(&mut self, Ended { end, questions }: Ended) {
        // A turn that ends leaves no attempt behind.
        self.told.extend(self.narrator.end());
        self.told.extend(questions.into_iter().map(Moment::Waits));
        self.told.push_back(Moment::Ended(end));
        self.over = true;
    }

    fn show(&mut self, fact: Fact) {
        if let Some((seq, _)) = &fact.message {
            self.place.message = *seq;
        }
        if let Some((seq, Message::User(said))) = &fact.message
            && !said.by_engine
        {
            let begins = match self.awaited {
                Some(From::Item(item)) => said.item == Some(item),
                Some(From::Message(_)) => true,
                Some(From::Here) | None => return self.end(End::Superseded.into()),
            };
            if begins {
                self.awaited = None;
                self.told.push_back(Moment::Asked { seq: *seq, said: said.clone() });
            }
            return;
        }
        if let Some(From::Message(Some(seq))) = self.awaited
            && begins_step(&fact.shown)
        {
            self.awaited = None;
            self.told.push_back(Moment::GoesOn { seq });
        }
        if self.awaited.is_none() {
            self.told.extend(self.narrator.tell(fact));
        }
    }
}

fn begins_step(shown: &Shown) -> bool {
    matches!(shown, Shown::Event(EventEntry { event: Event::StepStarted { .. }, .. }))
}

/// Returns true if this event leaves the turn waiting or ends it, false if a run goes on, and none if it says neither.
fn parks(shown: &Shown) -> Option<bool> {
    let Shown::Event(EventEntry { event, .. }) = shown else { return None };
    let parks = matches!(event, Event::Suspended { .. } | Event::Done { .. });
    let goes_on = matches!(event, Event::RunStarted { .. } | Event::Init { .. });
    (parks || goes_on).then_some(parks)
}
