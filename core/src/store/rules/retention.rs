//! What retention may touch.

use super::SessionRow;
use crate::store::RetentionRule;

impl SessionRow {
    /// Whether `rule` is about this session: it rests, nothing waits in it, and nothing has changed.
    pub fn purgeable(&self, rule: &RetentionRule) -> bool {
        let nothing_waits = self.alarm.is_none() && self.unread == 0 && self.interrupt.is_none();
        self.status.at_rest()
            && nothing_waits
            && self.updated_at < rule.unchanged_since
            && (rule.status.is_empty() || rule.status.contains(&self.status))
            && rule.tenant.as_ref().is_none_or(|tenant| *tenant == self.key.tenant)
    }
}
