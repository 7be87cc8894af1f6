//! The rules for the sessions to which retention applies.

use super::SessionRow;
use crate::RetentionRule;

impl SessionRow {
    /// Returns true if the session is at rest and has no alarm, unread item or interrupt. A retention rule
    /// applies only to such sessions. An index for `purge` should hold these sessions, ordered by
    /// `updated_at` and key.
    pub fn quiet(&self) -> bool {
        self.status.at_rest() && self.alarm.is_none() && self.unread == 0 && self.interrupt.is_none()
    }

    /// Returns true if `rule` applies to this session: the session is [`quiet`](Self::quiet), unchanged for
    /// long enough, and matches the tenant and status of the rule.
    pub fn purgeable(&self, rule: &RetentionRule) -> bool {
        self.quiet()
            && self.updated_at < rule.unchanged_since
            && (rule.status.is_empty() || rule.status.contains(&self.status))
            && rule.tenant.as_ref().is_none_or(|tenant| *tenant == self.key.tenant)
    }
}
