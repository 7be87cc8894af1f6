//! Reads sessions: their messages, outcomes and values.

use holdover_core::engine::RunOutcome;
use holdover_core::ids::{MessageSeq, SessionKey};
use holdover_core::message::Message;
use holdover_core::store::{MessageRange, OutcomeKind, Session, SessionStatus, StateStoreExt, StoredMessage};
use holdover_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::Runtime;
use super::standing::outcome_of;
use crate::agent::Definition;
use crate::arguments::parse_arguments;
use crate::error::RuntimeError;

/// The number of messages in one read while searching from the newest back.
pub(super) const MESSAGES_AT_ONCE: u64 = 256;

/// A message with its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MessageEntry {
    /// The position of the message in the transcript.
    pub seq: MessageSeq,
    /// The time at which the message was appended.
    pub at: Timestamp,
    /// The message.
    pub message: Message,
}

/// A part of a transcript that fits into one read of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessagesPage {
    /// The messages, oldest first.
    pub items: Vec<MessageEntry>,
    /// The position after which to read on. `None` if these are the last messages.
    pub next: Option<MessageSeq>,
}

impl Runtime {
    /// Returns a session as it is now, or `None` if there is no such session.
    pub async fn session(&self, key: &SessionKey) -> Result<Option<Session>, RuntimeError> {
        Ok(self.host.store().load_session(key).await?)
    }

    /// Returns the ending of the last turn of `session`, or the reason why the turn waits. Returns `None` before the
    /// first turn, while a run holds the session, and in the middle of a step that another run must go on with. Items
    /// in the inbox that no run has taken yet have no effect on the outcome.
    ///
    /// Errors: the state of the session cannot be [read](RuntimeError::Unreadable).
    pub fn outcome(&self, session: &Session) -> Result<Option<RunOutcome>, RuntimeError> {
        match session.status {
            SessionStatus::Active => Ok(None),
            SessionStatus::Idle
            | SessionStatus::Suspended
            | SessionStatus::Interrupted
            | SessionStatus::Failed
            | SessionStatus::Aborted => outcome_of(session, self.now()),
        }
    }

    pub(super) async fn existing(&self, key: &SessionKey) -> Result<Session, RuntimeError> {
        let session = self.session(key).await?;
        let session = session.ok_or_else(|| RuntimeError::NotFound { key: key.clone() })?;
        self.host.hear_at_least(session.updated_at);
        Ok(session)
    }

    /// Returns the whole transcript of a session, oldest first, including decisions and notices.
    pub async fn messages(&self, key: &SessionKey) -> Result<Vec<MessageEntry>, RuntimeError> {
        self.messages_after(key, MessageSeq(0), u32::MAX).await
    }

    /// Returns at most `limit` messages of a session, oldest first, that come after `after`. [`MessageSeq`] 0
    /// stands for the beginning. To read on, pass the `seq` of the last message.
    pub async fn messages_after(
        &self,
        key: &SessionKey,
        after: MessageSeq,
        limit: u32,
    ) -> Result<Vec<MessageEntry>, RuntimeError> {
        let last =
            self.existing(key).await?.last_message.min(MessageSeq(after.0.saturating_add(limit.into())));
        self.read_range(key, MessageSeq(after.0.saturating_add(1)), last).await
    }

    /// Returns messages as [`messages_after`](Self::messages_after) does, but no more than one read of the store gives: at most
    /// [`PAGE_BYTES_MAX`](holdover_core::store::PAGE_BYTES_MAX), or one message that is larger.
    pub async fn messages_page(
        &self,
        key: &SessionKey,
        after: MessageSeq,
        limit: u32,
    ) -> Result<MessagesPage, RuntimeError> {
        let newest = self.existing(key).await?.last_message;
        let last = newest.min(MessageSeq(after.0.saturating_add(limit.into())));
        let range = MessageRange::new(MessageSeq(after.0.saturating_add(1)), last);
        let stored = self.host.store().read_messages(key, &[range]).await?.messages;
        let items = decoded(key, stored)?;
        let next = items.last().map(|entry| entry.seq).filter(|read| *read < newest);
        Ok(MessagesPage { items, next })
    }

