//! Retention: removal of old data from sessions at rest.

use std::num::NonZeroU32;

use serde::Serialize;

use super::{PageCursor, SessionStatus, StoreError};
use crate::ids::TenantId;
use crate::payload::Digest;
use crate::time::Timestamp;

const OPERATION: &str = "purge";

/// A rule that says which old data to remove. It never applies to a session that is active or suspended, or
/// that has an alarm, an unread item or a waiting interrupt. It never removes a session with an open pending call of a
/// kind that [keeps](super::PendingKind::keeps_session) it.
///
/// One call of `purge` is one step of a walk over the sessions to which the rule applies, longest unchanged
/// first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionRule {
    /// The tenant of the sessions; all tenants if none.
    pub tenant: Option<TenantId>,
    /// The statuses of the sessions, all at rest; every status at rest if empty.
    pub status: Vec<SessionStatus>,
    /// The instant before which the sessions last changed, by the store's clock.
    pub unchanged_since: Timestamp,
    /// The data to remove.
    pub remove: Remove,
    /// The most sessions to which one call applies the rule. Each is handled wholly or not at all.
    pub limit: NonZeroU32,
    /// The place where the previous call ended: [`PurgeReport::next`] of the same rule, with any limit. If
    /// none, the walk begins at the start.
    pub after: Option<PageCursor>,
}

/// The data that a [`RetentionRule`] removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Remove {
    /// The session with everything that belongs to it. A [`Tombstone`](super::Tombstone) remains.
    Sessions,
    /// All checkpoints of the session except the newest `keep`.
    Checkpoints {
        /// The number of newest checkpoints to keep in each session.
        keep: NonZeroU32,
    },
}

impl RetentionRule {
    /// Refuses a status that is not at rest, and a cursor of another rule. Returns the place to continue
    /// after, in the store's own bytes, or none at the start.
    pub fn check(&self) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(status) = self.status.iter().find(|status| !status.at_rest()) {
            let detail = format!("status: a session that is {status} does not rest");
            return Err(StoreError::invalid(OPERATION, detail));
        }
        let place = self.after.as_ref().map(|cursor| cursor.position_in(self.digest())).transpose();
        place.map_err(|why| StoreError::invalid(OPERATION, format!("after: {why}")))
    }

    /// Returns the digest of the rule without its limit and cursor. Cursors are valid only for rules with the same
    /// digest.
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
    /// The place to continue from; none when the walk is complete.
    pub next: Option<PageCursor>,
}
