//! Reading a session.

use holdover_core::ids::{MessageSeq, SessionKey};
use holdover_core::message::Message;
use holdover_core::step::RunOutcome;
use holdover_core::store::{MessageRange, Session, SessionStatus};
use holdover_core::time::Timestamp;

use super::Runtime;
use super::standing::outcome_of;
use crate::error::RuntimeError;

/// A message with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageEntry {
    /// Its place.
    pub seq: MessageSeq,
    /// When it was appended.
    pub at: Timestamp,
    /// The message.
    pub message: Message,
}

impl Runtime {
    /// A session as it stands. None if there is no such session.
    pub async fn session(&self, key: &SessionKey) -> Result<Option<Session>, RuntimeError> {
        Ok(self.shared.store.load_session(key).await?)
    }

    /// How the last turn of `session` ended, or what it waits for. None before its first turn, and while a
    /// run holds it. What has arrived since, and no run has taken up, changes nothing here.
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
        self.hear_at_least(session.updated_at);
        Ok(session)
    }

    /// The whole transcript of a session, oldest first, decisions and notices included.
    pub async fn messages(&self, key: &SessionKey) -> Result<Vec<MessageEntry>, RuntimeError> {
        let last = self.existing(key).await?.last_message;
        let mut messages = Vec::new();
        let mut rest = vec![MessageRange::new(MessageSeq(1), last)];
        while !rest.is_empty() {
            let page = self.shared.store.read_messages(key, &rest).await?;
            for stored in page.messages {
                let message = stored.payload.parse().map_err(|error| {
                    RuntimeError::unreadable(key, format!("message {}", stored.seq), error)
                })?;
                messages.push(MessageEntry { seq: stored.seq, at: stored.at, message });
            }
            rest = page.rest;
        }
        Ok(messages)
    }
}
