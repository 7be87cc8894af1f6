//! Retention: the removal of old data from sessions at rest.

use holdover_store::ids::SessionKey;
use holdover_store::time::Timestamp;
use holdover_store::{PageCursor, PurgeReport, Remove, RetentionRule, StoreError};

use super::list::{Place, place};
use crate::table::{Record, Sessions};
use crate::tombstones::Tombstones;

/// Refuses a rule with a status that is not at rest, and a cursor of another rule.
pub fn check_purge(rule: &RetentionRule) -> Result<(), StoreError> {
    after(rule).map(drop)
}

fn after(rule: &RetentionRule) -> Result<Option<(Timestamp, SessionKey)>, StoreError> {
    rule.check()?.map(|position| place("purge", &position)).transpose()
}

/// Removes the data that a checked rule selects from the next sessions to which the rule applies, longest unchanged
/// first. Also removes old tombstones. Also returns the keys of the sessions that were removed.
pub fn purge(
    sessions: &mut Sessions,
    tombstones: &mut Tombstones,
    rule: &RetentionRule,
    now: Timestamp,
) -> (PurgeReport, Vec<SessionKey>) {
    let after = after(rule).unwrap_or_default();
    let about = sessions.values().filter(|record| record.row.purgeable(rule));
    let mut about: Vec<_> = about.map(|record| (record.row.updated_at, record.row.key.clone())).collect();
    about.retain(|place| after.as_ref().is_none_or(|after| place > after));
    about.sort();
    let limit = rule.limit.get() as usize;
    let more = about.len() > limit;
    about.truncate(limit);
    let next = about.last().filter(|_| more).map(|last| PageCursor::at(rule.digest(), &last.to_bytes()));
    let mut report = PurgeReport { next, ..PurgeReport::default() };
    let mut gone = Vec::new();
    for (_, key) in about {
        match rule.remove {
            Remove::Sessions => {
                let keeps = |record: &Record| record.pending.iter().any(|open| open.kind.keeps_session());
                if sessions.get(&key).is_some_and(keeps) {
                    continue;
                }
                let Some(record) = sessions.remove(&key) else { continue };
                tombstones.set(record.row.tombstone(now));
                report.sessions += 1;
                gone.push(key);
            }
            Remove::Checkpoints { keep } => {
                let Some(record) = sessions.get_mut(&key) else { continue };
                let surplus = record.checkpoints.len().saturating_sub(keep.get() as usize);
                record.checkpoints.drain(..surplus);
                report.checkpoints += surplus as u64;
            }
        }
    }
    tombstones.clear(limit, now);
    (report, gone)
}
