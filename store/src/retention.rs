//! Retention: the removal of data of sessions that rest.

use std::num::NonZeroU32;

use serde::Serialize;

use super::{PageCursor, SessionStatus, StoreError};
use crate::ids::TenantId;
use crate::payload::Digest;
use crate::time::Timestamp;

const OPERATION: &str = "purge";

/// What is removed, and of which sessions. A session that is active or suspended, or has an alarm (rung or
/// to come), an unread item or a waiting interrupt is never touched.
///
/// One call is one step of a walk over the sessions that the rule is about, longest unchanged first;
/// `after` says where the step before it ended.
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
    /// One call looks at no more than this many sessions, each of which it deals with wholly or not at all.
    pub limit: NonZeroU32,
    /// Where the call before ended: [`PurgeReport::next`] of the same rule, whatever its limit. From the
    /// start if none.
    pub after: Option<PageCursor>,
}

/// What a [`RetentionRule`] removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Remove {
    /// The session with everything that belongs to it. A [`Tombstone`](super::Tombstone) is left.
    Sessions,
    /// All checkpoints but the newest ones.
    Checkpoints {
        /// How many of each session stay.
        keep: NonZeroU32,
    },
}

impl RetentionRule {
    /// Refuses a status that is no rest, and a cursor of another rule. Else the store's own bytes of the
    /// place to go on after; none at the start.
    pub fn check(&self) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(status) = self.status.iter().find(|status| !status.at_rest()) {
            let detail = format!("status: a session that is {status} does not rest");
            return Err(StoreError::invalid(OPERATION, detail));
        }
        let place = self.after.as_ref().map(|cursor| cursor.position_in(self.digest())).transpose();
        place.map_err(|why| StoreError::invalid(OPERATION, format!("after: {why}")))
    }

    /// The digest of everything but the limit and the cursor, to which its cursors are bound.
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
    /// How many sessions were removed.
    pub sessions: u64,
    /// How many checkpoints were removed of sessions that stay.
    pub checkpoints: u64,
    /// Where to go on; none when the walk is done.
    pub next: Option<PageCursor>,
}
