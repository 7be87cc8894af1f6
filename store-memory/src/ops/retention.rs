//! Retention.

use holdover_core::ids::SessionKey;
use holdover_core::store::{PurgeReport, Remove, RetentionRule};

use crate::table::{Record, Sessions};

/// Removes what the rule says, longest unchanged first.
pub fn purge(sessions: &mut Sessions, rule: &RetentionRule) -> PurgeReport {
    let mut due: Vec<(_, SessionKey)> = sessions
        .values()
        .filter(|record| record.row.purgeable(rule) && surplus(record, rule.remove) > 0)
        .map(|record| (record.row.updated_at, record.row.key.clone()))
        .collect();
    due.sort();
    let limit = rule.limit.get() as usize;
    let mut report = PurgeReport { more: due.len() > limit, ..PurgeReport::default() };
    for (_, key) in due.into_iter().take(limit) {
        match rule.remove {
            Remove::Sessions => {
                sessions.remove(&key);
                report.sessions += 1;
            }
            Remove::Checkpoints { .. } => {
                let Some(record) = sessions.get_mut(&key) else { continue };
                let surplus = surplus(record, rule.remove);
                record.checkpoints.drain(..surplus);
                report.checkpoints += surplus as u64;
            }
        }
    }
    report
}

/// How many rows of the session the rule removes.
fn surplus(record: &Record, remove: Remove) -> usize {
    match remove {
        Remove::Sessions => 1,
        Remove::Checkpoints { keep } => record.checkpoints.len().saturating_sub(keep.get() as usize),
    }
}
