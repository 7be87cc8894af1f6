//! The tombstones of deleted sessions.

use std::collections::{BTreeMap, VecDeque};

use holdover_store::Tombstone;
use holdover_store::ids::{Incarnation, OperationId, SessionKey};
use holdover_store::time::Timestamp;

/// The most old tombstones that each new one removes. The number is more than one, so old tombstones do not
/// accumulate.
const CLEARED_BY_EACH: usize = 2;

/// The tombstones, by key and in the order in which they were set.
#[derive(Debug, Clone, Default)]
pub struct Tombstones {
    by_key: BTreeMap<SessionKey, VecDeque<Tombstone>>,
    in_order: VecDeque<SessionKey>,
}

impl Tombstones {
    /// Adds a tombstone and removes at most two old ones.
    pub fn set(&mut self, tombstone: Tombstone) {
        self.clear(CLEARED_BY_EACH, tombstone.at);
        self.in_order.push_back(tombstone.key.clone());
        self.by_key.entry(tombstone.key.clone()).or_default().push_back(tombstone);
    }

    /// Returns true if a tombstone of `key` names the incarnation or the operation.
    pub fn name(&self, key: &SessionKey, incarnation: Incarnation, operation: &OperationId) -> bool {
        let mut of_key = self.by_key.get(key).into_iter().flatten();
        of_key.any(|tombstone| tombstone.names(incarnation, operation))
    }

    /// Removes at most `most` old tombstones.
    pub fn clear(&mut self, most: usize, now: Timestamp) {
        for _ in 0..most {
            let Some(key) = self.in_order.front() else { return };
            let of_key = self.by_key.get_mut(key);
            let Some(of_key) = of_key.filter(|of_key| of_key.front().is_none_or(|one| one.is_old(now)))
            else {
                return;
            };
            of_key.pop_front();
            if of_key.is_empty() {
                self.by_key.remove(key);
            }
            self.in_order.pop_front();
        }
    }
}
