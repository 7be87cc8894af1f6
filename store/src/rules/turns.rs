//! The rule for taking turns between tenants when more sessions are due than a worker asks for.

use std::collections::BTreeMap;

use crate::ids::{SessionKey, TenantId};
use crate::time::Timestamp;

/// Chooses at most `limit` of the sessions in `due`, each given with its alarm. `after` is the tenant that had the
/// last turn before. Also returns the tenant that has the last turn now, which is `after` if no tenant takes a turn.
///
/// If at most `limit` sessions are due, chooses all of them, soonest alarm first, ties by key. Otherwise
/// chooses the soonest session of each tenant in turn, and then the soonest of the remaining sessions.
pub fn in_turn(
    mut due: Vec<(Timestamp, SessionKey)>,
    after: Option<&TenantId>,
    limit: usize,
) -> (Vec<SessionKey>, Option<TenantId>) {
    due.sort();
    let mut last = after.cloned();
    let mut chosen: Vec<SessionKey> = Vec::new();
    if due.len() > limit {
        let mut soonest: BTreeMap<&TenantId, &SessionKey> = BTreeMap::new();
        for (_, key) in &due {
            soonest.entry(&key.tenant).or_insert(key);
        }
        let (before, behind): (Vec<_>, Vec<_>) =
            soonest.into_iter().partition(|(tenant, _)| after.is_some_and(|after| *tenant <= after));
        for (tenant, key) in behind.into_iter().chain(before).take(limit) {
            last = Some(tenant.clone());
            chosen.push(key.clone());
        }
    }
    let rest = due.into_iter().map(|(_, key)| key);
    let rest: Vec<_> = rest.filter(|key| !chosen.contains(key)).take(limit - chosen.len()).collect();
    chosen.extend(rest);
    (chosen, last)
}