    /// Returns the agent's last text in a session, or `None` if there is none yet.
    pub async fn last_text(&self, key: &SessionKey) -> Result<Option<String>, RuntimeError> {
        let mut to = self.existing(key).await?.last_message;
        while to > MessageSeq(0) {
            let from = MessageSeq(to.0.saturating_sub(MESSAGES_AT_ONCE - 1).max(1));
            for entry in self.read_range(key, from, to).await?.into_iter().rev() {
                match entry.message {
                    Message::Assistant(said) if !said.text().is_empty() => return Ok(Some(said.text())),
                    Message::Assistant(_)
                    | Message::User(_)
                    | Message::Tool(_)
                    | Message::Decision(_)
                    | Message::Notice(_)
                    | Message::Summary(_) => {}
                }
            }
            to = MessageSeq(from.0 - 1);
        }
        Ok(None)
    }

    /// Returns the value with which the last turn of a session ended, for an agent whose turns must return a value.
    /// Returns `None` if no turn has ended yet, or if the last turn ended without a value. Any process that opens
    /// the store can read the value.
    pub async fn last_output(&self, key: &SessionKey) -> Result<Option<Value>, RuntimeError> {
        let session = self.existing(key).await?;
        match self.outcome(&session)? {
            Some(outcome) => self.output_of(key, &outcome).await,
            None => Ok(None),
        }
    }

    /// Returns the value of the turn that ended with `outcome`, or `None` if it ended without a value.
    pub async fn output_of(
        &self,
        key: &SessionKey,
        outcome: &RunOutcome,
    ) -> Result<Option<Value>, RuntimeError> {
        let place = match outcome {
            RunOutcome::Ended(ending) => ending.output,
            RunOutcome::Suspended(_)
            | RunOutcome::BackingOff { .. }
            | RunOutcome::Released
            | RunOutcome::Lost => None,
        };
        let Some(place) = place else { return self.value_of_flow(key, outcome).await };
        let read = self.read_range(key, place.message, place.message).await?;
        let text = read.first().and_then(|entry| place.find(&entry.message));
        let refuse = |detail| RuntimeError::unreadable(key, format!("message {}", place.message), detail);
        let text = text.ok_or_else(|| refuse(String::from("it holds no output")))?;
        parse_arguments(text).map(Some).map_err(refuse)
    }

    /// Returns the value of a flow whose turn ended with `outcome`: its last text, as JSON. `None` if it ended without a
    /// value, or if a model plans the session.
    async fn value_of_flow(
        &self,
        key: &SessionKey,
        outcome: &RunOutcome,
    ) -> Result<Option<Value>, RuntimeError> {
        if outcome.kind() != OutcomeKind::Completed {
            return Ok(None);
        }
        let session = self.existing(key).await?;
        let unreadable = |what: &str, error: serde_json::Error| RuntimeError::unreadable(key, what, error);
        let definition = Definition::read(&session.definition);
        if !definition.map_err(|error| unreadable("definition", error))?.spec.planned {
            return Ok(None);
        }
        let text = self.last_text(key).await?.unwrap_or_default();
        serde_json::from_str(&text).map(Some).map_err(|error| unreadable("value", error))
    }

    pub(super) async fn read_range(
        &self,
        key: &SessionKey,
        from: MessageSeq,
        to: MessageSeq,
    ) -> Result<Vec<MessageEntry>, RuntimeError> {
        decoded(key, self.host.store().read_all_messages(key, &[MessageRange::new(from, to)]).await?)
    }
}

fn decoded(key: &SessionKey, stored: Vec<StoredMessage>) -> Result<Vec<MessageEntry>, RuntimeError> {
    let read = stored.into_iter().map(|stored| {
        let unreadable = |error| RuntimeError::unreadable(key, format!("message {}", stored.seq), error);
        let message = stored.payload.parse().map_err(unreadable)?;
        Ok(MessageEntry { seq: stored.seq, at: stored.at, message })
    });
    read.collect()
}
