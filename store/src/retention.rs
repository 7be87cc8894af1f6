//! Retention: the removal of data of sessions that rest.

use std::num::NonZeroU32;

use serde::Serialize;

use super::{PageCursor, SessionStatus, StoreError};
use crate::ids::TenantId;
use crate::payload::Digest;
use crate::time::Timestamp;

const OPERATION: &str = "purge";

/// A rule for what is removed, and from which sessions. It never touches a session that is active or
/// suspended, or that has an alarm (rung or to come), an unread item or a waiting interrupt.
///
/// One call is one step of a walk over the sessions to which the rule applies, longest unchanged first.
/// `after` says where the step before it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionRule {
    /// Only sessions of this tenant; of all tenants if none.
    pub tenant: Option<TenantId>,
    /// Only sessions that rest with one of these statuses; all that rest if empty.
    pub status: Vec<SessionStatus>,
    /// Only sessions in which nothing has changed since this instant, by the store's clock.
    pub unchanged_since: Timestamp,
    /// The data to remove.
    pub remove: Remove,
    /// The most sessions that one call looks at. It handles each wholly or not at all.
    pub limit: NonZeroU32,
    /// The place where the call before ended: [`PurgeReport::next`] of the same rule, whatever its limit.
    /// From the start if none.
    pub after: Option<PageCursor>,
}

/// The data that a [`RetentionRule`] removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Remove {
    /// The session with everything that belongs to it. A [`Tombstone`](super::Tombstone) is left.
    Sessions,
    /// All checkpoints but the newest ones.
    Checkpoints {
        /// The number of checkpoints that stay of each session.
        keep: NonZeroU32,
    },
}

impl RetentionRule {
    /// Checks the rule: a status that is no rest, or a cursor of another rule, is refused. Returns the
    /// store's own bytes of the place to go on after; none at the start.
    pub fn check(&self) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(status) = self.status.iter().find(|status| !status.at_rest()) {
            let detail = format!("status: a session that is {status} does not rest");
            return Err(StoreError::invalid(OPERATION, detail));
        }
        let place = self.after.as_ref().map(|cursor| cursor.position_in(self.digest())).transpose();
        place.map_err(|why| StoreError::invalid(OPERATION, format!("after: {why}")))
    }

    /// The digest of everything but the limit and the cursor. The rule's cursors are bound to it.
    pub fn digest(&self) -> Digest {
        let filter = serde_json::json!({
            "list": OPERATION, "tenant": self.tenant, "status": self.status,
            "unchanged_since": self.unchanged_since, "remove": self.remove,
        });
        Digest::of(filter.to_string().as_bytes())
    }
}

/// The answer to [`purge`](super::StateStore::purge).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PurgeReport {
    /// The number of sessions that were removed.
    pub sessions: u64,
    /// The number of checkpoints that were removed from sessions that stay.
    pub checkpoints: u64,
    /// The place to go on from; none when the walk is done.
    pub next: Option<PageCursor>,
}
