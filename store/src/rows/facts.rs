//! The known rows of one session, on which a write is decided.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::read::{Found, Want, Which};
use super::row::{At, Kind, Row, RowKey};
use super::write::{Op, Slot, Write};
use crate::ids::{Incarnation, OperationId};
use crate::rules::SessionRow;
use crate::time::Timestamp;

/// Known rows of a session. They are current as long as the session's token does not change.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    /// The slot under the key.
    pub(super) slot: Option<Arc<Slot>>,
    /// The instant as of which to decide.
    pub(super) now: Timestamp,
    /// True if `slot` and `now` were read during this call. Only then may the store return a decision that
    /// writes nothing, because older facts may be out of date.
    pub(super) fresh: bool,
    rows: BTreeMap<RowKey, Row>,
    /// Keys that have no row.
    absent: BTreeSet<RowKey>,
    /// Kinds of which every row is known.
    whole: BTreeSet<Kind>,
    /// Ranges of numbers in which every row of the kind is known.
    ranges: Vec<(Kind, u64, u64)>,
}

impl Facts {
    /// Returns facts that assume that nothing is stored under the key.
    pub(super) fn supposed_absent(now: Timestamp) -> Self {
        Self {
            slot: None,
            now,
            fresh: false,
            rows: BTreeMap::new(),
            absent: BTreeSet::new(),
            whole: BTreeSet::from(Kind::ALL),
            ranges: Vec::new(),
        }
    }

    /// Returns the facts that a read of `wants` found.
    pub(super) fn found(found: Found, wants: &[Want]) -> Self {
        let mut facts = Self {
            slot: found.slot,
            now: found.now,
            fresh: true,
            rows: BTreeMap::new(),
            absent: BTreeSet::new(),
            whole: BTreeSet::new(),
            ranges: Vec::new(),
        };
        for (want, rows) in wants.iter().zip(found.rows) {
            let all =
                rows.len() < want.rows && rows.iter().map(Row::payload_bytes).sum::<usize>() < want.bytes;
            match &want.which {
                Which::All if all => {
                    facts.whole.insert(want.kind);
                }
                Which::Numbers(from, to) | Which::Descending(from, to) if all => {
                    facts.ranges.push((want.kind, *from, *to));
                }
                Which::All | Which::Numbers(..) | Which::Descending(..) => {}
                Which::Names(names) => {
                    let keys = names.iter().map(|name| RowKey::name(want.kind, name.clone()));
                    facts.absent.extend(keys);
                }
            }
            facts.rows.extend(rows.into_iter().map(|row| (row.key(), row)));
        }
        let rows = &facts.rows;
        facts.absent.retain(|key| !rows.contains_key(key));
        facts
    }

    /// Returns these facts for a new call that begins at `now`. They are no longer fresh.
    pub(super) fn held(self, now: Timestamp) -> Self {
        Self { now, fresh: false, ..self }
    }

    /// Returns the session's row.
    pub(super) fn row(&self) -> Option<&SessionRow> {
        self.slot.as_ref().and_then(|slot| slot.row.as_ref())
    }

    /// Returns true if a tombstone of this key names this incarnation or operation.
    pub(super) fn names_life(&self, incarnation: Incarnation, operation: &OperationId) -> bool {
        let mut lives = self.slot.iter().flat_map(|slot| &slot.lives);
        lives.any(|life| life.names(incarnation, operation))
    }

    /// Returns the facts about a new incarnation under the key, which has no rows yet.
    pub(super) fn of_new_life(&self) -> Self {
        Self { slot: self.slot.clone(), fresh: self.fresh, ..Self::supposed_absent(self.now) }
    }

    /// Returns true if it is known whether this row exists.
    pub(super) fn knows(&self, key: &RowKey) -> bool {
        let number = key.as_number();
        self.rows.contains_key(key) || self.absent.contains(key) || self.knows_range(key.kind, number, number)
    }

    /// Returns true if all rows of a kind from one number to another are known. For a kind with names,
    /// returns true if all rows of the kind are known.
    pub(super) fn knows_range(&self, kind: Kind, from: u64, to: u64) -> bool {
        let holds = |range: &(Kind, u64, u64)| range.0 == kind && range.1 <= from && to <= range.2;
        self.whole.contains(&kind) || self.ranges.iter().any(holds)
    }

