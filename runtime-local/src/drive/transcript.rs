//! The transcript as the model sees it. The messages are read from the store once and then kept, until other messages
//! are shown.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use holdover_core::compaction::Seen;
use holdover_core::engine::Shown;
use holdover_core::ids::{Fence, MessageSeq};
use holdover_core::list::SharedList;
use holdover_core::message::Message;
use holdover_core::store::{MessageRange, StateStore, StateStoreExt, StoreError};

use super::Driver;
use crate::error::RuntimeError;
use crate::host::{GivenUp, until_answered};
use crate::outage::Patience;

/// The messages that were read last, the messages that the model saw last, and the caller's system prompt that was
/// read last.
#[derive(Debug, Clone, Default)]
pub(super) struct Transcript {
    read: Arc<Mutex<Option<View>>>,
    seen: Arc<Mutex<Seen>>,
    prompt: Arc<Mutex<Option<PlacedPrompt>>>,
}

#[derive(Debug, Clone)]
struct View {
    ranges: Vec<MessageRange>,
    messages: Arc<[Placed]>,
}

/// A message and its place.
type Placed = (MessageSeq, Arc<Message>);

/// A caller's system prompt and the place of its message.
type PlacedPrompt = (MessageSeq, Arc<str>);

/// The reason why the transcript could not be read.
pub(super) enum Unread {
    /// The lease ended while the store did not answer.
    LeaseEnded,
    /// The stored data cannot be read, or the store refuses the request.
    Broken(Box<RuntimeError>),
}

impl Transcript {
    /// Returns all shown messages in order, as they are stored.
    pub(super) async fn of(&self, shown: &Shown, reading: &Reading) -> Result<Vec<Placed>, Unread> {
        let read = self.read(shown, reading).await?;
        Ok(shown.messages(&read).cloned().collect())
    }

    /// Returns all shown messages in order, as a model sees them, with at most `most` characters of each result.
    pub(super) async fn seen(
        &self,
        shown: &Shown,
        most: usize,
        reading: &Reading,
    ) -> Result<SharedList<Arc<Message>>, Unread> {
        let read = self.read(shown, reading).await?;
        Ok(self.seen.lock().unwrap_or_else(PoisonError::into_inner).update(shown, &read, most))
    }

    /// Returns the caller's system prompt in the message at `at`, or `None` if `at` is 0. Fails if the message holds
    /// no system prompt.
    pub(super) async fn prompt(
        &self,
        at: MessageSeq,
        shown: &Shown,
        reading: &Reading,
    ) -> Result<Option<Arc<str>>, Unread> {
        if at == MessageSeq(0) {
            return Ok(None);
        }
        let known = self.prompt.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, prompt)) = known.filter(|(known, _)| *known == at) {
            return Ok(Some(prompt));
        }
        let place = shown.added.partition_point(|(seq, _)| *seq < at);
        let message = match shown.added.get(place).filter(|(seq, _)| *seq == at) {
            Some((_, message)) => Some(Arc::clone(message)),
            None => {
                let read = reading.messages(&[MessageRange::new(at, at)]).await?;
                read.first().map(|(_, message)| Arc::clone(message))
            }
        };
        let prompt: Option<Arc<str>> = match message.as_deref() {
            Some(Message::User(said)) => said.briefing.system_prompt.as_deref().map(Arc::from),
            Some(
                Message::Assistant(_)
                | Message::Tool(_)
                | Message::Decision(_)
                | Message::Notice(_)
                | Message::Summary(_),
            )
            | None => None,
        };
        let Some(prompt) = prompt else {
            let broken = RuntimeError::unreadable(
                &reading.fence.key,
                format!("message {at}"),
                "it holds no system prompt",
            );
            return Err(Unread::Broken(Box::new(broken)));
        };
        *self.prompt.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, Arc::clone(&prompt)));
        Ok(Some(prompt))
    }

    /// Returns the shown messages that were stored before the run.
    async fn read(&self, shown: &Shown, reading: &Reading) -> Result<Arc<[Placed]>, Unread> {
        let ranges = shown.to_read();
        if let Some(messages) = self.known(&ranges) {
            return Ok(messages);
        }
        let messages = reading.messages(&ranges).await?;
        let view = View { ranges, messages: Arc::clone(&messages) };
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(view);
        Ok(messages)
    }

    fn known(&self, ranges: &[MessageRange]) -> Option<Arc<[Placed]>> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.as_ref().filter(|view| view.ranges == ranges).map(|view| Arc::clone(&view.messages))
    }
}

/// A reader of the session of a run. It reads for as long as the lease runs.
pub(super) struct Reading {
    pub(super) store: Arc<dyn StateStore>,
    pub(super) fence: Fence,
    patience: Patience,
}

impl Driver {
    pub(super) fn reading(&self) -> Reading {
        Reading { store: Arc::clone(&self.store), fence: self.fence.clone(), patience: self.patience() }
    }
}

impl Reading {
    /// Repeats the request until the store answers or the lease has ended.
    pub(super) async fn answered<'a, T>(
        &self,
        request: impl FnMut() -> BoxFuture<'a, Result<T, StoreError>> + Send,
    ) -> Result<T, Unread> {
        match until_answered(&self.patience, request).await {
            Ok((answer, _)) => Ok(answer),
            Err(GivenUp::LeaseEnded) => Err(Unread::LeaseEnded),
            Err(GivenUp::Final(error)) => Err(Unread::Broken(Box::new(RuntimeError::Store(error)))),
        }
    }

    pub(super) async fn messages(&self, ranges: &[MessageRange]) -> Result<Arc<[Placed]>, Unread> {
        if ranges.is_empty() {
            return Ok(Arc::from([]));
        }
        let key = &self.fence.key;
        let stored = self.answered(|| self.store.read_all_messages(key, ranges)).await?;
        let parsed = stored.into_iter().map(|stored| {
            let seq = stored.seq;
            stored.payload.parse().map(|message| (seq, Arc::new(message))).map_err(|error| {
                Unread::Broken(Box::new(RuntimeError::unreadable(key, format!("message {seq}"), error)))
            })
        });
        parsed.collect()
    }
}
