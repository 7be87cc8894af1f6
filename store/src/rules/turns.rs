//! The turns of tenants when more sessions are due than are asked for.

use std::collections::BTreeMap;

use crate::ids::{SessionKey, TenantId};
use crate::time::Timestamp;

/// Chooses which due sessions are claimed, each named with its alarm, if at most `limit` are asked for and it
/// was the turn of tenant `after` last. Also returns the tenant whose turn it was last after that.
///
/// If no more are due, all of them are chosen, soonest alarm first, ties by key. Otherwise the soonest of
/// each tenant whose turn it is, and then the soonest of those that are left.
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
