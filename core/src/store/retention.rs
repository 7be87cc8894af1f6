//! Retention: what is removed of sessions that rest.

use std::num::NonZeroU32;

use super::{SessionStatus, StoreError};
use crate::ids::TenantId;
use crate::time::Timestamp;

/// What is removed, and of which sessions. A session that is active or suspended, or has an alarm (rung or
/// to come), an unread item or a waiting interrupt is never touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionRule {
    /// Of this tenant; of all if none.
    pub tenant: Option<TenantId>,
    /// Of sessions that rest with one of these statuses; of all that rest if empty.
    pub status: Vec<SessionStatus>,
    /// Of sessions in which nothing has changed since this instant, by the store's clock.
    pub unchanged_since: Timestamp,
    /// What.
    pub remove: Remove,
    /// At most this many sessions are dealt with in one call, each wholly or not at all.
    pub limit: NonZeroU32,
}

/// What a [`RetentionRule`] removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Remove {
    /// The session with everything that belongs to it.
    Sessions,
    /// All checkpoints but the newest ones.
    Checkpoints {
        /// How many of each session stay.
        keep: NonZeroU32,
    },
}

impl RetentionRule {
    /// Refuses a status that is no rest.
    pub fn check(&self) -> Result<(), StoreError> {
        match self.status.iter().find(|status| !status.at_rest()) {
            Some(status) => {
                Err(StoreError::invalid("purge", format!("status: a session that is {status} does not rest")))
            }
            None => Ok(()),
        }
    }
}

/// The answer to [`purge`](super::StateStore::purge).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PurgeReport {
    /// How many sessions were removed.
    pub sessions: u64,
    /// How many checkpoints were removed of sessions that stay.
    pub checkpoints: u64,
    /// Whether there may be more: call again.
    pub more: bool,
}