    /// Returns the row with this key, if it is known to exist.
    pub(super) fn get(&self, key: &RowKey) -> Option<&Row> {
        self.rows.get(key)
    }

    /// Returns the known rows of a kind, in ascending order.
    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = &Row> {
        self.rows.range(RowKey::one(kind)..).take_while(move |(key, _)| key.kind == kind).map(|(_, row)| row)
    }

    /// Adds a row that was found.
    pub(super) fn learn(&mut self, row: Row) {
        self.rows.insert(row.key(), row);
    }

    /// Returns the facts after `write` is applied. `place` is the place that the backend chose.
    pub(super) fn after(mut self, write: &Write, place: u64) -> Self {
        if write.row_before().is_none() || write.ends_life() {
            self.rows.clear();
            self.absent.clear();
            self.ranges.clear();
            self.whole = BTreeSet::from(Kind::ALL);
        }
        if write.copy.is_some() {
            self.whole.clear();
        }
        self.slot.clone_from(&write.after);
        if let Some(slot) = self.slot.as_mut().filter(|slot| slot.place != place) {
            Arc::make_mut(slot).place = place;
        }
        self.fresh = false;
        self.absent.clear();
        for op in &write.ops {
            match op {
                Op::Put(row) | Op::Insert(row) => {
                    let key = row.key();
                    if is_kept(key.kind) {
                        self.rows.insert(key, row.clone());
                    } else {
                        self.whole.remove(&key.kind);
                    }
                }
                Op::Delete(key) => {
                    self.rows.remove(key);
                }
                Op::DeleteUpTo(kind, last) => {
                    self.rows.retain(|key, _| key.kind != *kind || key.as_number() > *last);
                }
                Op::Clear(kind) => {
                    self.rows.retain(|key, _| key.kind != *kind);
                    self.whole.insert(*kind);
                }
            }
        }
        self
    }

    /// Keeps the rows that decisions on a run's later writes need, and forgets all others, such as messages, events,
    /// the definition and keys. Also forgets kinds that exceed the limits, so the kept data is bounded.
    pub(super) fn trim(&mut self, rows_max: usize, bytes_max: usize) {
        self.absent.clear();
        self.ranges.clear();
        for kind in Kind::ALL {
            if kind == Kind::Item {
                self.lighten_items();
            }
            let (count, bytes) = self.of(kind).fold((0, 0), |(n, b), row| (n + 1, b + row.payload_bytes()));
            if !is_kept(kind) || count > rows_max || bytes > bytes_max {
                self.whole.remove(&kind);
                self.rows.retain(|key, _| key.kind != kind);
            }
        }
        // Only the record of the newest run can be written again.
        let newest = self.of(Kind::Run).last().map(Row::key);
        self.rows.retain(|key, _| key.kind != Kind::Run || Some(key) == newest.as_ref());
        self.whole.remove(&Kind::Run);
    }

    /// Removes the payloads of items. Decisions need only their places and wakes.
    fn lighten_items(&mut self) {
        for row in self.rows.values_mut() {
            if let Row::Item { item, .. } = row {
                item.payload = crate::payload::Payload::empty();
            }
        }
    }
}

/// Returns true if rows of this kind are kept from one write to the next.
fn is_kept(kind: Kind) -> bool {
    match kind {
        Kind::Item | Kind::Staged | Kind::Start | Kind::Pending | Kind::Run => true,
        Kind::Labels
        | Kind::Definition
        | Kind::State
        | Kind::Message
        | Kind::Events
        | Kind::Key
        | Kind::Opened
        | Kind::Checkpoint
        | Kind::Delta => false,
    }
}

/// Returns the names in these keys, for a [`Want`].
pub(super) fn names<'a>(keys: impl IntoIterator<Item = &'a RowKey>) -> Vec<String> {
    keys.into_iter()
        .filter_map(|key| match &key.at {
            At::Name(name) => Some(name.clone()),
            At::One | At::Number(_) => None,
        })
        .collect()
}
