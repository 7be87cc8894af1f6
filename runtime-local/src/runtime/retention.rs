//! Removes old sessions and old checkpoints.

use std::num::NonZeroU32;
use std::time::Duration;

use holdover_core::ids::TenantId;
use holdover_core::store::{PurgeReport, Remove, RetentionRule, SessionStatus};
use holdover_core::time::Timestamp;

use super::Runtime;
use crate::error::RuntimeError;

/// The maximum number of sessions that one write examines. It is small, so that other writes wait only briefly.
const AT_ONCE: NonZeroU32 = NonZeroU32::new(50).expect("it is not 0");

/// A rule that says which data to remove, and from which sessions. A session is left alone if it is active or
/// suspended, or if it has an alarm, an unread item or a waiting interrupt. A session with an open dead letter, or with
/// a call in doubt that can be settled, is not removed until the letter is replayed, the call is settled, or the
/// session is aborted. Such a session can still be deleted by name.
///
/// A session at rest has an alarm while its background children work or wait. A session that was handed over, and
/// whose outcome somebody awaits, has an alarm while its successor works or waits. The alarm stays until a worker has
/// looked at the session after that, which takes at most an hour while a worker runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// The tenant whose sessions are examined. `None` stands for all tenants.
    pub tenant: Option<TenantId>,
    /// The statuses of the sessions that are examined. An empty list stands for all statuses at rest.
    pub status: Vec<SessionStatus>,
    /// The time for which a session must not have changed.
    pub unchanged_for: Duration,
    /// The data to remove.
    pub remove: Remove,
}

impl Retention {
    /// Creates a rule that removes sessions that have not changed for this time.
    pub fn sessions(unchanged_for: Duration) -> Self {
        Self { tenant: None, status: Vec::new(), unchanged_for, remove: Remove::Sessions }
    }

    /// Creates a rule that removes all checkpoints except the newest `keep` of each session that has not changed for
    /// this time.
    pub fn checkpoints(keep: NonZeroU32, unchanged_for: Duration) -> Self {
        Self { remove: Remove::Checkpoints { keep }, ..Self::sessions(unchanged_for) }
    }

    /// Restricts the rule to the sessions of this tenant. With `None`, it applies to all tenants.
    #[must_use]
    pub fn of_tenant(self, tenant: impl Into<Option<TenantId>>) -> Self {
        Self { tenant: tenant.into(), ..self }
    }

    /// Restricts the rule to sessions that rest with one of these statuses.
    #[must_use]
    pub fn with_status(self, status: impl IntoIterator<Item = SessionStatus>) -> Self {
        Self { status: status.into_iter().collect(), ..self }
    }
}

impl Runtime {
    /// Removes the data that `retention` describes, in small steps, and returns the numbers of removed sessions and
    /// checkpoints. The call can be cancelled at any time and repeated.
    pub async fn purge(&self, retention: &Retention) -> Result<PurgeReport, RuntimeError> {
        let age = i64::try_from(retention.unchanged_for.as_millis()).unwrap_or(i64::MAX);
        let mut rule = RetentionRule {
            tenant: retention.tenant.clone(),
            status: retention.status.clone(),
            unchanged_since: Timestamp::from_ms(self.now().as_ms().saturating_sub(age)),
            remove: retention.remove,
            limit: AT_ONCE,
            after: None,
        };
        let mut all = PurgeReport::default();
        loop {
            let step = self.host.store().purge(&rule).await?;
            all.sessions += step.sessions;
            all.checkpoints += step.checkpoints;
            rule.after = step.next;
            if rule.after.is_none() {
                return Ok(all);
            }
        }
    }
}
